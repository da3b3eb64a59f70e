"""Words on ports of 32 to 512 bits: by hand, and the closed form against the literal walk."""

from random import Random

from hwgen.ir.lanes import LANE_DIMS, PORT_WIDTHS, Lanes, Ports
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Loop, Marker, Schedule
from hwgen.model.nest.one_level import allocation, predict
from tests.oracles.nest_walk import walk
from tests.random.nests import cases

LAYER = Layer(name="small", input_channels=3, output_channels=6, input_height=4, input_width=19, kernel=3, padding=1)


def on_ports(schedule: Schedule, ports: Ports) -> Schedule:
    return schedule.model_copy(update={"ports": ports})


def words(schedule: Schedule, operand: str, direction: str) -> int:
    return predict(schedule).counts["tcdm", operand, direction].words  # type: ignore[index]


def test_words_of_weights_by_hand() -> None:
    tiles = (Loop("m", 4), Loop("c", 1), Marker(("W",)), Loop("y", 2), *(Loop(dim, 1) for dim in "yklm"))
    dense = Schedule(layer=LAYER, nest=tiles, lanes=Lanes(x=32))
    # Tiles of 36 and 18 bytes, 3 times each.
    for width, each in ((32, 9 + 5), (64, 5 + 3), (128, 3 + 2), (512, 1 + 1)):
        assert words(on_ports(dense, Ports(W=width)), "W", "read") == 3 * each
    assert allocation(dense).W == 36
    assert allocation(on_ports(dense, Ports(W=128))).W == 48
    lines = Schedule(layer=LAYER, nest=tiles[:2] + tiles[2:-1] + (Loop("m", 4), Loop("x", 1)), lanes=Lanes(m=4, c=2))
    # Lines of one channel: a word each, whatever the port; 9 of 4 and 9 of 2 output channels for each channel.
    assert {words(on_ports(lines, Ports(W=width)), "W", "read") for width in PORT_WIDTHS} == {3 * 18}
    assert {allocation(on_ports(lines, Ports(W=width))).W for width in PORT_WIDTHS} == {9 * 8}


def test_words_of_sums_and_biases_by_hand() -> None:
    nest = (Loop("c", 1), Loop("x", 8), Marker(("O",)), Loop("k", 3), Loop("y", 1), Loop("m", 4), Loop("x", 4))
    schedule = Schedule(layer=LAYER, nest=(*nest, Loop("l", 1), Loop("k", 1)), lanes=Lanes(m=4, x=4))
    # Rows of 19 sums in vectors of 4, 4, 4, 4, 3, twice in and out for 24 rows; outputs 8, 8, 3 at a time.
    for width, sums, outputs in ((32, 19, 2 + 2 + 1), (64, 2 * 4 + 2, 3), (128, 5, 3), (512, 5, 3)):
        wide = on_ports(schedule, Ports(O=width))
        assert words(wide, "O", "write_partial") == words(wide, "O", "read_partial") == 2 * 24 * sums
        assert words(wide, "O", "write") == 24 * outputs
    # Biases of vectors of 4 and 2 channels, for each of 3 tiles and 4 rows.
    counted = {width: words(on_ports(schedule, Ports(O=width)), "B", "read") for width in (32, 64, 128)}
    assert counted == {32: 3 * 6, 64: 3 * 3, 128: 3 * 2}


def test_closed_form_against_the_walk() -> None:
    rng = Random(17)
    for schedule in cases(91, 120, LANE_DIMS):
        wide = on_ports(schedule, Ports(*(rng.choice(PORT_WIDTHS) for _ in range(3))))
        assert predict(wide).counts == walk(wide).counts, wide.as_data()
