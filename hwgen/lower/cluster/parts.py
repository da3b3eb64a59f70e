"""Phases of a cluster's program, the tokens that make them wait, and the parts that the DMA moves for each tile."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from hwgen.arch.bus import SUM_BYTES
from hwgen.arch.commands import Command, Opcode, Queue, load, store
from hwgen.arch.descriptor import Descriptor, DescriptorError, OperandTag, Ring, RingSelect
from hwgen.arch.requantisation import record_bytes
from hwgen.arch.strided import Axis, StridedBlock
from hwgen.arch.weights import OrderedWeights, PackedWeights
from hwgen.ir.layer import DIMS
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.transfers import Side, descriptors_of, joined, planar_blocks
from hwgen.model.cluster.placement import Placed, Stay, TcdmPlacement
from hwgen.model.cluster.tile_order import TILE_DIMS, Spans
from hwgen.model.dram.counts import DramLayout, DramRegion

__all__ = ["Parts", "Phase", "interleaved", "with_tokens"]


Item = TypeVar("Item")
SETS_UP = (Opcode.CONFIGURE, Opcode.MULTICAST)


@dataclass(eq=False)
class Phase:
    """Consecutive commands of one queue, and the phases of other queues that must have ended before.

    The first command that is not there to set up the HWCs waits, so that they are set up meanwhile.
    """

    queue: Queue
    commands: list[Command]
    after: "list[Phase]" = field(default_factory=list)


def with_tokens(phases: Sequence[Phase]) -> None:
    """Add the tokens that enforce ``after`` to the commands.

    ``phases`` are in program order; each is after those that it waits for. A queue works in order, so waiting for the
    last of another queue's phases is enough, and nothing is needed if that phase was waited for before.
    """
    numbers = {id(phase): number for number, phase in enumerate(phases)}
    known: dict[tuple[Queue, Queue], int] = {}
    for number, phase in enumerate(phases):
        for queue in {before.queue for before in phase.after} - {phase.queue}:
            last = max(numbers[id(before)] for before in phase.after if before.queue is queue)
            if last >= number:
                raise ValueError("a phase waits for one that comes later")
            if last <= known.get((queue, phase.queue), -1):
                continue
            known[queue, phase.queue] = last
            _take(phase, queue)
            _post(phases[last], phase.queue)


def _take(phase: Phase, queue: Queue) -> None:
    at = next(i for i, command in enumerate(phase.commands) if command.opcode not in SETS_UP)
    phase.commands[at] = replace(phase.commands[at], takes=phase.commands[at].takes | {queue})


def _post(phase: Phase, queue: Queue) -> None:
    phase.commands[-1] = replace(phase.commands[-1], posts=phase.commands[-1].posts | {queue})


def interleaved(sequences: Iterable[Sequence[Item]]) -> Iterator[Item]:
    """Interleave several sequences, of commands or of phases, as evenly as possible, each in its own order."""
    keyed = [
        ((i + 0.5) / len(sequence), number, i, item)
        for number, sequence in enumerate(sequences)
        for i, item in enumerate(sequence)
    ]
    for *_, item in sorted(keyed, key=lambda entry: entry[:3]):
        yield item


# --- parts ---

M, C, Y, X, K, L, _ = range(len(TILE_DIMS))


class Parts:
    """Loads and stores.

    Parameters
    ----------
    window
        Bytes; no burst crosses a multiple of it.

    Members
    -------
    loads : phases that load for a tile: weights, inputs, biases, in this order, by tile and operand.
    resumes : the phase that loads the partial sums that a tile resumes.
    stores : the phase that stores outputs or partial sums after a tile.
    ahead : the loads of the first tile of weights, where they come before the layer begins.
    """

    def __init__(self, schedule: Schedule, placement: TcdmPlacement, layout: DramLayout, window: int) -> None:
        self._window, self._word, self._bits = window, schedule.ports.map_bytes, schedule.bits
        self._layer, self._placement, self._layout = schedule.layer, placement, layout
        self._record = record_bytes(schedule.requantisation)
        marked = schedule.marked_loop("W", TCDM)
        assert marked is not None
        self._packed = PackedWeights(schedule, marked + 1)
        self._ordered = OrderedWeights(schedule, marked + 1) if layout.ordered else None
        self.loads: dict[int, dict[str, Phase]] = {}
        self.resumes: dict[int, Phase] = {}
        self.stores: dict[int, Phase] = {}
        first, *others = placement.W.stays
        self.ahead: list[Command] = []
        if placement.residence.ahead:
            self.ahead = self._loads_ahead(first)
        else:
            self._add(first.first, "W", self._weights(first))
        for stay in others:
            self._add(stay.first, "W", self._weights(stay))
        unmoved = placement.residence.unmoved
        for stay in placement.I.stays if "I" not in unmoved else ():
            if stay.new:
                self._add(stay.first, "I", self._inputs(stay))
        self._add(0, "B", self._biases())
        extents = [self._layer.extents[dim] for dim in DIMS]
        for stay in placement.O.stays if "O" not in unmoved else ():
            if stay.new:
                self.resumes[stay.first] = self._loading(self._partial_sums(stay))
            final = all(stay.ranges[dim][1] == extents[dim] for dim in (C, K, L))
            moved = self._outputs(stay) if final else self._partial_sums(stay)
            self.stores[stay.last] = Phase(Queue.STORE, [store(one.encode()) for one in moved])

    def _add(self, tile: int, operand: str, descriptors: list[Descriptor]) -> None:
        self.loads.setdefault(tile, {})[operand] = self._loading(descriptors)

    def _loading(self, descriptors: Sequence[Descriptor]) -> Phase:
        return Phase(Queue.LOAD, [load(descriptor.encode()) for descriptor in joined(descriptors, self._window)])

    def _weights(self, stay: Stay) -> list[Descriptor]:
        (m, m_end), (c, c_end), (k, k_end), (l, l_end) = (stay.ranges[dim] for dim in (M, C, K, L))  # noqa: E741
        layer, base, sizes = self._layer, self._layout.weights.base, (m_end - m, c_end - c, k_end - k, l_end - l)
        if self._ordered:
            offset, size = self._ordered.place((m, c, k, l), sizes)
            side = _side(OperandTag.W, RingSelect.W, self._placement.W, base + offset, stay.low)
            return _contiguous(size, side)
        rows, columns = layer.weight_kernel
        first = ((m * layer.channels_per_group + c) * rows + k) * columns + l
        side = _side(OperandTag.W, RingSelect.W, self._placement.W, base + self._bits.bytes_of("W", first), stay.low)
        return descriptors_of(self._packed.blocks(sizes), side)

    def _loads_ahead(self, stay: Stay) -> list[Command]:
        """The loads of a tile of weights, in the order of the nest, while the rings are those of another layer."""
        if self._ordered is None:
            raise DescriptorError("W: expected weights in the order of the nest, to load them before the layer")
        spans = [stay.ranges[dim] for dim in (M, C, K, L)]
        offset, size = self._ordered.place(
            tuple(begin for begin, _ in spans), tuple(end - begin for begin, end in spans)
        )
        ring = self._placement.W
        side = Side(OperandTag.W, RingSelect.FIXED, None, self._layout.weights.base + offset, ring.physical(stay.low))
        return [load(one.encode()) for one in joined(_contiguous(size, side), self._window)]

    def _inputs(self, stay: Stay) -> list[Descriptor]:
        layer, ring = self._layer, self._placement.I
        row = ring.element * layer.input_width
        axes = (*stay.new[:2], _bytes(stay.new[2], ring.element))
        blocks = planar_blocks(axes, (row * self._layout.input_rows, row, 1), (ring.plane, ring.pitch, 1))
        return descriptors_of(blocks, _side(OperandTag.I, RingSelect.I, ring, self._layout.inputs.base, stay.origin))

    def _biases(self) -> list[Descriptor]:
        size = self._record * self._layer.output_channels
        return _contiguous(size, _side(OperandTag.B, RingSelect.FIXED, None, self._layout.bias.base, 0))

    def _partial_sums(self, stay: Stay) -> list[Descriptor]:
        return self._of_output(OperandTag.O_PARTIAL, self._layout.partial, SUM_BYTES, stay, stay.origin)

    def _outputs(self, stay: Stay) -> list[Descriptor]:
        """Final outputs are in the rows of their partial sums, if there were any, from the first word on."""
        size = self._bits.O // 8
        first = size * stay.ranges[X][0] // self._word * self._word
        origin = stay.low - stay.ranges[Y][0] * self._placement.O.pitch - first
        return self._of_output(OperandTag.O, self._layout.output, size, stay, origin)

    def _of_output(
        self, tag: OperandTag, region: DramRegion, element: int, stay: Stay, origin: int
    ) -> list[Descriptor]:
        channels, rows, columns = stay.touch
        axes = (channels, rows, _bytes(columns, element))
        layer, ring = self._layer, self._placement.O
        row = element * layer.output_width
        blocks = planar_blocks(axes, (row * self._layout.output_rows, row, 1), (ring.plane, ring.pitch, 1))
        return descriptors_of(blocks, _side(tag, RingSelect.O, ring, region.base, origin))


def _bytes(columns: Spans, element: int) -> Spans:
    """The bytes of some columns of a row."""
    return tuple((element * first, element * end) for first, end in columns)


def _contiguous(size: int, side: Side) -> list[Descriptor]:
    """A number of bytes in a row, in the DRAM and in the TCDM."""
    return descriptors_of([StridedBlock(0, 0, (Axis(size, 1, 1),))], side)


def _side(tag: OperandTag, select: RingSelect, ring: Placed | None, dram: int, tcdm: int) -> Side:
    return Side(tag, select, None if ring is None else Ring(ring.end, ring.size), dram, tcdm)
