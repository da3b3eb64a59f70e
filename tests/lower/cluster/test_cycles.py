"""Cycles of whole programs: what overlaps, what is waited for."""

from random import Random

import pytest

from hwgen.arch.dram import Dram
from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, Loop, Marker, Schedule
from hwgen.lower.cluster.cost import program_on
from hwgen.lower.cluster.cycles import cluster_cycles, estimated_cycles
from hwgen.lower.cluster.program import compile_cluster
from hwgen.lower.cluster.tiles import TileCommands
from hwgen.model.hwc.cycles import HwcTiming, cycles
from hwgen.model.hwc.tiles import RowBegins
from hwgen.model.nest.one_level import PerOperand
from tests.random.clusters import cluster_schedules

LAYER = Layer(
    name="tiles", input_channels=24, output_channels=64, input_height=12, input_width=16, kernel=3, padding=1
)
LOCAL = (
    Loop("m", 2), Loop("y", 2), Loop("x", 16), Marker(("O",)), Loop("c", 1), Marker(("I", "W")), Loop("y", 1),
    Loop("k", 1), Loop("m", 1), Loop("l", 1),
)  # fmt: skip
TILES = Schedule(
    layer=LAYER, nest=(Marker(ARRAYS, TCDM), Loop("m", 8), Loop("m", 2, "hwc"), *LOCAL), lanes=Lanes(x=16)
)
HARDWARE = Hardware(
    name="four", lanes=Lanes(x=16), buffers={"I": 192, "W": 144, "O": 640},
    order=("m", "y", "x", Marker(("O",)), "c", Marker(("I", "W")), "y", "k", "m", "l"), cluster=Cluster(),
)  # fmt: skip


def test_work_hides_the_loads() -> None:
    program = compile_cluster(TILES)
    small = Schedule(
        layer=Layer(**{**LAYER.model_dump(), "output_channels": 2}), nest=LOCAL, lanes=Lanes(x=16)
    )  # one HWC's share of a tile
    p = program.parameters
    one = cycles(small, PerOperand(p.input_bytes, p.weight_bytes, p.output_bytes)).total
    found = cluster_cycles(program)
    # The last of four HWCs starts when the three before it have been given their registers; few accesses wait for the
    # DMA.
    assert 8 * one <= found.busy["compute"] <= 8 * (one + 3 * 15) + one / 100
    assert found.total < found.busy["compute"] + found.busy["load"] / 4
    serial = cluster_cycles(compile_cluster(TILES, serial=True))
    assert serial.total > found.total + 0.8 * (found.busy["load"] - found.waits["compute", "load"])


def test_a_slow_dram_decides() -> None:
    program = compile_cluster(TILES)
    fast = cluster_cycles(program)
    slow = cluster_cycles(program, Dram(latency=20, miss_cycles=10, block_cycles=250.0))
    assert slow.busy["load"] > 3 * fast.busy["load"]
    assert slow.total > 1.2 * fast.total
    assert slow.total < slow.busy["load"] + slow.busy["store"] + fast.busy["compute"]


def test_rounds_that_leave_partial_sums_cost_more() -> None:
    nest = (Marker(ARRAYS, TCDM), Loop("c", 8), Loop("m", 16, "hwc"), *LOCAL)
    rounds = cluster_cycles(compile_cluster(TILES.model_copy(update={"nest": nest})))
    whole = (Marker(ARRAYS, TCDM), Loop("c", 24), Loop("m", 16, "hwc"), *LOCAL)
    at_once = cluster_cycles(compile_cluster(TILES.model_copy(update={"nest": whole})))
    # Each HWC has 16 * 192 sums; two rounds store them, two load them; outputs are a quarter as many words.
    assert rounds.busy["compute"] - at_once.busy["compute"] > 3 * 16 * 192


@pytest.mark.parametrize("seed", range(2))
def test_every_program_has_its_cycles(seed: int) -> None:
    for schedule in cluster_schedules(HARDWARE, Random(seed), 3, most_macs=4000):
        beside, serial = (compile_cluster(schedule, HARDWARE, serial=serial) for serial in (False, True))
        found = cluster_cycles(beside)
        assert found.total > max(found.busy.values())
        assert cluster_cycles(serial).total >= found.total - 60


PRODUCT = Layer(name="product", input_channels=120, output_channels=84, input_height=1, input_width=1, kernel=1)


GAPS = [(28, Lanes(m=4, c=4), False), (32, Lanes(m=4, c=4), True), (28, Lanes(m=16), False), (64, Lanes(m=16), True)]


