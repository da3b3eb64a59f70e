import re
from random import Random

import pytest

from hwgen.ir.counts import DIRECTIONS
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware, Order
from hwgen.ir.lanes import NARROW_PORTS, ONE_LANE, PORT_WIDTHS, Lanes, Ports
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits, Marker
from hwgen.lower.hwc import compile_layer
from hwgen.model.nest.one_level import predict
from hwgen.search.core.axes import PAIR_STATES, TILE, window
from hwgen.search.core.optimal import Result, search
from tests.oracles.nest_walk import walk
from tests.random.brute_force import Best, Shape, best_schedules, every_nest, operand_costs, units_of, with_markers
from tests.random.nests import layer_of_few_loops

LAYERS, HARDWARE_LAYERS = 516, 204
SHAPES: tuple[Lanes, ...] = (
    Lanes(x=2),
    Lanes(x=4),
    Lanes(x=8),
    Lanes(m=2),
    Lanes(m=8),
    Lanes(y=2),
    Lanes(m=2, y=2),
    Lanes(y=4, x=2),
    Lanes(m=4, x=2),
)
PARTS = 12
"""The random layers come in this many tests each, so that they can run side by side."""
DRAWN = [part if part < 1 else pytest.param(part, marks=pytest.mark.nightly) for part in range(PARTS)]
"""A twelfth of them in every run of the tests, all of them nightly."""
LANES = 16


def shape_of(hardware: Hardware | None) -> Shape:
    lanes = ONE_LANE if hardware is None else hardware.lanes
    return lanes.m, lanes.y, lanes.x


def ports_of(hardware: Hardware | None) -> Ports:
    return NARROW_PORTS if hardware is None else hardware.ports


def random_ports(rng: Random) -> Ports:
    """Ports of any width."""
    return Ports(*(rng.choice(PORT_WIDTHS) for _ in range(3)))


def random_sizes(rng: Random, layer: Layer, hardware: Hardware | None) -> list[int]:
    """Buffer sizes from hopeless to everything, most of them tight."""
    least = 6 if hardware is None else 2 * sum(units_of(shape_of(hardware), hardware.ports))
    most = layer.input_elements + layer.weight_elements + 4 * layer.output_elements
    return [least - 1, *(least + int(rng.random() ** 3 * most) for _ in range(3)), least + 64 * most]


def criteria(result: Result, hardware: Hardware | None, objective: str) -> Best:
    prediction = predict(result.schedule)
    words = prediction.counts.total_words()
    need = prediction.need_bytes.total
    if hardware is not None:
        units = zip(("I", "W", "O"), units_of(shape_of(hardware), hardware.ports), strict=True)
        need = sum(max(prediction.allocation[array], 2 * unit) for array, unit in units)  # type: ignore[index]
    match objective:
        case "traffic":
            return Best(prediction.total_bytes, words, 0, need)
        case "words":
            return Best(words, prediction.total_bytes, 0, need)
        case "with-bias":
            return Best(prediction.total_with_bias, words, 0, need)
    ports = [
        sum(prediction.counts["tcdm", operand, way].words for way in ways)
        for operand, ways in (("I", ("read",)), ("W", ("read",)), ("O", ("read_partial", "write_partial", "write")))
    ]
    return Best(max(*ports, prediction.iterations), prediction.total_bytes, words, need)


def check(layer: Layer, sizes: list[int], hardware: Hardware | None, objective: str, bits: Bits) -> None:
    """The search finds what brute force finds, for every size, and refuses exactly what nothing fits."""
    best = best_schedules(
        layer,
        sizes,
        bits=bits,
        lanes=shape_of(hardware),
        hardware=hardware is not None,
        goal=objective,
        ports=ports_of(hardware),
    )
    fitting = [size for size, found in zip(sizes, best, strict=True) if found.goal >= 0]
    for size in set(sizes) - set(fitting):
        with pytest.raises(InputError, match=f"no schedule fits a buffer of {size} bytes"):
            search(layer, [size], hardware, objective, bits=bits)
    if not fitting:
        return
    results = search(layer, fitting, hardware, objective, bits=bits)
    expected = [found for found in best if found.goal >= 0]
    for size, result, wanted in zip(fitting, results, expected, strict=True):
        assert criteria(result, hardware, objective) == wanted, (layer, size, result.schedule.as_data()["nest"])
        assert wanted.need <= size == result.buffer_bytes
        assert result.total_bytes == predict(result.schedule).total_bytes
        assert result.covered > result.pruned > 0 or result.covered == result.pruned + 1


