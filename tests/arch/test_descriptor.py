"""Descriptors of the DMA: words there and back, where the bytes go, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwgen.arch.descriptor import (
    FIELDS,
    PACKED_WORDS,
    SCATTERED_WORDS,
    Descriptor,
    DescriptorError,
    OperandTag,
    Ring,
    RingSelect,
)


def test_words_computed_by_hand() -> None:
    moved = Descriptor(
        length=27,
        tag=OperandTag.I,
        ring=RingSelect.O,
        dram_address=0x8000_0103,
        tcdm_address=0x1002,
        count_1=3,
        count_2=2,
        dram_stride_1=224,
        dram_stride_2=50176,
        tcdm_stride_1=28,
        tcdm_stride_2=84,
    )
    assert moved.encode() == (0x0310_001B, 0x8000_0103, 0x0002_0003, 224, 50176, 0x1002, 28, 84)
    assert moved.bytes == 162
    assert moved.dram_end == 0x8000_0103 + 2 * 224 + 50176 + 27
    assert list(moved.runs())[3] == (0x8000_0103 + 50176, 0x1002 + 84)
    assert moved.offsets()[:3] == [0, 1, 2]


def test_weights_of_eight_channels_in_fetch_order() -> None:
    scattered = Descriptor(
        length=36,
        tag=OperandTag.W,
        ring=RingSelect.W,
        dram_address=0,
        tcdm_address=0x100,
        scattered=True,
        fold=9,
        fast_stride=8,
        slow_stride=72,
    )
    assert scattered.encode()[8:] == (8 << 16 | 9, 72)
    assert scattered.offsets()[8:11] == [64, 72, 80]


@st.composite
def descriptors(draw: st.DrawFn) -> Descriptor:
    scattered = draw(st.booleans())
    last = SCATTERED_WORDS if scattered else PACKED_WORDS
    values = {
        entry.name: draw(st.integers(entry.name in ("length", "count_1", "count_2", "fold"), (1 << entry.width) - 1))
        for entry in FIELDS
        if entry.word < last and entry.name not in ("tag", "ring", "scattered")
    }
    rings = [ring for ring in RingSelect if ring or not scattered]
    ring, tag = draw(st.sampled_from(rings)), draw(st.sampled_from(list(OperandTag)))
    return Descriptor(**values, tag=tag, ring=ring, scattered=scattered)


@given(descriptors())
def test_decode_undoes_encode(descriptor: Descriptor) -> None:
    assert Descriptor.decode(descriptor.encode()) == descriptor


def test_no_two_fields_overlap() -> None:
    taken = [(entry.word, bit) for entry in FIELDS for bit in range(entry.low, entry.low + entry.width)]
    assert len(taken) == len(set(taken))


def test_addresses_wrap_in_the_ring() -> None:
    ring = Ring(end=0x200, size=0x100)
    assert [ring.wrap(address) for address in (0x100, 0x1FF, 0x200, 0x3FF)] == [0x100, 0x1FF, 0x100, 0x1FF]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"length": 0}, "length: expected at least 1, got 0"),
        ({"length": 1 << 20}, "length: expected 0 to 1048575, got 1048576"),
        ({"count_2": 0}, "count_2: expected at least 1, got 0"),
        ({"tcdm_stride_1": -4}, "tcdm_stride_1: expected 0 to 4294967295, got -4"),
        ({"scattered": True, "ring": RingSelect.FIXED}, "scattered: expected a ring, got FIXED"),
    ],
)
def test_refused(values: dict[str, int], message: str) -> None:
    sound = {"length": 4, "tag": OperandTag.I, "ring": RingSelect.I, "dram_address": 0, "tcdm_address": 0}
    with pytest.raises(DescriptorError, match=message):
        Descriptor(**(sound | values))


@pytest.mark.parametrize(
    ("values", "ring", "message"),
    [
        ({"tcdm_address": 0x200}, Ring(0x200, 0x100), "tcdm_address: expected 256 to 511, inside the ring, got 512"),
        ({"tcdm_stride_2": 0x100}, Ring(0x200, 0x100), "tcdm_stride_2: expected less than the ring's 256, got 256"),
        ({}, None, "ring: expected that of I, got None"),
    ],
)
def test_refused_in_a_ring(values: dict[str, int], ring: Ring | None, message: str) -> None:
    sound = {"length": 4, "tag": OperandTag.I, "ring": RingSelect.I, "dram_address": 0, "tcdm_address": 0x100}
    with pytest.raises(DescriptorError, match=message):
        Descriptor(**(sound | values)).check_ring(ring)


def test_words_that_are_no_descriptor() -> None:
    words = Descriptor(4, OperandTag.I, RingSelect.I, 0, 0).encode()
    with pytest.raises(DescriptorError, match="words: expected 8 or 10, got 9"):
        Descriptor.decode((*words, 0))
    with pytest.raises(DescriptorError, match="words: 10 do not go with scattered 0"):
        Descriptor.decode((*words, 0, 0))
    with pytest.raises(DescriptorError, match="words: 15 is not a valid OperandTag"):
        Descriptor.decode((words[0] | 15 << 20, *words[1:]))


def test_ring_that_cannot_be() -> None:
    with pytest.raises(DescriptorError, match="ring: expected 0 < size <= end, multiples of 4, got end 10, size 4"):
        Ring(10, 4)
