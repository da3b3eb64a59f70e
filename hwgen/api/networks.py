"""Networks: layers from code, from tables, from models; and which of them schedules are made for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeGuard

from hwgen.api.progress import note, remark
from hwgen.api.results import Answer
from hwgen.ir import document
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError, written
from hwgen.ir.layer import Layer
from hwgen.ir.layer_set import Network as LayerSet
from hwgen.ir.layer_set import Node, Totals
from hwgen.readers.layer_sets import load_layer_set

__all__ = ["Network", "NetworkLike", "covered", "is_model", "is_network", "load"]


@dataclass(frozen=True, repr=False, eq=False, init=False)
class Network(Answer):
    """The layers of a network: ``hwgen.Network([hwgen.Layer(...), ...])``, or what `load` returns.

    Members
    -------
    table : all rows, those that no schedule is made for included.
    name : what it is called.
    given : what it was loaded as, a file or a built-in name; the name of one from code.
    """

    table: LayerSet
    name: str
    given: str

    def __init__(self, layers: Layer | Iterable[Layer], *, name: str = "network") -> None:
        rows = [layer.model_dump(mode="json") for layer in _checked(layers)]
        if not rows:
            raise InputError(f"{name}: layers: expected a list of at least one layer")
        table = LayerSet.from_data({"format": 1, "kind": "layer_list", "network": name, "layers": rows}, name)
        self._set(table, name)

    @classmethod
    def of(cls, table: LayerSet, given: str) -> "Network":
        """The network of a table, which was given as a file or by a name."""
        made = cls.__new__(cls)
        made._set(table, given)
        return made

    def _set(self, table: LayerSet, given: str) -> None:
        for key, value in (("table", table), ("name", table.network), ("given", given)):
            object.__setattr__(self, key, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and self.table == other.table

    def __hash__(self) -> int:
        return hash((self.name, len(self.table.layers)))

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The rows that a schedule can be made for, in order; a fully connected one is a 1x1 convolution."""
        return self.table.coverage().layers

    @property
    def totals(self) -> Totals:
        """What the rows add up to."""
        return Totals.of(self.table.layers)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all rows."""
        return self.totals.macs

    def require_all_nodes(self) -> None:
        """Raise `InputError` if nodes of a model have no row."""
        if self.table.left_out:
            lost = replace(self.table.coverage(), left_out=self.table.left_out).lost
            raise InputError(f"{self.given}: no layer for {lost}; --partial leaves it out")

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen layers --json`` prints."""
        return {
            "network": self.name,
            "kind": self.table.kind,
            "layers": [_row(node) for node in self.table.layers],
            "totals": self.totals.model_dump(),
            "ignored": [one.model_dump() for one in self.table.ignored],
            "not_connected": self.table.not_connected,
            "left_out": self.table.coverage().as_json(),
        }

    def rows(self) -> list[dict[str, object]]:
        """One row a layer: its sizes, multiply-accumulates and weights."""
        return [
            {
                "layer": node.name,
                "op": node.op,
                "input": _shape(node.input_channels, node.input_height, node.input_width),
                "output": _shape(node.output_channels, node.output_height, node.output_width),
                "kernel": _shape(*node.kernel),
                "stride": _shape(*node.stride),
                "padding": ",".join(map(str, node.padding)),
                "groups": node.groups,
                "macs": node.macs,
                "weights": node.weights,
            }
            for node in self.table.layers
        ]

    def summary(self) -> str:
        """Its name, layers and work."""
        return f"Network {self.name}: {len(self.table.layers)} layers, {self.macs:,} MACs"


NetworkLike = str | PathLike[str] | Network | Layer | Iterable[Layer]
"""What calls take as a network: what `load` takes, or layers."""


def load(source: NetworkLike | Mapping[str, Any]) -> Network:
    """Load a network.

    Parameters
    ----------
    source : a layer table (YAML) or a model (ONNX, TFLite) by its file; a built-in set by its name, as ``hwgen sets``
        prints them; one of these with ``:PREFIX``, which takes the layers whose name starts so; the keys of a table
        as a mapping; or layers.
    """
    match source:
        case Network():
            return source
        case Layer():
            return Network([source], name=source.name)
        case str() | PathLike():
            name = fspath(source)
            return Network.of(load_layer_set(name), name)
        case Mapping():
            return Network.of(LayerSet.from_data({"format": 1, **source}), str(source.get("network", "network")))
        case Iterable():
            return Network(source)
    raise InputError(f"network: expected a file, a built-in name or layers, got {written(source)}")


def covered(network: NetworkLike, *, partial: bool, batches: bool = False) -> Coverage:
    """What becomes of the layers of a network.

    Raises `InputError` if work is lost, unless ``partial``: then its share is a remark, always; and for batches of
    several images, unless ``batches``.
    Rows without work are named in a note.
    """
    found = load(network)
    coverage = replace(found.table.coverage(), where=found.given)
    coverage.require(partial=partial, batches=batches)
    if coverage.left_out:
        remark(f"{coverage.where}: left out: {coverage.lost}")
    if coverage.idle:
        note(f"not scheduled: {coverage.idle} (no multiply-accumulates)")
    return coverage


def is_model(source: str | PathLike[str]) -> bool:
    """Whether it is the name of a file that is a model, not a table."""
    return document.is_model(Path(source))


def is_network(source: object) -> TypeGuard[Network | Layer | list[Layer]]:
    """Whether it is a network from code: one that was loaded, or layers."""
    if isinstance(source, list | tuple) and source:
        return all(isinstance(one, Layer) for one in source)
    return isinstance(source, Network | Layer)


def _checked(layers: Layer | Iterable[Layer]) -> list[Layer]:
    found = [layers] if isinstance(layers, Layer) or not isinstance(layers, Iterable) else list(layers)
    for one in found:
        if not isinstance(one, Layer):
            raise InputError(f"layers: expected hwgen.Layer, got {written(one)}")
    return found


def _row(node: Node) -> dict[str, object]:
    return {**node.model_dump(mode="json", exclude_unset=True), "macs": node.macs, "weights": node.weights}


def _shape(*sizes: int) -> str:
    return "x".join(map(str, sizes))