def test_brute_force_counts_what_the_oracle_counts() -> None:
    rng = Random(3)
    for number in range(16):
        layer, lanes = layer_of_few_loops(rng), rng.choice(((1, 1, 1), (1, 1, 3), (3, 2, 1), (1, 4, 2), (5, 1, 6)))
        bits = Bits(
            I=8 * rng.randint(1, 4), W=8 * rng.randint(1, 3), O=8 * rng.randint(1, 4), acc=8 * rng.choice((2, 4, 5))
        )
        nest, ports = rng.choice(every_nest(layer, lanes)), random_ports(rng) if number % 2 else NARROW_PORTS
        costs = operand_costs(layer, nest, bits, lanes, ports)
        for place in range(len(nest) + 1):
            schedule = with_markers(layer, nest, (place,) * 3, bits, lanes, ports)
            told, stored = walk(schedule), predict(schedule).allocation
            for index, array in enumerate(("I", "W", "O")):
                words = sum(told.counts["tcdm", array, way].words for way in DIRECTIONS[array])  # type: ignore[index]
                expected = [told.counts.operand_bytes(array), words, told.need.in_bytes(bits)[array], stored[array]]  # type: ignore[arg-type, index]
                assert costs[place, index, :4].tolist() == expected, (number, place, array)


@pytest.mark.parametrize("part", DRAWN)
def test_optimum_is_that_of_brute_force(part: int) -> None:
    rng = Random(1000 + part)
    for number in range(LAYERS // PARTS):
        bits = Bits() if number % 4 else Bits(I=16, W=8, O=24, acc=40)
        objective: str = ("traffic", "traffic", "words", "cycles")[number % 4]
        layer = layer_of_few_loops(rng)
        check(layer, random_sizes(rng, layer, None), None, objective, bits)


@pytest.mark.parametrize("part", DRAWN)
def test_optimum_for_hardware_is_that_of_brute_force(part: int) -> None:
    rng = Random(2000 + part)
    for number in range(HARDWARE_LAYERS // PARTS):
        ports = random_ports(rng) if number % 3 == 1 else NARROW_PORTS
        hardware = Hardware(name="small", lanes=rng.choice(SHAPES), ports=ports)
        objective: str = ("traffic", "traffic", "words", "cycles")[number % 4]
        layer = layer_of_few_loops(rng, most_x=13)
        bits = Bits() if number % 2 else Bits(O=16)
        check(layer, random_sizes(rng, layer, hardware), hardware, objective, bits)


@pytest.mark.parametrize("lanes", [Lanes(m=4, c=4), Lanes(m=2, c=8), Lanes(m=4, c=2, x=2), Lanes(c=2, x=4)], ids=str)
def test_what_is_found_for_16_bits_on_lanes_along_c_runs(lanes: Lanes) -> None:
    """The search compares bytes, words and memories of what it finds with the model; here it is lowered, too."""
    rng, bits = Random(f"16 bits on {lanes}"), Bits(I=16, W=16, O=16)
    half, whole = (Hardware(name="c", lanes=one, budget=1 << 14) for one in (lanes.halved(), lanes))
    whole = whole.model_copy(update={"operand_bits": 16})
    for objective in ("traffic", "words", "cycles"):
        layer = layer_of_few_loops(rng)
        for found in search(layer, [1024, 8192], half, objective, bits=bits):  # type: ignore[arg-type]
            assert compile_layer(found.schedule, whole).parameters.lanes == lanes


@pytest.mark.parametrize("hardware", [None, *SHAPES[:2]], ids=str)
def test_the_least_with_biases_is_that_of_brute_force(hardware: Lanes | None) -> None:
    rng, fewer = Random(3000), 0
    given = None if hardware is None else Hardware(name="small", lanes=hardware, bias_words=0)
    for _ in range(6):
        layer = layer_of_few_loops(rng)
        sizes = random_sizes(rng, layer, given)
        check(layer, sizes, given, "with-bias", Bits())
        biased, plain = (search(layer, sizes[-1:], given, goal)[0] for goal in ("with-bias", "traffic"))
        fewer += biased.counts.total_with_bias() < plain.counts.total_with_bias()
    assert fewer > 0


def test_biases_that_are_kept_are_no_part_of_that_objective() -> None:
    kept = Hardware(name="kept", lanes=Lanes(x=16), bias_words=8)
    with pytest.raises(InputError, match="with-bias: expected without hardware, or with hardware that keeps no"):
        search(SQUARE, [1024], kept, "with-bias")


# --- given orders and memories ---


def test_more_loops_than_the_search_knows() -> None:
    layer = layer_of_few_loops(Random(0))
    with pytest.raises(InputError, match="order: m: expected at most 2 loops for a search, got 3"):
        search(layer, [100], order=("m", "m", "m", "c", "y", "x", "k", "l"))
    with pytest.raises(InputError, match="order: k: expected at most 1 loop for a search, got 2"):
        search(layer, [100], order=("m", "c", "y", "x", "k", "k", "l"))


def test_output_marker_where_nothing_is_reused() -> None:
    order: Order = ("m", Marker(("I", "W", "O")), "x", "c", "k", "l", "y")
    with pytest.raises(InputError, match=r"order: expected O's marker right above a loop over c, k or l .* above x$"):
        search(SQUARE, [1024], Hardware(name="hwc", lanes=Lanes(x=16)), order=order)


def test_memories_that_are_too_small_for_the_given_order() -> None:
    order: Order = (Marker(("O",)), "c", Marker(("I", "W")), "m", "k", "l", "y", "x")
    own = Hardware(name="hwc", lanes=Lanes(x=16), order=order, buffers={"I": 64, "W": 8, "O": 128}, budget=200)
    with pytest.raises(
        InputError,
        match=r"buffers of \{I: 64, W: 8, O: 128\} bytes; the one of the given order that needs least has \{I: \d",
    ) as refused:
        search(SQUARE, [200], own)
    numbers = [int(number) for number in re.findall(r"\d+", str(refused.value))[-3:]]
    needed = dict(zip("IWO", numbers, strict=True))
    assert search(SQUARE, [sum(numbers)], own.model_copy(update={"buffers": needed, "budget": sum(numbers)}))


def test_order_without_a_loop_that_the_layer_needs() -> None:
    with pytest.raises(InputError, match="order: square: c: expected a loop over its 3"):
        search(SQUARE, [100], order=("m", "y", "x", "k", "l"))


# --- what holds for all results ---

SQUARE = Layer(name="square", input_channels=3, output_channels=4, input_height=5, input_width=5, kernel=3, padding=1)


def test_too_small_for_anything() -> None:
    with pytest.raises(
        InputError, match="square: no schedule fits a buffer of 5 bytes; the smallest that would do has 6"
    ):
        search(SQUARE, [5, 100])
    with pytest.raises(
        InputError, match="no schedule fits a buffer of 167 bytes; the smallest that would do has 168"
    ):
        search(SQUARE, [167], Hardware(name="hwc", lanes=Lanes(x=16)))
    assert search(SQUARE, [168], Hardware(name="hwc", lanes=Lanes(x=16)))[0].need.total <= 168


def test_a_map_that_takes_too_long_is_refused() -> None:
    layer = Layer(name="line", input_channels=1, output_channels=1, input_height=1, input_width=8193, kernel=1)
    with pytest.raises(InputError, match=r"^line: output_width: expected at most 8192 for a search, got 8193$"):
        search(layer, [1024])


def test_a_kernel_loop_outside_y_carries_nothing_at_stride_2() -> None:
    """Rows 2y + k and 2y + k + 1 never meet: with I marked at k every row is fetched for each of its uses."""
    layer = Layer(
        name="strided", input_channels=1, output_channels=1, input_height=9, input_width=1, kernel=(3, 1),
        stride=(2, 1),
    )  # fmt: skip
    (result,) = search(layer, [100], order=(Marker(("I",)), "k", "y"))
    assert result.counts["tcdm", "I", "read"].bytes == 12
    (result,) = search(layer, [100], order=(Marker(("I",)), "y", "k"))
    assert result.counts["tcdm", "I", "read"].bytes == 9


def test_steps_with_as_many_pieces_are_not_equal_where_halos_are_clipped() -> None:
    """27 rows, kernel 5, padding 2: in steps of 9 35 rows are read, in steps of 13 34, each time in 3 pieces."""
    rows = window(27, 5, 1, 2, 27, 1).fetched[PAIR_STATES.index((TILE, 0))]
    assert (rows[9], rows[13]) == (35, 34)


def test_larger_buffers_are_never_worse_and_sizes_come_back_as_asked() -> None:
    sizes = [400, 40, 4000, 40, 100]
    results = search(SQUARE, sizes)
    assert [result.buffer_bytes for result in results] == sizes
    traffic = {result.buffer_bytes: result.total_bytes for result in results}
    assert traffic[40] > traffic[100] > traffic[400] >= traffic[4000]
    assert traffic[4000] == SQUARE.input_elements + SQUARE.weight_elements + SQUARE.output_elements


def test_the_oracle_confirms_a_sample() -> None:
    for result in (
        *search(SQUARE, [30, 120, 500]),
        *search(SQUARE, [200, 300], Hardware(name="hwc", lanes=Lanes(x=16))),
    ):
        assert walk(result.schedule).counts.differences(result.counts) == []


@pytest.mark.nightly
def test_interleaved_orders_are_never_worse() -> None:
    rng = Random(11)
    for _ in range(8):
        layer = layer_of_few_loops(rng)
        sizes = random_sizes(rng, layer, None)[1:]
        for wide, narrow in zip(search(layer, sizes, interleaved=True), search(layer, sizes), strict=True):
            assert wide.total_bytes <= narrow.total_bytes
            assert wide.covered > narrow.covered


@pytest.mark.nightly
def test_a_layer_with_six_dimensions() -> None:
    """Every order, step and marker place of a whole layer; the brute force takes minutes."""
    layer = Layer(name="six", input_channels=2, output_channels=2, input_height=3, input_width=3, kernel=2)
    check(layer, [6, 12, 20, 40, 200], None, "traffic", Bits())
