"""What slices ask for at the ports of their HWCs: as many words as are counted, where their operands are, in time."""

from random import Random

import numpy as np
import pytest

from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.lanes import Lanes, Ports
from hwgen.ir.layer import Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, Loop, Marker, Schedule
from hwgen.lower.cluster.program import ClusterProgram, compile_cluster
from hwgen.lower.cluster.tiles import TileCommands
from hwgen.model.cluster.cluster_counts import predict_cluster
from hwgen.model.cluster.port_requests import RECORDS, Begun, Pitches, begun
from hwgen.model.hwc.cycles import IN_TIME, HwcTiming
from hwgen.model.hwc.timing.state import PARTS
from hwgen.model.nest.one_level import PerOperand
from tests.random.clusters import cluster_schedules
from tests.random.layers import order_from

PLAYED = 2048
PORTS = [Ports(), Ports(I=64, W=64, O=128)]
ORDER = order_from("m y x O c I k W l m y x")
LANES = Lanes(m=8, c=8)


def hardware(ports: Ports) -> Hardware:
    return Hardware(
        name="asks", lanes=LANES, budget=4096, buffers={"I": 1024, "W": 512, "O": 2560}, order=ORDER, ports=ports,
        requantisation="scaled", cluster=Cluster(multicast=False),
    )  # fmt: skip


def timings(program: ClusterProgram) -> tuple[TileCommands, list[tuple[int, HwcTiming]]]:
    """Of every slice the number of its tile, and its timing."""
    p, hwcs = program.parameters, program.cluster.hwcs
    buffers = PerOperand(p.input_bytes, p.weight_bytes, p.output_bytes)
    tiles = TileCommands(program.schedule, None, hwcs, program.placement, {})
    found = []
    for tile, parts in enumerate(tiles.slices):
        for part in parts:
            resumes, goes_on = tiles.sums(part)
            timing = HwcTiming(
                tiles.small(part), buffers, resumes=resumes, goes_on=goes_on, in_cluster=True,
                most_requantisers=p.most_requantisers, begins=tiles.begins(part),
            )  # fmt: skip
            found.append((tile, timing))
    return tiles, found


def in_time(program: ClusterProgram) -> list[Begun]:
    """How all slices begin."""
    rings = program.placement
    pitches = Pitches(rings.I.pitch, rings.I.plane, rings.O.pitch, rings.O.plane)
    return [begun(timing, IN_TIME, pitches, PLAYED) for _, timing in timings(program)[1]]


@pytest.mark.parametrize("ports", PORTS)
@pytest.mark.parametrize("seed", range(2))
def test_as_many_words_are_asked_for_as_are_counted(seed: int, ports: Ports) -> None:
    """Of layers whose slices end in the cycles that are played, without the biases; rows begin in any byte."""
    compared = 0
    for schedule in cluster_schedules(hardware(ports), Random(seed), 8, most_macs=30000, forms=False):
        program = compile_cluster(schedule, hardware(ports))
        slices, counts = in_time(program), predict_cluster(program.schedule, program.cluster.hwcs).counts
        if any(one.cycles is None for one in slices):
            continue
        compared += 1
        for operand, array in enumerate(ARRAYS):
            asked = sum(int((one.requests[operand].regions != RECORDS).sum()) for one in slices)
            ways = ("read",) if array != "O" else ("read_partial", "write_partial", "write")
            assert asked == sum(counts["tcdm", array, way].words for way in ways), (schedule.as_data(), array)
    assert compared >= 4


COLUMNS = Layer(
    name="columns", input_channels=3, output_channels=8, input_height=7, input_width=28, kernel=3, stride=2,
    padding=(0, 0, 1, 1),
)  # fmt: skip
LOCAL = (
    Loop("y", 3), Loop("x", 7), Marker(("O",)), Loop("c", 3), Marker(("I",)), Loop("k", 1), Marker(("W",)),
    Loop("l", 1), Loop("m", 8), Loop("y", 1), Loop("x", 1),
)  # fmt: skip


def columns() -> ClusterProgram:
    """Two tiles of seven outputs in a row: the columns 0 to 14 of the input, and 14 to 27."""
    nest = (Marker(ARRAYS, TCDM), Loop("x", 7), Loop("y", 3, "hwc"), Loop("m", 8), *LOCAL)
    schedule = Schedule(layer=COLUMNS, nest=nest, lanes=LANES, bias_words=64, requantisation="scaled")
    return compile_cluster(schedule, hardware(Ports()))


def test_rows_that_begin_within_a_word_take_longer() -> None:
    """Each of three times three rows of three channels is of four words, from its byte 2 on as well; rows of O are of
    two words and, from the byte 3 on, of three."""
    first, second = in_time(columns())[:2]
    assert [len(one.requests[0].times) for one in (first, second)] == [3 * 3 * 3 * 4] * 2
    stored = [int((one.requests[2].regions != RECORDS).sum()) for one in (first, second)]
    assert stored == [8 * 3 * 2, 8 * 3 * 3]


def test_words_are_where_the_operands_are() -> None:
    """Rows 0, 2, 4, then 1, 3, 5, then 2, 4, 6, of each the channels; six words of weights for each of nine taps; the
    outputs' columns, of each all channels."""
    program = columns()
    ring = program.placement
    inputs, weights, outputs = in_time(program)[0].requests
    rows = [row + 2 * step for row in range(3) for step in range(3)]
    places = [ring.I.pitch * row + ring.I.plane * channel + 4 * word
              for row in rows for channel in range(3) for word in range(4)]  # fmt: skip
    assert inputs.places.tolist() == places
    assert weights.places.tolist() == [4 * word for word in range(54)]
    stored = outputs.places[outputs.regions != RECORDS].tolist()
    assert stored == [
        ring.O.plane * channel + ring.O.pitch * row + 4 * word
        for row in range(3) for word in range(2) for channel in range(8)
    ]  # fmt: skip
    assert outputs.places[outputs.regions == RECORDS].tolist() == [4 * word for word in range(16)]


def test_waits_of_each_access_are_those_of_all_on_average() -> None:
    """Where each waits as long."""
    for _, timing in timings(columns())[1]:
        for inputs, weights in ((0, 0), (2, 0), (0, 3), (4, 1)):
            first = np.full(PLAYED, inputs), np.full(PLAYED, weights), IN_TIME[2]
            wanted = timing.cycles(PerOperand(inputs * PARTS, weights * PARTS, 0)).total
            assert timing.beginning(PLAYED, first).cycles == wanted


def test_what_is_not_played_is_as_slow_as_what_is() -> None:
    layer = Layer(name="long", input_channels=24, output_channels=8, input_height=24, input_width=9, kernel=3)
    nest = (*LOCAL[:3], Loop("c", 8), *LOCAL[4:])
    schedule = Schedule(layer=layer, nest=(Loop("m", 8), *nest), lanes=LANES, requantisation="scaled")
    timing, pitches = HwcTiming(schedule, PerOperand(1024, 512, 2560)), Pitches(12, 288, 8, 176)
    early, alone = begun(timing, IN_TIME, pitches, PLAYED), timing.cycles().total
    assert early.cycles is None
    assert early.lasts(early, alone) == pytest.approx(alone, abs=1)
    first = np.full(PLAYED, 1), np.full(PLAYED, 3), IN_TIME[2]
    slow = begun(timing, first, pitches, PLAYED).lasts(early, alone)
    assert slow > 1.2 * alone
    assert slow == pytest.approx(timing.cycles(PerOperand(PARTS, 3 * PARTS, 0)).total, rel=0.05)
