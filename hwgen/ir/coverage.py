"""Which layers of a set are scheduled, and what share of its multiply-accumulates is not."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from hwgen.ir.document import InputError, Value
from hwgen.ir.layer import Layer

if TYPE_CHECKING:
    from hwgen.ir.network import Node

__all__ = ["Coverage", "Ignored", "LeftOut"]

NAMED = 4
"""Layers that a line names, at most; the rest are a number."""


class LeftOut(Value):
    """A layer with work that no schedule does, and why. ``macs``: its multiply-accumulates; None if not known."""

    called = "layer that is left out"

    name: str
    op: str
    reason: str
    macs: Annotated[int, Field(strict=True, ge=0)] | None = None


class Ignored(Value):
    """Operators of a model that carry no work: how many, and why they carry none."""

    called = "count of ignored operators"

    op: str
    count: Annotated[int, Field(strict=True, ge=1)]
    why: str


@dataclass(frozen=True)
class Coverage:
    """What becomes of each layer of a set.

    Members
    -------
    where : the set, in messages.
    layers : what schedules are made for.
    left_out : layers with multiply-accumulates that no schedule does.
    without_work : the other rows, without multiply-accumulates: how many of each operation.
    """

    where: str
    layers: tuple[Layer, ...]
    left_out: tuple[LeftOut, ...] = ()
    without_work: Mapping[str, int] | None = None

    @classmethod
    def of(cls, where: str, nodes: Iterable["Node"], left_out: Iterable[LeftOut] = ()) -> "Coverage":
        """What becomes of the rows of a table, and of layers that have no row."""
        rows = tuple(nodes)
        lost = [
            LeftOut(name=node.name, op=node.op, reason=f"no schedule is made for {node.op}", macs=node.macs)
            for node in rows
            if not node.operator.schedulable and node.operator.weighted
        ]
        idle = Counter(node.op for node in rows if not node.operator.weighted)
        layers = tuple(node.layer() for node in rows if node.operator.schedulable)
        return cls(where, layers, (*lost, *left_out), idle)

    @property
    def lost_macs(self) -> int | None:
        """Multiply-accumulates of what is left out; None if those of a layer are not known."""
        known = [one.macs for one in self.left_out if one.macs is not None]
        return sum(known) if len(known) == len(self.left_out) else None

    @property
    def share(self) -> float | None:
        """The part of the set's multiply-accumulates that is left out; None if it is not known."""
        lost = self.lost_macs
        if lost is None:
            return None
        return lost / (lost + sum(layer.macs for layer in self.layers)) if lost else 0.0

    @property
    def lost(self) -> str:
        """What is left out and its share, for one line."""
        share = "an unknown share" if self.share is None else f"{100 * self.share:.3g} %"
        names = [f"{one.name} ({one.reason})" for one in self.left_out[:NAMED]]
        more = len(self.left_out) - NAMED
        return f"{share} of the multiply-accumulates: {', '.join(names)}{f' and {more} more' if more > 0 else ''}"

    @property
    def idle(self) -> str:
        """The rows without work, for one line; empty if there is none."""
        return ", ".join(f"{count} {op}" for op, count in (self.without_work or {}).items())

    def require(self, *, partial: bool) -> tuple[Layer, ...]:
        """The layers to schedule. `InputError` if work is lost, unless ``partial``, and if there is no layer."""
        if self.left_out and (not partial or not self.layers):
            rest = "--partial leaves it out" if self.layers else "that is all there is"
            raise InputError(f"{self.where}: no schedule for {self.lost}; {rest}")
        if not self.layers:
            raise InputError(f"{self.where}: expected a layer with multiply-accumulates, got {self.idle or 'none'}")
        return self.layers

    def as_json(self) -> dict[str, object]:
        """What is left out: the layers, and their share of the multiply-accumulates."""
        share = self.share
        return {
            "share": None if share is None else round(share, 6),
            "macs": self.lost_macs,
            "layers": [one.model_dump() for one in self.left_out],
        }
