"""The oracle on nests small enough to count by hand."""

import pytest

from hwgen.ir.counts import Access
from hwgen.ir.document import InputError
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import Bits, Loop, Marker, Schedule
from hwgen.model.nest.one_level import PerOperand
from tests.oracles.nest_walk import walk


def line(channels: int) -> Layer:
    """Four columns, three taps, two outputs."""
    return Layer(
        name="line", input_channels=channels, output_channels=1, input_height=1, input_width=4, kernel=(1, 3)
    )


LINE = line(1)
ALL_AT_TOP = Marker(("I", "W", "O"))


def counted(schedule: Schedule) -> dict[str, Access]:
    accesses = walk(schedule).counts.accesses
    return {f"{operand} {way}": access for (_, operand, way), access in accesses.items() if access.words}


def test_everything_held() -> None:
    schedule = Schedule(layer=LINE, nest=(ALL_AT_TOP, Loop("m", 1), Loop("x", 1), Loop("l", 1)))
    assert counted(schedule) == {
        "I read": Access(4, 4, 1),
        "W read": Access(3, 3, 1),
        "O write": Access(2, 2, 1),
        "B read": Access(1, 4, 1),
    }
    assert walk(schedule).need == PerOperand(I=4, W=3, O=2)
    assert walk(schedule).iterations == 6


def test_marker_above_the_map_loop_slides() -> None:
    schedule = Schedule(layer=LINE, nest=(Marker(("I",)), Loop("x", 1), Marker(("W", "O")), Loop("l", 1)))
    assert counted(schedule) == {
        "I read": Access(4, 4, 1 + 1),  # columns 0 1 2, then 3
        "W read": Access(6, 6, 6),  # one weight an iteration, held by nothing
        "O write": Access(2, 2, 2),
        "B read": Access(2, 8, 2),
    }
    assert walk(schedule).need == PerOperand(I=3, W=1, O=1)


def test_marker_above_the_kernel_loop_slides_the_other_way() -> None:
    schedule = Schedule(layer=LINE, nest=(Marker(("I", "W", "O")), Loop("l", 1), Loop("x", 1)))
    assert counted(schedule)["I read"] == Access(4, 4, 1 + 1 + 1)  # columns 0 1, then 2, then 3
    assert counted(schedule)["O write"] == Access(2, 2, 1)
    assert walk(schedule).need == PerOperand(I=2, W=1, O=2)


def test_no_marker_fetches_anew_in_every_innermost_iteration() -> None:
    schedule = Schedule(layer=LINE, nest=(Loop("x", 1), Loop("l", 1)))
    assert counted(schedule) == {
        "I read": Access(6, 6, 6),
        "W read": Access(6, 6, 6),
        "O write": Access(2, 2, 2),
        "O write_partial": Access(4, 16, 4),
        "O read_partial": Access(4, 16, 4),
        "B read": Access(2, 8, 2),
    }


def test_the_lanes_are_one_iteration() -> None:
    schedule = Schedule(layer=LINE, nest=(Marker(("W",)), Loop("l", 1)), lanes=Lanes(x=2))
    assert counted(schedule)["I read"] == Access(6, 6, 3)  # columns 0 1, 1 2, 2 3: each pair in one word
    assert counted(schedule)["W read"] == Access(3, 3, 3)
    assert walk(schedule).need == PerOperand(I=2, W=1, O=2)
    assert walk(schedule).iterations == 3


def test_marker_is_literal_above_a_loop_without_reuse() -> None:
    outside = Schedule(layer=line(2), nest=(Marker(("I",)), Loop("c", 1), Loop("x", 1), Loop("l", 1)))
    assert counted(outside)["I read"] == Access(8, 8, 2)
    assert walk(outside).need.I == 4  # a whole row, though nothing of it is met twice by the loop over c


def test_padding_is_never_fetched_but_reduces() -> None:
    layer = Layer(
        name="padded", input_channels=1, output_channels=1, input_height=1, input_width=1, kernel=(1, 3),
        padding=(0, 2, 0, 2),
    )  # fmt: skip
    schedule = Schedule(layer=layer, nest=(Loop("l", 1), Loop("x", 1)))
    found = counted(schedule)
    assert found["I read"] == Access(3, 3, 3)  # the only pixel, once for each tap
    assert found["O write_partial"] == Access(6, 24, 6)  # two of three taps leave partial sums, padding or not
    assert walk(schedule).need == PerOperand(I=1, W=1, O=1)


