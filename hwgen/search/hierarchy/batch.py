"""The search on a hierarchy over many layers: side by side, layers that differ in names alone once."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.search.core.shared_out import shared_out
from hwgen.search.hierarchy.optimal import HierarchyResult, search_hierarchy

__all__ = ["HierarchyRequest", "search_on_hierarchy", "search_tasks"]


@dataclass(frozen=True)
class HierarchyRequest:
    """What is asked of every layer; see `hwgen.search.hierarchy.optimal.search_hierarchy`."""

    hierarchy: Hierarchy
    objective: str = "energy"
    fills: bool = False
    line: int = 0

    def search(self, layer: Layer) -> HierarchyResult:
        """Search one layer."""
        return search_hierarchy(layer, self.hierarchy, self.objective, fills=self.fills, line=self.line)


Task = tuple[Layer, HierarchyRequest]


def search_on_hierarchy(
    layers: Sequence[Layer],
    request: HierarchyRequest,
    *,
    jobs: int | None = None,
    progress: Callable[[Layer], None] | None = None,
) -> list[HierarchyResult]:
    """The best schedule of each layer on one hierarchy; see `search_tasks`.

    ``progress`` is called for each distinct layer when it is finished.
    """

    def arrived(index: int, _: HierarchyResult) -> None:
        if progress is not None:
            progress(layers[index])

    return search_tasks([(layer, request) for layer in layers], jobs=jobs, arrived=arrived)


def search_tasks(
    tasks: Sequence[Task],
    *,
    jobs: int | None = None,
    arrived: Callable[[int, HierarchyResult], None] = lambda index, result: None,
) -> list[HierarchyResult]:
    """The best schedule of each layer as it is asked for, one process for each processor, or ``jobs`` of them.

    This process searches if there is one, and for a second before it starts any. ``arrived`` is called for each
    distinct task, with its first index, when it is finished.
    """
    keys = [_key(*task) for task in tasks]
    distinct = {key: index for index, key in reversed(list(enumerate(keys)))}
    chosen = list(distinct.items())
    arguments = [(tasks[index],) for _, index in chosen]
    found: dict[str, HierarchyResult] = {}
    for number, result in shared_out(_search, arguments, [layer.macs for ((layer, _),) in arguments], jobs):
        key, index = chosen[number]
        found[key] = result
        arrived(index, result)
    return [_named(found[key], layer) for key, (layer, _) in zip(keys, tasks, strict=True)]


def _key(layer: Layer, request: HierarchyRequest) -> str:
    """All that a result depends on; names of layers are no part of it."""
    asked = [request.hierarchy.as_data(), request.objective, request.fills, request.line]
    return json.dumps([layer.shape_data, *asked], sort_keys=True)


def _search(task: Task) -> HierarchyResult:
    layer, request = task
    return request.search(layer)


def _named(result: HierarchyResult, layer: Layer) -> HierarchyResult:
    return replace(result, schedule=result.schedule.model_copy(update={"layer": layer}))
