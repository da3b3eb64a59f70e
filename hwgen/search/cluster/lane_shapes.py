"""Lanes that a hardware file leaves free, and the form in which a layer takes the fewest cycles on a cluster.

Every shape is ranked by an estimate: the cycles of the multipliers of the busiest HWC, each layer spread over the
HWCs as a whole in the best way, summed over the layers. Tiles, ports and the DMA are left out: the rank is no proof.
The shapes of the least estimates are searched to the end, and lanes along x always; of these the best one is taken.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from hwgen.arch.hwc import LANES
from hwgen.ir.document import InputError
from hwgen.ir.hardware import ALONG_ROWS, Cluster, Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import IMAGE, OUTPUT_DIMS, REDUCTION_DIMS, Layer
from hwgen.search.cluster.optimal import ClusterResult
from hwgen.search.cluster.shared import SharedCluster, cost
from hwgen.search.cluster.spreading import busiest_iterations, spreads_of
from hwgen.search.core.orders import TILED
from hwgen.search.core.space import Target
from hwgen.search.layer_forms import forms_of, in_best_form

__all__ = ["SEARCHED", "estimated_cycles", "in_best_cluster_form", "search_lanes", "shapes_to_search"]


SEARCHED = 3
"""Shapes that are searched to the end."""


def estimated_cycles(layer: Layer, lanes: Lanes, hwcs: int) -> int:
    """Cycles of the multipliers of the busiest HWC, the layer being one tile."""
    target = Target(lanes, hardware=True)
    whole = {dim: layer.extents[dim] for dim in TILED}
    taps = prod(layer.extents[dim] for dim in REDUCTION_DIMS)
    return taps * min(busiest_iterations(layer, whole, spread, target) for spread in spreads_of(whole, hwcs))


def shapes_to_search(layers: Sequence[Layer], hardware: Hardware) -> list[Lanes]:
    """The shape of the hardware; if it is free, lanes along x and those of the least estimates."""
    if hardware.lanes is not None:
        return [hardware.lanes]
    hwcs = (hardware.cluster or Cluster()).hwcs
    others = [lanes for lanes in Lanes.shapes(LANES) if lanes != ALONG_ROWS]
    others.sort(key=lambda lanes: sum(estimated_cycles(layer, lanes, hwcs) for layer in layers))
    return [ALONG_ROWS, *others[: SEARCHED - 1]]


def search_lanes(
    shapes: Sequence[Lanes], hardware: Hardware, find: Callable[[Hardware], SharedCluster]
) -> SharedCluster:
    """The best of what ``find`` finds with each of the shapes; raises `InputError` if it finds nothing."""
    best, refusal, searched = None, InputError(f"{hardware.titled}: no shape of the lanes"), []
    for lanes in shapes:
        try:
            found = find(hardware.model_copy(update={"lanes": lanes}))
        except InputError as error:
            refusal = error
            continue
        searched.append((lanes, cost(found.results)))
        if best is None or cost(found.results) < cost(best.results):
            best = found
    if best is None:
        raise refusal
    return replace(best, shapes=tuple(searched))


# --- forms of layers ---


def in_best_cluster_form(
    layer: Layer, hardware: Hardware, search: Callable[[Layer], ClusterResult], *, laid_out: bool = False
) -> ClusterResult:
    """What a search for cycles finds for the form of the fewest; on free lanes for the layer as it is.

    ``laid_out`` : see `forms_of`.
    """
    if hardware.lanes is None:
        return search(layer)
    started = time.perf_counter()
    forms = forms_of(layer, hardware.lanes, laid_out=laid_out, window=hardware.column_window)
    found = in_best_form(forms, hardware.lanes, search, _cycles, (hardware.cluster or Cluster()).hwcs)
    return replace(found, seconds=time.perf_counter() - started)


def _cycles(found: ClusterResult) -> float:
    """The cycles that were judged; where none were, those of the multipliers without any stall."""
    layer, lanes = found.schedule.layer, found.schedule.lanes
    if found.judged is not None:
        return layer.macs / (found.lanes * found.judged)
    outputs = prod(layer.loop_extents[dim] for dim in (IMAGE, *OUTPUT_DIMS))
    vectors = prod(-(-layer.extents[dim] // lanes.along(dim)) for dim in REDUCTION_DIMS)
    parallel = found.lanes / lanes.product * prod(lanes.along(dim) for dim in OUTPUT_DIMS)
    return outputs * vectors / (parallel * found.utilisation)
