"""What a node of the vector unit still has to do when the layer beside it ends: by the loops around its tiles."""

import numpy as np
import pytest

from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import named_file
from hwgen.ir.layer import Layer
from hwgen.ir.level import TCDM
from hwgen.ir.network import kinds
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.tensors import Constants, Quantisation, Tensor
from hwgen.ir.requantisation import Requantisation, Scale
from hwgen.ir.schedule import ArrayName, Loop, Marker, Schedule
from hwgen.lower.cluster.cost import program_on
from hwgen.lower.cluster.cycles import cluster_cycles, estimated_cycles
from hwgen.lower.network.cluster_schedules import cluster_schedules
from hwgen.lower.network.followed import left_after, work_beside
from hwgen.lower.network.kept_schedules import KeptSchedules
from hwgen.lower.network.known_schedules import KNOWN
from hwgen.model.cluster.residence import Residence
from hwgen.model.cluster.whole_maps import held_whole

LAYER = Layer(
    name="square", op="conv", input_channels=8, output_channels=16, input_height=12, input_width=12,
    output_height=12, output_width=12, kernel=(1, 1),
)  # fmt: skip
ALL: tuple[ArrayName, ...] = ("I", "W", "O")


def schedule(*outer: Loop | Marker) -> Schedule:
    """These loops around tiles that one HWC computes output by output."""
    inner = (
        Marker(("O", "I", "W")),
        Loop("m", 1),
        Loop("c", 1),
        Loop("k", 1),
        Loop("l", 1),
        Loop("y", 1),
        Loop("x", 1),
    )
    return Schedule(layer=LAYER, nest=(*outer, *inner))


@pytest.mark.parametrize(
    ("outer", "left"),
    [
        ((Marker(ALL, TCDM), Loop("y", 12)), 600),
        ((Marker(ALL, TCDM), Loop("y", 3)), 150),
        ((Loop("m", 4), Marker(ALL, TCDM), Loop("y", 3)), 37.5),
        ((Loop("m", 4), Marker(ALL, TCDM), Loop("x", 3)), 150),
        ((Loop("x", 3), Marker(ALL, TCDM), Loop("y", 3)), 600 - 250 * 3 / 4),
        ((Loop("m", 8), Loop("x", 6), Marker(ALL, TCDM), Loop("y", 3)), 300 - 250 * 3 / 4),
        ((Loop("c", 4), Marker(ALL, TCDM), Loop("y", 3)), 600 - 500 * 3 / 4),
        ((Marker(("O",), TCDM), Loop("y", 3), Marker(("I", "W"), TCDM), Loop("c", 4)), 150),
    ],
    ids=["one", "rows", "filters", "columns-inside", "columns", "filters-columns", "channels", "channels-inside"],
)
def test_of_600_cycles_beside_1000(outer: tuple[Loop | Marker, ...], left: float) -> None:
    """Rows and filters are there one after the other; of columns and channels outside of them, in the last pass."""
    assert left_after(schedule(*outer), 1000, 600) == pytest.approx(left)


def test_what_a_layer_is_too_short_for() -> None:
    assert left_after(schedule(Loop("m", 4), Marker(ALL, TCDM), Loop("y", 3)), 1000, 3000) == 3000 - 1000 * 15 / 16
    assert left_after(schedule(Marker(ALL, TCDM), Loop("y", 12)), 1000, 0) == 0


# --- a network ---

SIZE = 56
MACHINE = load_hardware(named_file("hardware", "cluster_64_vector"))
POOL = kinds.MaxPool(
    name="pool", inputs=("conv",), covers=("pool",), shape=(1, 16, SIZE, SIZE),
    window=kinds.Window((3, 3), padding=(1, 1, 1, 1)),
)  # fmt: skip
SUM = kinds.Addition(
    name="sum", inputs=("conv", "x"), covers=("sum",), shape=(1, 16, SIZE, SIZE), scales=Scale.common([0.7, 1.0]),
    zeros=(-5, 3), zero_out=1, low=-128, high=90,
)  # fmt: skip


def graph(*after: kinds.Node) -> Graph:
    """A convolution of a map of 16 channels, and nodes that read its output."""
    rng = np.random.default_rng(1)
    shape = (1, 16, SIZE, SIZE)
    conv = kinds.Convolution(
        name="conv", inputs=("x",), covers=("conv",), shape=shape,
        weights=rng.integers(-128, 128, (16, 16, 3, 3), np.int8), bias=np.zeros(16, np.int32),
        window=kinds.Window((3, 3), padding=(1, 1, 1, 1)),
        requantisation=Requantisation((Scale(40000, 27),), zero_in=3, zero_out=-5),
    )  # fmt: skip
    tensors = {
        name: Tensor(name, shape, Quantisation(0.1, 3)) for name in ("x", "conv", *(one.name for one in after))
    }
    nodes = (conv, *after)
    outputs = tuple(one.output for one in after) or ("conv",)
    return Graph(
        name="net", nodes=nodes, inputs=("x",), outputs=outputs, tensors=tensors, constants=Constants(arrays={})
    )


def test_the_work_beside_a_layer() -> None:
    """A pool reads and writes a map of 50,176 elements through 8 bytes a cycle; a sum reads the layer's input."""
    assert MACHINE.cluster is not None
    conv = graph().nodes[0]
    assert work_beside(graph(POOL), conv, MACHINE) == 2 * 16 * SIZE**2 // 8
    assert work_beside(graph(SUM), conv, MACHINE) == 0
    assert work_beside(graph(SUM, POOL), conv, MACHINE) == 2 * 16 * SIZE**2 // 8
    assert work_beside(graph(), conv, MACHINE) == 0
    plain = MACHINE.model_copy(update={"cluster": MACHINE.cluster.model_copy(update={"vector": False})})
    assert work_beside(graph(POOL), conv, plain) == 0


def test_a_schedule_for_both() -> None:
    """With a pool beside it a layer has a schedule with which both are done earlier."""
    KNOWN.forget()
    found = {}
    for name, net in (("alone", graph()), ("pool", graph(POOL))):
        found[name] = cluster_schedules(net, MACHINE, lambda: None, 1)[0]["conv"]
    work = work_beside(graph(POOL), graph(POOL).nodes[0], MACHINE)
    cycles = {name: estimated_cycles(one, MACHINE) for name, one in found.items()}
    left = {name: left_after(one, cycles[name], work) for name, one in found.items()}
    assert cycles["pool"] + left["pool"] < cycles["alone"] + left["alone"]


def test_a_schedule_for_both_where_the_input_stays() -> None:
    KNOWN.forget()
    assert MACHINE.cluster is not None
    machine = MACHINE.model_copy(update={"cluster": MACHINE.cluster.model_copy(update={"tcdm": 1 << 17})})
    net, residence = graph(POOL), Residence(inputs=1 << 16)
    conv = net.nodes[0]
    kept = KeptSchedules(net, cluster_schedules(net, machine, lambda: None, 1)[0], machine)
    work, takes = work_beside(net, conv, machine), {}
    for name, beside in (("alone", 0), ("pool", work)):
        one = kept.of(conv, residence, beside=beside)
        assert one is not None
        cycles = cluster_cycles(program_on(one, machine, ordered=True, residence=residence)).total
        takes[name] = cycles + left_after(held_whole(one, residence.arrays), cycles, work)
    assert takes["pool"] < takes["alone"]
