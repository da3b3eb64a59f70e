"""The lower bounds on cases worked out by hand, and against schedules."""

from math import sqrt

import pytest

from hwgen.ir.counts import Access
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits
from hwgen.model.core.access import predict
from hwgen.model.core.bounds import bounds, communication_bound, compulsory
from tests.random.nests import cases

CONV = Layer(
    name="conv", input_channels=64, output_channels=128, input_height=56, input_width=56, output_height=28,
    output_width=28, kernel=(3, 3), stride=(2, 2), padding=(1, 1, 1, 1),
)  # fmt: skip


def test_compulsory_is_everything_once() -> None:
    counts = compulsory(CONV)
    assert counts["tcdm", "I", "read"].bytes == 64 * 56 * 56
    assert counts["tcdm", "W", "read"].bytes == 128 * 64 * 9
    assert counts["tcdm", "O", "write"].bytes == 128 * 28 * 28
    assert counts["tcdm", "O", "write_partial"] == counts["tcdm", "O", "read_partial"] == Access()
    assert counts.total_bytes() == 64 * 56 * 56 + 128 * 64 * 9 + 128 * 28 * 28


def test_compulsory_leaves_out_what_nothing_needs() -> None:
    layer = Layer(
        name="sparse", input_channels=1, output_channels=1, input_height=7, input_width=7, output_height=3,
        output_width=3, kernel=(2, 1), stride=(2, 3), padding=(0, 0, 0, 0),
    )  # fmt: skip
    assert compulsory(layer)["tcdm", "I", "read"].elements == 6 * 3  # rows 0..5, columns 0 3 6


def test_communication_bound_by_hand() -> None:
    macs, outputs = 128 * 64 * 28 * 28 * 9, 128 * 28 * 28
    assert communication_bound(CONV, 1024) == pytest.approx(2 * macs / sqrt(9 / 4 * 256) + outputs)
    assert communication_bound(CONV, 4096) == pytest.approx(2 * macs / sqrt(9 / 4 * 1024) + outputs)
    wide = Bits(I=16, W=16, O=16, acc=64)
    assert communication_bound(CONV, 1024, wide) == pytest.approx(2 * 2 * macs / sqrt(9 / 4 * 128) + 2 * outputs)


def test_gaps_count_as_one_use() -> None:
    layer = Layer(
        name="gaps", input_channels=8, output_channels=8, input_height=8, input_width=8, output_height=4,
        output_width=4, kernel=(1, 1), stride=(2, 2),
    )  # fmt: skip
    assert communication_bound(layer, 64) == pytest.approx(2 * 8 * 8 * 16 / 4 + 8 * 16)


def test_the_larger_one_is_the_yardstick() -> None:
    small, large = bounds(CONV, 1024), bounds(CONV, 1 << 20)
    assert small.largest == small.communication > small.compulsory
    assert large.largest == large.compulsory > large.communication
    assert large.ratio(2 * large.compulsory) == 2


def test_an_empty_buffer_is_refused() -> None:
    with pytest.raises(ValueError, match="buffer_bytes: expected at least 1, got 0"):
        communication_bound(CONV, 0)


def test_no_schedule_moves_less_than_everything_once() -> None:
    for schedule in cases(5, 500):
        least, found = compulsory(schedule.layer, schedule.bits), predict(schedule).counts
        for key, access in least.accesses.items():
            assert found[key].bytes >= access.bytes, schedule.as_data()
