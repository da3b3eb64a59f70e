"""A node of the vector unit beside the layer before it: while HWCs compute a tile, the unit has one that is there.

Its phases are put among those of the layer. Each tile of the layer has a slot for a tile of the node: loaded at the
end of one slot, computed and stored in the next one. What it reads of the layer's output it loads when the layer has
stored it. What finds no slot is left for a part of its own, after the layer.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.commands import Command, Queue
from hwgen.arch.dram import Dram
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.network.kinds import Node
from hwgen.lower.cluster.parts import Phase, with_tokens
from hwgen.lower.cluster.program import compile_cluster
from hwgen.lower.network.parts import LayerPart, VectorPart
from hwgen.lower.network.program import NetworkProgram
from hwgen.lower.vector.program import VectorPhases, VectorProgram, moves_in, vector_phases
from hwgen.lower.vector.tiles import aligned

__all__ = ["EarlyPhases", "beside"]

ROOM = 0.75
"""The part of what a layer leaves of the TCDM that the node beside it has; the next layer's weights have the rest."""


def beside(
    layer: LayerPart, part: VectorPart, node: Node, hardware: Hardware, top: int
) -> tuple[LayerPart, VectorPart]:
    """A layer, and the node of the vector unit after it, as much of it beside the layer as finds a slot.

    They are returned as they are if that takes longer, or if the node cannot be beside the layer: its maps stay in
    the TCDM, or it reads the layer's input, so that accesses could not be told apart.

    Parameters
    ----------
    hardware : the cluster.
    top : bytes from address 0 on that both may use of the TCDM.
    """
    timing = (hardware.cluster and hardware.cluster.dram) or Dram()
    source = layer.program.layout.inputs
    reads = [(one.base, one.base + one.elements) for one in part.inputs]
    overlaps = any(begin < source.base + source.size and source.base < end for begin, end in reads)
    if overlaps or any(one.resident for one in (*part.inputs, part.target)):
        return layer, part
    alone = NetworkProgram((layer, part), 0, 0).times(timing).total
    for strips in (
        len(layer.program.placement.O.stays),
        0,
    ):  # tiles like those of the layer, or as the node wants them
        one = _beside(layer, part, node, hardware, top, strips)
        if one is not None and NetworkProgram(one, 0, 0).times(timing).total < alone:
            return one
    return layer, part


def _beside(
    layer: LayerPart, part: VectorPart, node: Node, hardware: Hardware, top: int, strips: int
) -> tuple[LayerPart, VectorPart] | None:
    """Both, the node in strips, or as it wants to be; None if it has no room, or nothing of it is early."""
    before, cluster = layer.program, part.program.cluster
    weights, used = before.placement.W, before.placement.size
    apart = weights.start >= used  # they were loaded early, and may be anywhere above the rest
    gaps = [(used, weights.start), (weights.end, top)] if apart else [(used, top)]
    begin, end = max(gaps, key=lambda gap: gap[1] - gap[0])
    base = aligned(begin, cluster.vector_shape.word_bytes)
    room = (base, int((end - base) * ROOM))
    output = before.layout.output
    try:
        phases = vector_phases(
            node, part.inputs, part.target, cluster, room=room, constants=part.tables, strips=strips
        )
    except InputError:
        return None
    early = EarlyPhases(phases, (output.base, output.base + output.size))
    program = compile_cluster(
        before.schedule,
        hardware,
        layout=before.layout,
        requantisation=before.requantisation,
        residence=before.placement.residence,
        beside=early.among,
    )
    after = early.program()
    if not after.early:
        return None
    names = {id(command) for command in after.early}
    places = frozenset(at for at, command in enumerate(program.commands) if id(command) in names)
    return LayerPart(program, after, places), replace(part, program=after, room=room)


@dataclass
class _Slot:
    """What is put among the phases of a tile: after its HWCs have started, and at its end."""

    starts: list[Phase] = field(default_factory=list)
    ends: list[Phase] = field(default_factory=list)
    moves: list[Phase] = field(default_factory=list)


