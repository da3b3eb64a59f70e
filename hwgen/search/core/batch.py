"""The search over many layers: side by side, equal layers once; an interrupt loses no finished layer."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hwgen.ir.document import InputError, sealed, write_atomically
from hwgen.ir.hardware import Hardware, Order
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits, Marker, Schedule, item_data
from hwgen.search.core.optimal import Balance, Result, result_of, search
from hwgen.search.core.shared_out import shared_out
from hwgen.search.least_need import require_room
from hwgen.tools.kept import sealed_document

__all__ = ["ENGINE", "Request", "search_layers"]

ENGINE = 2
"""Number of the search engine; results that another number stored are not used again."""


@dataclass(frozen=True)
class Request:
    """What is asked of every layer; see `hwgen.search.core.optimal.search`."""

    buffer_bytes: tuple[int, ...]
    hardware: Hardware | None = None
    objective: str = "traffic"
    order: Order | None = None
    bits: Bits | None = None

    def search(self, layer: Layer) -> list[Result]:
        """Search one layer."""
        return search(layer, self.buffer_bytes, self.hardware, self.objective, self.order, bits=self.bits)

    def key(self, layer: Layer) -> dict[str, Any]:
        """Everything that the results depend on, as plain data; names are not part of it."""
        order = self.order and [item_data(item) if isinstance(item, Marker) else item for item in self.order]
        return {
            "engine": ENGINE,
            "layer": layer.shape_data,
            "buffer_bytes": list(self.buffer_bytes),
            "hardware": None if self.hardware is None else {**self.hardware.as_data(), "name": None},
            "objective": self.objective,
            "order": order,
            "bits": None if self.bits is None else self.bits.model_dump(),
        }


def search_layers(
    layers: Sequence[Layer],
    request: Request,
    *,
    jobs: int | None = None,
    store: Path | None = None,
    progress: Callable[[Layer], None] | None = None,
) -> list[list[Result]]:
    """The best schedule of each layer for each buffer size.

    Parameters
    ----------
    layers
        The layers; those that differ in nothing but their names are searched once.
    request
        What is asked of each.
    jobs
        Processes that search side by side; as many as there are processors if left out. This process searches if it
        is 1, and for a second before it starts any.
    store
        A folder that keeps the results of each finished layer in a file of its own: a later call with the same
        request takes them from there. The files do not depend on the number of jobs or on time.
    progress
        Called for each layer when it is finished.
    """
    if request.hardware is not None:
        require_room(layers, request.hardware.model_copy(update={"budget": min(request.buffer_bytes)}), request.bits)
    keys = [json.dumps(request.key(layer), sort_keys=True) for layer in layers]
    distinct = dict(zip(reversed(keys), reversed(layers), strict=True))
    named: dict[str, list[Layer]] = {key: [] for key in keys}
    for key, layer in zip(keys, layers, strict=True):
        named[key].append(layer)
    found: dict[str, list[Result]] = {}

    def finish(key: str, results: list[Result], *, new: bool) -> None:
        if new and store is not None:
            write_atomically(_file(store, key), _text(key, results))
        found[key] = results
        for layer in named[key] if progress else ():
            progress(layer)  # type: ignore[misc]

    open_keys = []
    for key in named:
        kept = None if store is None else _kept(store, key, distinct[key])
        if kept is None:
            open_keys.append(key)
        else:
            finish(key, kept, new=False)
    tasks = [(distinct[key],) for key in open_keys]
    for number, results in shared_out(request.search, tasks, [layer.macs for (layer,) in tasks], jobs):
        finish(open_keys[number], results, new=True)
    return [
        [replace(result, schedule=_renamed(result.schedule, layer)) for result in found[key]]
        for key, layer in zip(keys, layers, strict=True)
    ]


def _renamed(schedule: Schedule, layer: Layer) -> Schedule:
    return schedule if schedule.layer == layer else schedule.of_layer(layer)


# --- files ---


def _file(store: Path, key: str) -> Path:
    return store / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def _text(key: str, results: list[Result]) -> str:
    rows = [
        {
            "buffer_bytes": result.buffer_bytes,
            "schedule": result.schedule.as_data(),
            "covered": result.covered,
            "pruned": result.pruned,
            **({} if result.balance is None else {"balance": result.balance.as_data()}),
        }
        for result in results
    ]
    document = {"format": 1, "kind": "search results", "request": json.loads(key), "results": rows}
    return sealed(document)


def _kept(store: Path, key: str, layer: Layer) -> list[Result] | None:
    """Stored results; None if there are none, or none that can be used."""
    try:
        document = sealed_document(_file(store, key))
        if document is None or document["request"] != json.loads(key):
            return None
        return [
            replace(
                result_of(
                    _renamed(Schedule.from_data(row["schedule"]), layer),
                    row["buffer_bytes"],
                    hardware=document["request"]["hardware"] is not None,
                    covered=row["covered"],
                    pruned=row["pruned"],
                ),
                balance=Balance.from_data(row["balance"]) if "balance" in row else None,
            )
            for row in document["results"]
        ]
    except (ValueError, KeyError, TypeError, InputError):
        return None
