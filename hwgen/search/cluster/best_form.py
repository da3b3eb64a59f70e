"""The form of a layer that takes the fewest cycles on a cluster: see `hwgen.search.layer_forms`."""

import time
from collections.abc import Callable
from dataclasses import replace
from math import prod

from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import IMAGE, OUTPUT_DIMS, REDUCTION_DIMS, Layer
from hwgen.search.cluster.optimal import ClusterResult
from hwgen.search.layer_forms import forms_of, in_best_form

__all__ = ["in_best_cluster_form"]


def in_best_cluster_form(
    layer: Layer, hardware: Hardware, search: Callable[[Layer], ClusterResult], *, laid_out: bool = False
) -> ClusterResult:
    """What a search for cycles finds for the form of the fewest; on free lanes for the layer as it is.

    ``laid_out`` : see `forms_of`.
    """
    if hardware.lanes is None:
        return search(layer)
    started = time.perf_counter()
    forms = forms_of(layer, hardware.lanes, laid_out=laid_out)
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
