"""The cluster's commands: words by hand, round trips, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwgen.arch.commands import (
    HEADER,
    QUEUES_OF,
    WITH_MASK,
    Command,
    CommandError,
    Opcode,
    Queue,
    configure,
    decode,
    encode,
    end,
    join,
    load,
    start,
    store,
    sync,
)

WORKING = (Queue.LOAD, Queue.COMPUTE, Queue.STORE)


def test_the_words_of_a_small_program() -> None:
    program = [
        load([0x11, 0x22], posts=[Queue.COMPUTE]),
        configure(0x3, 0x40, [7, 8]),
        start(0x3, takes=[Queue.LOAD]),
        join(0x3, posts=[Queue.LOAD, Queue.STORE]),
        store([0x33], takes=[Queue.COMPUTE]),
        sync(Queue.LOAD, takes=[Queue.STORE]),
        end(),
    ]
    assert encode(program) == [
        0 | 1 << 2 | 0b010 << 8 | 2 << 16, 0x11, 0x22,
        1 | 2 << 2 | 3 << 16 | 3 << 24, 0x40, 7, 8,
        1 | 3 << 2 | 0b001 << 5 | 3 << 24,
        1 | 4 << 2 | 0b101 << 8 | 3 << 24,
        2 | 1 << 2 | 0b010 << 5 | 1 << 16, 0x33,
        0 | 5 << 2 | 0b100 << 5,
        3 | 6 << 2,
    ]  # fmt: skip
    assert [at for at, _ in decode(encode(program))] == [0, 3, 7, 8, 9, 11, 12]


def test_the_fields_of_the_header_cover_the_word_once() -> None:
    bits = [bit for entry in HEADER for bit in range(entry.low, entry.low + entry.width)]
    assert bits == list(range(32))


@st.composite
def commands(draw: st.DrawFn) -> Command:
    opcode = draw(st.sampled_from([opcode for opcode in Opcode if opcode is not Opcode.END]))
    queue = draw(st.sampled_from(QUEUES_OF[opcode]))
    tokens = [other for other in WORKING if other is not queue and queue is not Queue.PROGRAM]
    others = st.frozensets(st.sampled_from(tokens)) if tokens else st.just(frozenset())
    values = st.lists(st.integers(0, (1 << 32) - 1), min_size=1, max_size=20)
    payload: tuple[int, ...] = ()
    if opcode is Opcode.MOVE:
        payload = tuple(draw(values))
    elif opcode is Opcode.CONFIGURE:
        payload = (4 * draw(st.integers(0, 1023)), *draw(values))
    elif opcode is Opcode.MULTICAST:
        payload = (draw(st.integers(0, (1 << 32) - 1)), draw(st.integers(0, (1 << 32) - 1)))
    mask = draw(st.integers(1, 255)) if opcode in WITH_MASK and queue is Queue.COMPUTE else 0
    return Command(queue, opcode, draw(others), draw(others), mask, payload)


@given(st.lists(commands(), max_size=8), st.lists(st.integers(0, (1 << 32) - 1), max_size=3))
def test_what_is_encoded_is_decoded_and_words_behind_the_end_are_ignored(
    program: list[Command], behind: list[int]
) -> None:
    words = encode([*program, end()])
    assert [command for _, command in decode(words + behind)] == [*program, end()]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([0], "word 0: 0x00000000: no opcode: 0"),
        ([3 | 7 << 2], "MULTICAST: expected in queue compute, got program"),
        ([1 | 7 << 2 | 1 << 16 | 1 << 24, 0], "MULTICAST: expected 2 to 2 payload words, got 1"),
        ([3 | 6 << 2 | 1 << 11], "reserved bits are set"),
        ([0 | 1 << 2 | 2 << 16, 1], "the payload is cut off"),
        ([1 | 1 << 2 | 1 << 16, 1], "MOVE: expected in queue load or store, got compute"),
        ([1 | 5 << 2 | 0b010 << 5], "SYNC: takes: tokens go from one working queue to another one"),
        ([3 | 6 << 2 | 0b010 << 8], "END: posts: tokens go from one working queue to another one"),
        ([1 | 3 << 2], "START: mask: expected at least one HWC of 8, got 0x0"),
        ([0 | 5 << 2 | 1 << 24], "SYNC: mask: expected none of 8, got 0x1"),
        ([1 | 2 << 2 | 1 << 16 | 1 << 24, 0x40], "CONFIGURE: expected 2 to 255 payload words, got 1"),
        ([1 | 2 << 2 | 2 << 16 | 1 << 24, 0x42, 0], "CONFIGURE: expected the byte address of a register, got 0x42"),
        ([1 | 4 << 2 | 1 << 16 | 1 << 24, 0], "JOIN: expected 0 to 0 payload words, got 1"),
        ([0 | 5 << 2], "word 1: the program has no END"),
    ],
)
def test_what_is_no_command_is_refused_with_its_place(words: list[int], message: str) -> None:
    with pytest.raises(CommandError) as caught:
        list(decode(words))
    assert message in str(caught.value)


def test_payload_words_have_32_bits() -> None:
    with pytest.raises(CommandError, match="MOVE: expected payload words of 32 bits"):
        load([1 << 32])
