"""Settings that sizes alone tell: as `lower` has them; the search takes what given hardware has of them."""

from random import Random

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import DIMS, Layer
from hwgen.lower.cluster.cost import judge_of
from hwgen.lower.cluster.program import compile_cluster
from hwgen.lower.cluster.tiles import TileCommands
from hwgen.lower.hwc import compile_layer
from hwgen.search.cluster.fewest_cycles import search_fewest_cycles
from hwgen.search.cluster.optimal import search_cluster
from hwgen.search.core.optimal import search
from hwgen.search.core.orders import TILED
from hwgen.search.core.settings import Settings, Slices
from tests.random.clusters import cluster_schedules
from tests.random.layers import hwc

FITTED = Hardware(
    name="fitted",
    lanes=Lanes(m=2, x=2),
    budget=1024,
    constants={"group_outputs": 2},
    cluster=Cluster(hwcs=4, tcdm=4096),
)


def layer(outputs: int, rows: int = 1) -> Layer:
    """A layer of few rows."""
    return Layer(name="a", input_channels=3, output_channels=outputs, input_height=rows, input_width=8, kernel=1)


@pytest.mark.parametrize("outputs", [2, 4, 6])
def test_a_cluster_is_searched_for_slices_that_it_is_fitted_to(outputs: int) -> None:
    """Even where every even share of a tile would be of another size."""
    timed, runs = (judge_of(FITTED, timed=one) for one in (True, False))
    compile_cluster(search_fewest_cycles(layer(outputs), FITTED, timed=timed, runs=runs).schedule, FITTED)
    compile_cluster(search_cluster(layer(outputs), FITTED, judge=runs).schedule, FITTED)


def test_no_slices_of_an_odd_number_have_two_filters() -> None:
    timed, runs = (judge_of(FITTED, timed=one) for one in (True, False))
    with pytest.raises(InputError, match=r"^a: group_outputs: the hardware is fitted to 2, got 5$"):
        search_fewest_cycles(layer(5), FITTED, timed=timed, runs=runs)


def test_slices_are_no_wider_than_a_setting() -> None:
    """A row of 8 columns does not fit 3 bits, two of 4 do."""
    narrow = FITTED.model_copy(update={"constants": None, "setting_bits": {"extent_x": 3}})
    assert compile_cluster(search_cluster(layer(2), FITTED, judge=judge_of(FITTED, timed=False)).schedule)
    found = search_cluster(layer(2), narrow, judge=judge_of(narrow, timed=False)).schedule
    assert next(loop.step for loop in found.loops if loop.dim == "x") < 8
    compile_cluster(found, narrow)


def test_an_hwc_is_searched_for_the_steps_that_it_is_fitted_to() -> None:
    """Also for how often its loops run."""
    machine = hwc("fig8")
    whole = search(layer(6, 5), [2048], machine)[0].schedule
    number, loop = next((place, one) for place, one in enumerate(whole.loops) if one.dim == "m")
    assert loop.step > 2
    for constants in ({f"step_{number}_m": 2}, {f"repeats_{number}_0": 2}):
        fitted = machine.model_copy(update={"constants": constants})
        found = search(layer(6, 5), [2048], fitted)[0].schedule
        assert found.loops[number].step == 2
        compile_layer(found, fitted)


def test_settings_of_slices_are_those_of_programs() -> None:
    machine = hwc("channels_and_columns").model_copy(update={"cluster": Cluster(hwcs=2, tcdm=1 << 16)})
    for schedule in cluster_schedules(machine, Random("settings"), 12, most_macs=4000):
        program = compile_cluster(schedule, machine)
        tiles = TileCommands(program.schedule, machine, 2, program.placement, {})
        for number, parts in enumerate(tiles.slices):
            for part in parts:
                if any(part.ranges[DIMS.index(dim)] != (0, schedule.layer.extents[dim]) for dim in ("k", "l")):
                    continue
                values = tiles.registers(number, part)
                for dim in TILED:
                    start, end = part.ranges[DIMS.index(dim)]
                    held = tiles.small(part).layer.groups > 1 and dim == "c"
                    for name, value in Slices(schedule.layer, Settings()).settings_of(dim, start, end):
                        assert values[name] == value or (held and name == "group_inputs"), (name, part)