def test_stride_two_rows_and_kernel_rows_never_meet() -> None:
    layer = Layer(
        name="strided", input_channels=1, output_channels=1, input_height=5, input_width=1, kernel=(3, 1),
        stride=(2, 1),
    )  # fmt: skip
    by_row = Schedule(layer=layer, nest=(Loop("k", 1), Marker(("I",)), Loop("y", 1)))
    assert counted(by_row)["I read"].elements == 6
    by_tap = Schedule(layer=layer, nest=(Marker(("I",)), Loop("k", 1), Loop("y", 1)))
    assert counted(by_tap)["I read"].elements == 6  # rows 0 2, 1 3, 2 4: neighbours share nothing
    by_tile = Schedule(layer=layer, nest=(Marker(("I",)), Loop("y", 1), Loop("k", 1)))
    assert counted(by_tile)["I read"].elements == 5  # rows 0 1 2, then 3 4


def test_gaps_inside_a_word_merge() -> None:
    layer = Layer(
        name="gaps", input_channels=1, output_channels=1, input_height=1, input_width=9, kernel=1, stride=(1, 2)
    )
    schedule = Schedule(layer=layer, nest=(Marker(("I",)), Loop("m", 1), Loop("x", 1)))
    assert counted(schedule)["I read"] == Access(5, 5, 3)  # columns 0 2 | 4 6 | 8
    wide = Schedule(layer=layer, bits=Bits(I=16), nest=(Marker(("I",)), Loop("m", 1), Loop("x", 1)))
    assert counted(wide)["I read"] == Access(5, 10, 5)


def test_groups_have_channels_of_their_own() -> None:
    layer = Layer(
        name="grouped", input_channels=4, output_channels=4, input_height=1, input_width=1, kernel=1, groups=2
    )
    held = Schedule(layer=layer, nest=(Marker(("I",)), Loop("m", 1), Loop("c", 1)))
    assert counted(held)["I read"].elements == 4  # two channels, twice used, then the other two
    assert walk(held).need.I == 2
    across = Schedule(layer=layer, nest=(Loop("c", 1), Marker(("I",)), Loop("m", 3)), lanes=Lanes(m=3))
    assert counted(across)["I read"].elements == 2 * (2 + 0)  # outputs 0 1 2 meet both groups; 3 finds its own there
    assert walk(across).need.I == 2


def test_partial_sums_leave_once_per_piece_of_the_reduction() -> None:
    layer = line(5)
    nest = (Loop("c", 2), Marker(("O",)), Loop("l", 1), Loop("c", 1), Loop("x", 1))
    found = counted(Schedule(layer=layer, nest=nest))
    assert found["O write_partial"] == found["O read_partial"] == Access(4, 16, 4)
    assert found["O write"] == Access(2, 2, 1)
    assert found["B read"] == Access(1, 4, 1)


@pytest.mark.parametrize(
    ("words", "fetched"),
    [
        (0, 2 * 3 * 2),  # for each row, each pair of channels and each half of a row
        (1, 2 * 3 * 2),  # a pair does not fit
        (2, 2 * 3),  # a pair is kept from one half of a row to the next, not to the next row
        (3, 3),  # all of them
    ],
)
def test_biases_are_kept_within_the_outermost_loops_that_they_fit(words: int, fetched: int) -> None:
    layer = Layer(name="three", input_channels=2, output_channels=3, input_height=2, input_width=4, kernel=1)
    nest = (Loop("y", 1), Loop("m", 2), Loop("x", 2), Marker(("O",)), Loop("c", 1), Loop("m", 1), Loop("x", 1))
    schedule = Schedule(layer=layer, nest=nest, bias_words=words)
    assert counted(schedule)["B read"] == Access(fetched, 4 * fetched, fetched)
    # Sums that are not final need none: with the reduction outside they are final only in its last iteration.
    outside = schedule.model_copy(update={"nest": (Loop("c", 1), *nest)})
    assert counted(outside)["B read"] == Access(fetched, 4 * fetched, fetched)


def test_weights_are_packed_box_by_tile() -> None:
    layer = line(3)
    nest = (Loop("c", 2), Marker(("W",)), Loop("x", 1), Loop("c", 1), Loop("l", 1))
    found = counted(Schedule(layer=layer, nest=nest))
    assert found["W read"] == Access(9, 9, 2 + 1)  # tiles of 6 and 3 bytes
    assert found["W read"].elements == layer.weight_elements


def test_more_than_one_level_is_refused() -> None:
    schedule = Schedule(layer=LINE, nest=(Marker(("I",), TCDM), Loop("x", 1), Loop("l", 1)))
    with pytest.raises(InputError, match="expected markers of one memory level only"):
        walk(schedule)
    spread = Schedule(layer=LINE, nest=(Loop("x", 1, "hwc"), Loop("l", 1)))
    with pytest.raises(InputError, match="expected a nest for one HWC"):
        walk(spread)
