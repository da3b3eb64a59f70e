"""The search on a hierarchy over many layers: side by side, layers that differ in names alone once."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context

from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.search.core.batch import Alone, follow_the_parent, processors
from hwgen.search.hierarchy.optimal import HierarchyResult, search_hierarchy

__all__ = ["HierarchyRequest", "search_on_hierarchy"]


@dataclass(frozen=True)
class HierarchyRequest:
    """What is asked of every layer; see `hwgen.search.hierarchy.optimal.search_hierarchy`."""

    hierarchy: Hierarchy
    objective: str = "energy"
    fills: bool = False

    def search(self, layer: Layer) -> HierarchyResult:
        """Search one layer."""
        return search_hierarchy(layer, self.hierarchy, self.objective, fills=self.fills)


def search_on_hierarchy(
    layers: Sequence[Layer],
    request: HierarchyRequest,
    *,
    jobs: int | None = None,
    progress: Callable[[Layer], None] | None = None,
) -> list[HierarchyResult]:
    """The best schedule of each layer, one process for each processor, or ``jobs`` of them.

    This process searches if there is one, and for a second before it starts any. ``progress`` is called for each
    distinct layer when it is finished.
    """
    keys = [json.dumps(layer.shape_data, sort_keys=True) for layer in layers]
    distinct = dict(zip(reversed(keys), reversed(layers), strict=True))
    waiting = sorted(distinct, key=lambda key: (distinct[key].macs, key), reverse=True)
    found: dict[str, HierarchyResult] = {}

    def finish(key: str, result: HierarchyResult) -> None:
        found[key] = result
        if progress is not None:
            progress(distinct[key])

    jobs, alone = min(jobs or processors(), len(waiting)), Alone()
    while waiting and (jobs == 1 or alone):
        key = waiting.pop()
        finish(key, request.search(distinct[key]))
    if waiting:
        pool = ProcessPoolExecutor(
            min(jobs, len(waiting)), mp_context=get_context("spawn"), initializer=follow_the_parent
        )
        done = False
        try:
            running: dict[Future[HierarchyResult], str] = {
                pool.submit(request.search, distinct[key]): key for key in waiting
            }
            for future in as_completed(running):
                finish(running[future], future.result())
            done = True
        finally:
            pool.shutdown(wait=done, cancel_futures=True)
    return [_named(found[key], layer) for key, layer in zip(keys, layers, strict=True)]


def _named(result: HierarchyResult, layer: Layer) -> HierarchyResult:
    return replace(result, schedule=result.schedule.model_copy(update={"layer": layer}))