@pytest.mark.parametrize(("step", "lanes", "ordered"), GAPS)
def test_estimates_know_weights_that_are_not_in_order(step: int, lanes: Lanes, ordered: bool) -> None:
    """14 filters an HWC leave gaps of a seventh in their lines, too many: each byte of the weights goes alone."""
    hardware = load_hardware(named_file("hardware", "cluster_64_vector")).model_copy(
        update={"lanes": lanes, "column_window": False}
    )
    share = min(16, step // 2)
    outer = (Marker(("I", "W"), TCDM), Loop("m", step), Marker(("O",), TCDM), Loop("y", 1), Loop("m", share, "hwc"))
    steps = iter((share, 1, 1, lanes.c, 1, 1, min(lanes.m, share), 1, 1))
    inner = (item if isinstance(item, Marker) else Loop(item, next(steps)) for item in hardware.order or ())
    nest, ports, scaled = (*outer, *inner), hardware.ports, hardware.requantisation
    schedule = Schedule(layer=PRODUCT, nest=nest, lanes=lanes, ports=ports, requantisation=scaled)
    program = program_on(schedule, hardware, ordered=True)
    assert program.layout.ordered == ordered
    taken = cluster_cycles(program)
    assert (taken.busy["load"] > PRODUCT.weight_elements / 2) != ordered
    assert estimated_cycles(schedule, hardware) == pytest.approx(taken.total, rel=0.2)


@pytest.mark.parametrize("channels", [398, 399, 401])
def test_estimates_know_the_descriptors_of_short_lines(channels: int) -> None:
    """Of filters whose channels fill no last line, in the order of the layer, the rest comes with one of its own."""
    lanes = Lanes(m=4, c=4)
    layer = Layer(name="short", input_channels=channels, output_channels=32, input_height=2, input_width=8, kernel=1)
    outer = (Marker(ARRAYS, TCDM), Loop("m", 16), Loop("m", 4, "hwc"), Marker(("O",)))
    inner = (Loop("c", 4), Marker(("I", "W")), Loop("k", 1), Loop("l", 1), Loop("m", 4), Loop("y", 1), Loop("x", 1))
    schedule = Schedule(layer=layer, nest=(*outer, *inner), lanes=lanes)
    taken = cluster_cycles(compile_cluster(schedule)).total
    hardware = Hardware(name="any", lanes=lanes, buffers={"I": 64, "W": 64, "O": 512}, cluster=Cluster())
    estimated = estimated_cycles(schedule, hardware, ordered=False)
    assert estimated == pytest.approx(taken, rel=0.25)


@pytest.mark.parametrize(("stride", "kernel"), [(2, 1), (3, 1), (3, 2)])
def test_estimates_know_the_columns_that_a_stride_leaves_out(stride: int, kernel: int) -> None:
    """What is loaded of a row is a run for each window, each of which takes about two cycles."""
    side = 15 * stride + kernel
    layer = Layer(name="apart", input_channels=8, output_channels=4, input_height=side, input_width=side,
                  output_height=16, output_width=16, kernel=kernel, stride=stride)  # fmt: skip
    hardware = load_hardware(named_file("hardware", "cluster_64_vector")).model_copy(update={"column_window": False})
    outer = (Marker(ARRAYS, TCDM), Loop("y", 4), Loop("y", 1, "hwc"))
    steps = iter((4, 1, 16, 4, 1, 1, 4, 1, 1))
    inner = (item if isinstance(item, Marker) else Loop(item, next(steps)) for item in hardware.order or ())
    schedule = Schedule(layer=layer, nest=(*outer, *inner), lanes=hardware.shape, ports=hardware.ports,
                        requantisation=hardware.requantisation)  # fmt: skip
    taken = cluster_cycles(program_on(schedule, hardware, ordered=True))
    assert taken.busy["load"] > 1.5 * 8 * (16 * kernel) * 16
    assert estimated_cycles(schedule, hardware) == pytest.approx(taken.total, rel=0.25)


def test_rows_that_begin_within_a_word_take_longer() -> None:
    """Tiles of seven columns of outputs with a stride of 2: columns from 14 on begin in byte 2 of a word of I, and
    in byte 3 of one of O, of which seven outputs then take three in place of two."""
    layer = Layer(
        name="columns", input_channels=3, output_channels=8, input_height=7, input_width=28, kernel=3, stride=2,
        padding=(0, 0, 1, 1),
    )  # fmt: skip
    nest = (
        *(Marker(ARRAYS, TCDM), Loop("x", 7), Loop("m", 8, "hwc"), Loop("y", 3), Loop("x", 7), Marker(("O",))),
        *(Loop("c", 3), Marker(("I", "W")), Loop("k", 1), Loop("l", 1), Loop("m", 8), Loop("y", 1), Loop("x", 1)),
    )
    program = compile_cluster(Schedule(layer=layer, nest=nest, lanes=Lanes(m=8, c=8)))
    tiles = TileCommands(program.schedule, None, program.cluster.hwcs, program.placement, {})
    assert [tiles.begins(parts[0]) for parts in tiles.slices] == [RowBegins(0, 0), RowBegins(2, 3)]
    assert tiles.kinds == [0, 1]
    small, p = tiles.small(tiles.slices[0][0]), program.parameters
    buffers = PerOperand(p.input_bytes, p.weight_bytes, p.output_bytes)
    first, second = (HwcTiming(small, buffers, begins=tiles.begins(parts[0])).cycles() for parts in tiles.slices)
    assert second.total > first.total


def test_the_dma_is_at_the_banks_until_it_has_moved_what_a_short_tile_needs() -> None:
    """FC1 of Yang et al. (2016) with 64 images, as `hwgen paper yang-2016 --rtl` counted it: the next image's inputs
    come in the first third of a tile, and the port of W follows them from bank to bank at the pace of the DMA.
    """
    layer = Layer(name="FC1", op="fc", input_channels=200, output_channels=100, input_height=1, input_width=1,
                  kernel=1, batch=64)  # fmt: skip
    tiles = (
        Loop("n", 16),
        Marker(("O",), TCDM),
        Loop("m", 16),
        Marker(("W",), TCDM),
        Loop("c", 74),
        Marker(("I",), TCDM),
    )
    local = (
        Loop("n", 1), Loop("m", 16), Loop("y", 1), Loop("x", 1), Marker(("O",)), Loop("c", 4), Marker(("I", "W")),
        Loop("m", 4), Loop("y", 1), Loop("x", 1), Loop("c", 4), Loop("k", 1), Loop("l", 1),
    )  # fmt: skip
    lanes = Lanes(m=4, c=4)
    schedule = Schedule(layer=layer, nest=(*tiles, *local), lanes=lanes, bias_words=64, lane_registers=True)
    hardware = Hardware(
        name="one", lanes=lanes, buffers={"I": 32, "W": 32, "O": 64}, bias_words=64, lane_registers=True,
        order=("m", "y", "x", Marker(("O",)), "c", Marker(("I", "W")), "m", "y", "x", "c", "k", "l"),
        cluster=Cluster(hwcs=1, tcdm=7168, banks=16, axi_bits=64),
    )  # fmt: skip
    found = cluster_cycles(compile_cluster(schedule, hardware))
    assert found.busy["compute"] == pytest.approx(534_935, rel=0.01)
    assert found.total == pytest.approx(566_698, rel=0.015)


def test_all_that_ports_wait_counts() -> None:
    """Four HWCs read the same weights at the same time: half of what their ports wait would cost them nothing. They
    computed for 7,408 cycles in the RTL, alone each needs 6,555.
    """
    layer = Layer(name="conv", input_channels=16, output_channels=32, input_height=32, input_width=32, kernel=3,
                  stride=2, padding=(0, 0, 1, 1))  # fmt: skip
    tiles = (
        Marker(("I", "O"), TCDM), Loop("y", 16), Marker(("W",), TCDM), Loop("m", 32), Loop("y", 16),
        Loop("y", 4, "hwc"),
    )  # fmt: skip
    local = (
        Loop("m", 16), Loop("y", 1), Loop("x", 16), Marker(("O",)), Loop("c", 8), Marker(("I",)), Loop("k", 1),
        Marker(("W",)), Loop("l", 1), Loop("m", 8), Loop("y", 1), Loop("x", 1),
    )  # fmt: skip
    lanes = Lanes(m=8, c=8)
    hardware = Hardware(
        name="four", lanes=lanes, budget=4096, buffers={"I": 1024, "W": 512, "O": 2560}, bias_words=64,
        order=("m", "y", "x", Marker(("O",)), "c", Marker(("I",)), "k", Marker(("W",)), "l", "m", "y", "x"),
        cluster=Cluster(hwcs=4, tcdm=1 << 17, banks=8, axi_bits=32),
    )  # fmt: skip
    schedule = Schedule(layer=layer, nest=(*tiles, *local), lanes=lanes, bias_words=64)
    assert cluster_cycles(compile_cluster(schedule, hardware)).busy["compute"] == pytest.approx(7408, rel=0.03)