class EarlyPhases:
    """The phases of a node, those that the layer before has beside its own, and those that are left.

    Parameters
    ----------
    phases : of the node; they are changed.
    made : the layer's output in the DRAM: its first byte address and the one after the last.
    """

    def __init__(self, phases: VectorPhases, made: tuple[int, int]) -> None:
        self._phases, self._made = phases, made
        self._early: list[Phase] = []

    def among(self, groups: list[list[Phase]], starts: list[int]) -> list[list[Phase]]:
        """The groups of the layer with the early phases; ``starts`` : the group with which each tile begins."""
        slots = [_Slot() for _ in starts]
        self._early = list(self._placed(groups, starts, slots))
        found: list[list[Phase]] = []
        for at, group in enumerate(groups):
            tile = bisect_right(starts, at) - 1
            if tile > 0 and starts[tile] == at:
                found += _filled(slots[tile - 1])
            found.append(group)
            if tile >= 0 and starts[tile] == at and slots[tile].starts:
                found.append(slots[tile].starts)
        return [*found, *_filled(slots[-1])]

    def program(self) -> VectorProgram:
        """The node, after `among` and when the layer's program is compiled."""
        early = [id(phase) for phase in self._early]
        rest = [phase for phase in self._phases.phases if id(phase) not in early]
        for phase in rest:
            phase.after = [one for one in phase.after if id(one) not in early]
        with_tokens(rest)
        return VectorProgram(
            self._phases.cluster, _commands(rest), self._phases.constants, self._phases.jobs, _commands(self._early)
        )

    def _placed(self, groups: list[list[Phase]], starts: list[int], slots: list[_Slot]) -> Iterator[Phase]:
        """Put phases, in their order, into slots as long as there are any."""
        stored = self._stored(groups, starts)
        place: dict[int, int] = {}
        last = dict.fromkeys(Queue, -1)
        for phase in self._phases.phases:
            least = max((place[id(one)] for one in phase.after), default=0)
            loaded = any(one.queue is Queue.LOAD for one in phase.after)
            if phase.queue is Queue.LOAD:
                needed = stored.needed(phase)
                phase.after += [one for _, one in needed]
                slot = max([least, last[Queue.LOAD], *(at for at, _ in needed)])
            elif phase.queue is Queue.COMPUTE:
                slot = max(least + loaded, last[Queue.COMPUTE] + 1)
            else:
                slot = max(least + loaded, last[Queue.STORE])
            if slot >= len(slots):
                phase.after = [one for one in phase.after if id(one) in place]
                return
            place[id(phase)] = last[phase.queue] = slot
            if phase.queue is Queue.COMPUTE:
                yield from self._started(phase, slots[slot])
            else:
                slots[slot].moves.append(phase)
            yield phase

    @staticmethod
    def _started(phase: Phase, slot: _Slot) -> Iterator[Phase]:
        """The jobs of a tile as a phase of their own, so that ``phase`` is the wait for their end."""
        *jobs, wait = phase.commands
        begins = Phase(phase.queue, jobs, phase.after)
        phase.commands, phase.after = [wait], []
        slot.starts.append(begins)
        slot.ends.append(phase)
        yield begins

    def _stored(self, groups: list[list[Phase]], starts: list[int]) -> "_Stored":
        """The last store of each byte of the layer's output."""
        low, high = self._made
        found = _Stored(low, np.full(high - low, -1, np.int32), [])
        for at, group in enumerate(groups):
            for phase in (one for one in group if one.queue is Queue.STORE):
                for begin, end in _spans(phase, low, high):
                    found.last[begin:end] = len(found.stores)
                found.stores.append((max(bisect_right(starts, at) - 1, 0), phase))
        return found


@dataclass(frozen=True)
class _Stored:
    """The stores of the layer, each with its slot, and which of them writes a byte last."""

    low: int
    last: NDArray[np.int32]
    stores: list[tuple[int, Phase]]

    def needed(self, phase: Phase) -> list[tuple[int, Phase]]:
        """The last store of what a phase loads; stores end in their order."""
        spans = _spans(phase, self.low, self.low + len(self.last))
        number = max((int(self.last[begin:end].max()) for begin, end in spans), default=-1)
        return [] if number < 0 else [self.stores[number]]


def _spans(phase: Phase, low: int, high: int) -> Iterator[tuple[int, int]]:
    """Where what a phase moves begins and ends in the DRAM, from ``low`` on."""
    for move in moves_in(phase.commands, phase.queue):
        for begin, _ in move.runs():
            first, end = max(begin, low), min(begin + move.length, high)
            if first < end:
                yield first - low, end - low


def _filled(slot: _Slot) -> Iterator[list[Phase]]:
    """The groups at the end of a slot."""
    return (group for group in (slot.ends, slot.moves) if group)


def _commands(phases: Sequence[Phase]) -> tuple[Command, ...]:
    return tuple(command for phase in phases for command in phase.commands)
