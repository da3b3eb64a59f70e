"""The schedule of fewest cycles of a layer whose maps stay in the TCDM, from a few tiles.

Of what stays the DMA moves nothing, so that tiles only cut the weights, of which the next are loaded beside the work,
and the maps that do not stay. Each cut into a few equal tiles, along filters and along rows, is spread over all HWCs,
or over some, in every way, with the nests of the HWCs that a search for all maps in the DRAM looks at, too. They are
taken in the order of an estimate; the exact model of the program times the best, from the fastest of which a descent
goes on (`hwgen.search.cluster.descent`). Of those near the fewest cycles that of fewest bytes is taken.

*The search is bounded*: `MOST_TILES` tiles, `MOST_ESTIMATED` schedules, `MOST_JUDGED` that are timed.
`search_few_with_kept_maps` looks at a few schedules, by their estimates alone.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from math import prod

from hwgen.arch.bus import beat_bytes
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import REDUCTION_DIMS, Dim, Layer
from hwgen.ir.schedule import ArrayName, Bits, Schedule
from hwgen.model.cluster.cluster_counts import dram_bytes
from hwgen.model.cluster.residence import Residence
from hwgen.model.cluster.whole_maps import held_whole
from hwgen.model.cycle_bound import cycle_bound, least_busy
from hwgen.search.cluster.descent import Arrived, Descent
from hwgen.search.cluster.least_cycles import NEAR
from hwgen.search.cluster.neighbours import Neighbours, Place
from hwgen.search.cluster.outer_nest import OuterLoops
from hwgen.search.cluster.promising_nests import Estimate, PromisingNests, without_waits
from hwgen.search.cluster.spreading import Spread, busiest_iterations, spreads_over_some
from hwgen.search.core.settings import Slices
from hwgen.search.core.space import Target
from hwgen.search.layer_forms import forms_of

__all__ = ["search_few_with_kept_maps", "search_with_kept_maps"]

CUTS = (1, 2, 3, 4, 8, 16)
"""Numbers of tiles into which an axis is cut."""
MOST_TILES, MOST_ESTIMATED, MOST_JUDGED = 32, 32, 3
FEW_TILES, FEW = 8, 3
"""Tiles, and schedules, that `search_few_with_kept_maps` looks at."""
TILE_CYCLES = 150
"""About what a tile costs beyond its work."""


@dataclass(frozen=True)
class _Plan:
    """What nests of a layer in some form are searched with, loops around a tile, its steps, its spread, and a first
    estimate of its cycles."""

    inner: PromisingNests
    loops: OuterLoops
    steps: dict[Dim, int]
    spread: Spread
    estimate: float


def search_with_kept_maps(
    layer: Layer,
    hardware: Hardware,
    residence: Residence,
    *,
    timed: Callable[[Schedule], float],
    estimate: Estimate,
    found: Schedule | None = None,
    laid_out: bool = False,
) -> Schedule | None:
    """The schedule of fewest cycles of a layer, in the form of the fewest; None if none runs.

    Parameters
    ----------
    residence : the maps that stay.
    timed : the cycles of a schedule with these.
    estimate : about these, in less time.
    found : a schedule that is taken where none takes fewer cycles, if it runs.
    laid_out : the input may be laid out for the layer, see `hwgen.search.layer_forms.forms_of`.
    """
    known = _estimated(layer, hardware, residence, estimate, laid_out, MOST_TILES, MOST_ESTIMATED)
    judged: list[tuple[float, Schedule]] = []
    first = [] if found is None else [found]
    for schedule in [*first, *(one for _, one in sorted(known, key=lambda one: one[0]))]:
        if len(judged) == MOST_JUDGED + len(first):
            break
        try:
            judged.append((timed(schedule), schedule))
        except InputError:
            continue
    if not judged:
        return None
    judged += _beside(*min(judged, key=lambda one: one[0]), hardware, timed, estimate)
    most = (1 + NEAR) * min(cycles for cycles, _ in judged)
    near = [one for one in judged if one[0] <= most]
    return min(near, key=lambda one: (_moved(one[1], residence), one[0]))[1]


def search_few_with_kept_maps(
    layer: Layer,
    hardware: Hardware,
    residence: Residence,
    *,
    estimate: Estimate,
    found: Schedule,
    laid_out: bool = False,
) -> Schedule | None:
    """The schedule of the least estimate, without waits, of a few and ``found``; None if none of them runs.

    Parameters are those of `search_with_kept_maps`.
    """
    estimate = without_waits(estimate)
    known = _estimated(layer, hardware, residence, estimate, laid_out, FEW_TILES, FEW)
    with suppress(InputError):
        known.append((estimate(found), found))
    return min(known, key=lambda one: one[0])[1] if known else None


def _estimated(
    layer: Layer,
    hardware: Hardware,
    residence: Residence,
    estimate: Estimate,
    laid_out: bool,
    most_tiles: int,
    most: int,
) -> list[tuple[float, Schedule]]:
    """Schedules of spread tiles of least first estimates, ``most`` or a few more, with their second estimates."""
    plans = [
        plan
        for form in forms_of(layer.of_network, hardware.shape, laid_out=laid_out, window=hardware.column_window)
        for plan in _plans(form, hardware, residence, estimate)
    ]
    known: list[tuple[float, Schedule]] = []
    for plan in sorted(plans, key=lambda plan: plan.estimate)[:most_tiles]:
        for schedule, _, cycles in plan.inner.of(plan.loops, plan.steps, plan.spread):
            known.append((cycles, schedule))
        if len(known) >= most:
            break
    return known


def _moved(schedule: Schedule, residence: Residence) -> int:
    """Bytes that the DMA moves."""
    return dram_bytes(held_whole(schedule, residence.arrays), unmoved=residence.unmoved)


def _beside(
    cycles: float, schedule: Schedule, hardware: Hardware, timed: Callable[[Schedule], float], estimate: Estimate
) -> list[tuple[float, Schedule]]:
    """What a descent from a schedule comes by, with its cycles."""
    place = Place.of(schedule)
    if place is None:
        return []
    neighbours = Neighbours(hardware, Slices(schedule.layer, Target.of(hardware).settings))
    descent = Descent(neighbours, lambda _: True, estimate, timed, cycle_bound(schedule.layer, hardware).lanes)
    found = descent.go(Arrived(place, estimate(schedule), cycles))
    return [(one.cycles, one.place.schedule) for one in found]


def _plans(layer: Layer, hardware: Hardware, residence: Residence, estimate: Estimate) -> Iterator[_Plan]:
    """The spread tiles."""
    nests = PromisingNests(layer, hardware, Bits(), estimate, lambda _: True)
    cluster, target = hardware.cluster or Cluster(), Target.of(hardware)
    extents, slices = layer.extents, Slices(layer, target.settings)
    beat = beat_bytes(cluster.axi_bits)
    taps = prod(extents[dim] for dim in REDUCTION_DIMS if dim != "c") * -(-extents["c"] // target.lanes.along("c"))
    busy = least_busy(layer, hardware.shape) / cluster.hwcs  # groups have iterations of their own, and outputs wait
    moved: dict[ArrayName, float] = {
        "I": 0.0 if "I" in residence.unmoved else layer.input_elements / beat,
        "W": layer.weight_elements / beat,
        "O": 0.0 if "O" in residence.unmoved else layer.output_elements / beat,
    }
    for filters, rows in product(_cuts(layer.outputs_per_group, extents["m"]), _cuts(extents["y"], extents["y"])):
        steps: dict[Dim, int] = {"m": filters, "c": extents["c"], "y": rows, "x": extents["x"]}
        outer, inner = -(-extents["m"] // filters), -(-extents["y"] // rows)
        tiles = outer * inner
        first = {"I": moved["I"] / (inner if outer == 1 else 1), "W": moved["W"] / outer, "O": moved["O"] / tiles}
        dims: tuple[Dim, ...] = ("m", "y")
        loops = OuterLoops(dims, (filters, rows), (1 if outer == 1 else 0, 0, 1))
        for spread in spreads_over_some(steps, cluster.hwcs, slices):
            work = max(busiest_iterations(layer, steps, spread, target) * taps, busy) + TILE_CYCLES * tiles
            yield _Plan(nests, loops, steps, spread, max(work, moved["I"] + moved["W"]) + sum(first.values()))


def _cuts(unit: int, extent: int) -> list[int]:
    """Steps that cut an axis into a few tiles; of several groups only between them."""
    if unit < extent:
        steps = {unit * -(-extent // unit // number) for number in CUTS}
    else:
        steps = {-(-extent // number) for number in CUTS}
    return sorted(steps, reverse=True)
