"""Which layers of a set are scheduled, and what share of its multiply-accumulates is not."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field

from hwgen.ir.document import InputError, Value
from hwgen.ir.layer import Layer
from hwgen.ir.requantisation import ACTIVATIONS

if TYPE_CHECKING:
    from hwgen.ir.layer_set import Node

__all__ = ["Coverage", "Ignored", "LeftOut", "OtherActivation"]

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
class OtherActivation:
    """A layer whose activation no schedule has, and what its outputs get instead: ReLU, or nothing.

    ``none``: what reads the outputs has to apply the activation.
    """

    name: str
    activation: str
    runs_as: Literal["relu", "none"]

    @classmethod
    def of(cls, node: "Node") -> Self | None:
        """The activation of a row; None where the row's activation, or what the row says instead of it, runs as it
        is."""
        given = node.requantisation
        if node.activation in (None, "relu") or (given is not None and given.relu is not None):
            return None
        if node.activation == "relu6" and given is not None and given.ceiling is not None:
            return None
        runs_as: Literal["relu", "none"] = "relu" if node.activation in ACTIVATIONS else "none"
        return cls(name=node.name, activation=str(node.activation), runs_as=runs_as)


@dataclass(frozen=True)
class Coverage:
    """What becomes of each layer of a set.

    Members
    -------
    where : the set, in messages.
    layers : what schedules are made for.
    left_out : layers with multiply-accumulates that no schedule does.
    without_work : the other rows, without multiply-accumulates: how many of each operation.
    activations : layers, of those with schedules, whose activation runs as another one.
    """

    where: str
    layers: tuple[Layer, ...]
    left_out: tuple[LeftOut, ...] = ()
    without_work: Mapping[str, int] | None = None
    activations: tuple[OtherActivation, ...] = ()

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
        scheduled = [node for node in rows if node.operator.schedulable]
        layers = tuple(node.layer() for node in scheduled)
        return cls(where, layers, (*lost, *left_out), idle, _other_activations(scheduled))

    @classmethod
    def depth_first(cls, where: str, nodes: Iterable["Node"]) -> "Coverage":
        """What becomes of rows that pipelines run, without schedules: all run, some with another activation."""
        return cls(where, (), activations=_other_activations(nodes))

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
        return f"{share} of the multiply-accumulates: {_few([f'{one.name} ({one.reason})' for one in self.left_out])}"

    @property
    def idle(self) -> str:
        """The rows without work, for one line; empty if there is none."""
        return ", ".join(f"{count} {op}" for op, count in (self.without_work or {}).items())

    @property
    def other_activations(self) -> tuple[str, ...]:
        """A line for the activations that run as ReLU, and one for those that do not run at all; none of none."""
        meanings = {"relu": "that run as ReLU", "none": "that do not run, the outputs being linear"}
        lines = []
        for runs_as, meaning in meanings.items():
            names = [f"{one.name} ({one.activation})" for one in self.activations if one.runs_as == runs_as]
            if names:
                lines.append(f"activations {meaning}: {_few(names)}")
        return tuple(lines)

    def require(self, *, partial: bool, batches: bool = False) -> tuple[Layer, ...]:
        """The layers to schedule. `InputError` if work is lost, unless ``partial``, and if there is no layer.

        Also for a batch of several images, unless ``batches``: an HWC alone runs one image at a time.
        """
        if self.left_out and (not partial or not self.layers):
            rest = "--partial leaves it out" if self.layers else "that is all there is"
            raise InputError(f"{self.where}: no schedule for {self.lost}; {rest}")
        if not self.layers:
            raise InputError(f"{self.where}: expected a layer with multiply-accumulates, got {self.idle or 'none'}")
        for layer in self.layers:
            if layer.batch > 1 and not batches:
                where = f"{self.where}: {layer.name}: batch"
                raise InputError(f"{where}: expected 1: only a cluster runs several images, got {layer.batch}")
        return self.layers

    def as_json(self) -> dict[str, object]:
        """What is left out: the layers, their share of the multiply-accumulates, rows without any, activations."""
        share = self.share
        return {
            "share": None if share is None else round(share, 6),
            "macs": self.lost_macs,
            "layers": [one.model_dump() for one in self.left_out],
            "without_work": dict(self.without_work or {}),
            "activations": [asdict(one) for one in self.activations],
        }


def _other_activations(nodes: Iterable["Node"]) -> tuple[OtherActivation, ...]:
    others = (OtherActivation.of(node) for node in nodes)
    return tuple(one for one in others if one is not None)


def _few(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
