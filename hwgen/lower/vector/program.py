"""Commands for a node of an integer graph: loads, jobs of the vector unit, stores, and their tokens.

While a tile is computed, the next one is loaded and the one before is stored: tiles take turns in two halves of the
room that they are given in the TCDM. What is copied and nothing else passes the unit by: the DMA moves it, while the
unit works on other operands of the same node.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import Command, Opcode, Queue, end, join, load, start, store
from hwgen.arch.descriptor import Descriptor, OperandTag, RingSelect
from hwgen.arch.dram import Dram, DramPort
from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.registers.vector import job_values, vector_registers
from hwgen.arch.strided import Axis, StridedBlock
from hwgen.arch.vector.job import VectorJob
from hwgen.arch.vector.shape import VectorShape
from hwgen.ir.counts import Access, Counts, Direction, Key, Operand
from hwgen.ir.document import InputError
from hwgen.ir.network.kinds import Node
from hwgen.ir.requantisation import TABLE_ENTRIES
from hwgen.lower.cluster.configuration import Configuration
from hwgen.lower.cluster.parts import Phase, interleaved, with_tokens
from hwgen.lower.cluster.slice_waits import PLAYED_WORDS, UnitBeside, UnitWords
from hwgen.lower.cluster.transfers import Side, descriptors_of
from hwgen.lower.vector.maps import FeatureMap, Part
from hwgen.lower.vector.tasks import Task, tasks_of
from hwgen.lower.vector.tiles import (
    Place,
    Tile,
    aligned,
    jobs_of,
    place_of,
    source_bytes,
    source_pitch,
    target_bytes,
    tiles_of,
)
from hwgen.model.dma.cycles import transfer_accesses, transfer_words
from hwgen.model.dram.streams import Streams
from hwgen.model.system.cycles import PlayedProgram, play_together
from hwgen.model.system.times import ClusterTimes
from hwgen.model.vector.cycles import VectorAccess, vector_access, vector_cycles, vector_waits

__all__ = ["MOVED", "VectorPhases", "VectorProgram", "compile_vector", "moves_in", "vector_phases"]

Ints = NDArray[np.int64]
PARTS = 2
"""Parts of the room: tiles take turns."""
MOVED: Mapping[Queue, Mapping[OperandTag, tuple[Operand, Direction]]] = {
    Queue.LOAD: {OperandTag.I: ("I", "read"), OperandTag.B: ("B", "read")},
    Queue.STORE: {OperandTag.O: ("O", "write")},
}
"""What the DMA moves, by its tag."""
BESIDE = 4
"""The part of the room that copies have, which are moved while the unit works: one in so many."""


@dataclass(frozen=True)
class VectorProgram:
    """Commands that compute one node, without END.

    At its begin all token counters are zero and all units rest; at its end they are and do, when the stores that it
    began have ended.

    Members
    -------
    cluster : what they are for.
    commands : loads, jobs and stores.
    constants : tables, which are to be in the DRAM at the address that was given.
    jobs : what each START begins, in program order.
    early : those of its commands that the layer before makes beside its own (`hwgen.lower.network.beside`); they
        come before ``commands``.
    """

    cluster: ClusterParameters
    commands: tuple[Command, ...]
    constants: bytes
    jobs: tuple[VectorJob, ...]
    early: tuple[Command, ...] = ()

    @cached_property
    def access(self) -> VectorAccess:
        """What the unit's ports read and write in the TCDM."""
        return sum((vector_access(job, self.cluster.vector_shape) for job in self.jobs), VectorAccess())

    @property
    def works(self) -> list[int]:
        """Cycles of the job that each START of ``commands`` begins, in program order."""
        return self._works[self._early_jobs :]

    @property
    def early_work(self) -> UnitBeside:
        """The same of ``early``, and what these jobs read and write."""
        jobs, shape = self.jobs[: self._early_jobs], self.cluster.vector_shape
        found = [vector_access(job, shape) for job in jobs]
        numbers = sum(one.inputs.words for one in found), sum(one.output.words for one in found)
        places = ([_reads(job, shape) for job in jobs], [_writes(job, shape) for job in jobs])
        words = [
            UnitWords(shape.word_bytes // WORD_BYTES, number, np.concatenate([[0], *each])[1 : 1 + PLAYED_WORDS])
            for number, each in zip(numbers, places, strict=True)
        ]
        return UnitBeside(self._works[: self._early_jobs], words)

    @property
    def _early_jobs(self) -> int:
        return sum(command.opcode is Opcode.START for command in self.early)

    @cached_property
    def _works(self) -> list[int]:
        """Cycles of each job; see `_waits`."""
        alone = [vector_cycles(job, self.cluster.vector_shape) for job in self.jobs]
        if not self.cluster.vector_shape.wide or len(alone) < 2:
            return alone
        return [cycles + waits for cycles, waits in zip(alone, self._waits(sum(alone)), strict=True)]

    def _waits(self, cycles: int) -> list[int]:
        """Cycles that each job waits, as is expected, for banks of the TCDM that the DMA uses for another tile.

        A transfer of the DMA, which goes first, is in any of the banks with the same probability. A unit that takes
        one element in a cycle reads a fourth as often, and is left out. ``cycles``: of all jobs without any wait.
        """
        shape, width = self.cluster.vector_shape, self.cluster.axi_bits // 8
        commands = (*self.early, *self.commands)
        moved = [sum(transfer_words(moves_in(commands, queue)).values()) for queue in (Queue.LOAD, Queue.STORE)]
        beside = (len(self.jobs) - 1) / len(self.jobs)
        busy = sum(min(1.0, beside * WORD_BYTES * words / width / cycles) for words in moved)
        chance = busy * max(width, shape.word_bytes) / WORD_BYTES / self.cluster.tcdm_banks
        return [round(vector_waits(job, shape, chance)) for job in self.jobs]

    def counts(self, port: DramPort, streams: Streams | None = None) -> Counts:
        """Accesses at the DRAM, at the unit's ports, and at those of the DMA: maps as I and O, tables as B.

        At the DRAM without those of early commands, which are in order with those of the layer before.
        ``streams`` : what the DMA has moved before; continued.
        """
        access, streams = self.access, streams or Streams(port)
        found: dict[Key, Access] = {
            ("tcdm", "I", "read"): access.inputs,
            ("tcdm", "B", "read"): access.table,
            ("tcdm", "O", "write"): access.output,
        }
        for queue, stream in ((Queue.LOAD, streams.loads), (Queue.STORE, streams.stores)):
            moved, words = transfer_accesses(moves_in(self.commands, queue), port, stream), self._words(queue)
            for tag, (operand, direction) in MOVED[queue].items():
                access_of, (size, number) = moved.get(tag, Access()), words.get(tag, (0, 0))
                found["dram", operand, direction] = access_of
                found["tcdm_dma", operand, direction] = Access(size, size, number)
        return Counts({key: access for key, access in found.items() if access != Access()})

    def _words(self, queue: Queue) -> dict[OperandTag, tuple[int, int]]:
        """Bytes and words that the DMA moves at the TCDM, early ones too, by what they are."""
        moves = list(moves_in((*self.early, *self.commands), queue))
        words, sizes = transfer_words(moves), Counter[OperandTag]()
        for move in moves:
            sizes[move.tag] += move.bytes
        return {tag: (sizes[tag], number) for tag, number in words.items()}

    def times(self, timing: Dram | None = None, address: int = 0) -> ClusterTimes:
        """Cycles of the commands as a program of their own, which is at this address in the DRAM."""
        commands = [*self.commands, end()]
        program = PlayedProgram(commands, self.works, address, sum(one.length for one in commands))
        return play_together([program], self.cluster, timing or Dram())[0]


def _reads(job: VectorJob, shape: VectorShape) -> Ints:
    """Words of the memory that a job reads, about in their order: those of operands side by side."""
    operands = np.array([job.input, job.second] if job.mode == "add" else [job.input]) // WORD_BYTES
    number = vector_access(job, shape).inputs.words // len(operands)
    return (operands + shape.word_bytes // WORD_BYTES * np.arange(number)[:, None]).ravel()


def _writes(job: VectorJob, shape: VectorShape) -> Ints:
    """Words of the memory that a job writes, about in their order."""
    number = vector_access(job, shape).output.words
    return job.output // WORD_BYTES + shape.word_bytes // WORD_BYTES * np.arange(number)


def moves_in(commands: Iterable[Command], queue: Queue) -> Iterator[Descriptor]:
    """The transfers of one queue."""
    for command in commands:
        if command.queue is queue and command.opcode is Opcode.MOVE:
            yield _descriptor(command.payload)


_descriptor = lru_cache(maxsize=1 << 14)(Descriptor.decode)


@dataclass(frozen=True)
class VectorPhases:
    """What a program of the vector unit consists of, before it has its tokens."""

    cluster: ClusterParameters
    phases: tuple[Phase, ...]
    constants: bytes
    jobs: tuple[VectorJob, ...]

    def program(self) -> VectorProgram:
        """All of it as a program of its own."""
        with_tokens(self.phases)
        commands = (command for phase in self.phases for command in phase.commands)
        return VectorProgram(self.cluster, tuple(commands), self.constants, self.jobs)


def compile_vector(
    node: Node,
    inputs: Sequence[FeatureMap],
    output: FeatureMap,
    cluster: ClusterParameters,
    *,
    room: tuple[int, int],
    constants: int = 0,
) -> VectorProgram:
    """The commands that compute a node on the vector unit of a cluster; see `vector_phases`."""
    return vector_phases(node, inputs, output, cluster, room=room, constants=constants).program()


def vector_phases(
    node: Node,
    inputs: Sequence[FeatureMap],
    output: FeatureMap,
    cluster: ClusterParameters,
    *,
    room: tuple[int, int],
    constants: int = 0,
    strips: int = 0,
) -> VectorPhases:
    """The phases of a node on the vector unit of a cluster.

    Raises `InputError` with the reason for a node that it does not compute, or too little room.

    Parameters
    ----------
    node : sum, pool, table or concatenation.
    inputs, output : where its operands are, in the node's order, and where the output is to be.
    cluster : the hardware; with a vector unit.
    room : of the TCDM, first byte address and bytes: for tables and for tiles of maps that are in the DRAM.
    constants : DRAM byte address of the tables.
    strips : tiles are strips of rows of all channels, this number of them or more; 0: what fits of channels.
    """
    if not cluster.vector:
        raise InputError(f"{node.name}: the cluster has no vector unit")
    try:
        tasks, tables = tasks_of(node, inputs, output, flat=not strips)
        return _Writer(node.name, cluster, room, constants, tables, strips).phases(tasks)
    except ParameterError as error:
        raise InputError(f"{node.name}: {error}") from None


class _Writer:
    """The phases of a program."""

    def __init__(
        self,
        where: str,
        cluster: ClusterParameters,
        room: tuple[int, int],
        constants: int,
        tables: bytes,
        strips: int,
    ) -> None:
        self._strips = strips
        self._where, self._cluster, self._tables, self._constants = where, cluster, tables, constants
        self._bank = vector_registers(cluster.dma.tcdm_address_bits, cluster.vector_shape)
        self._configuration = Configuration(self._bank.held)
        self._shape = cluster.vector_shape
        self._word = self._shape.word_bytes
        self._base = aligned(room[0], self._word)
        self._size = sum(room) - self._base
        self._jobs: list[VectorJob] = []
        self._unread: list[int] = []
        """Address of the table that is for all channels of a task, until a job reads it."""

    def phases(self, tasks: Sequence[Task]) -> VectorPhases:
        """All tasks, one after the other; those that the DMA does alone beside those of the unit."""
        together = len(self._tables) if all(len(task.tables) <= 1 for task in tasks) else 0
        tables = self._base
        self._base, self._size = self._base + together, self._size - together
        if self._size < 0:
            raise InputError(f"{self._where}: the room in the TCDM is less than {together} bytes of tables")
        begin = []
        if together:
            begin.append(Phase(Queue.LOAD, self._table_loads(range(together // TABLE_ENTRIES), tables)))
        phases = [*begin, *self._beside(tasks, begin, tables)]
        return VectorPhases(self._cluster, tuple(phases), self._tables, tuple(self._jobs))

    def _beside(self, tasks: Sequence[Task], begin: list[Phase], tables: int) -> list[Phase]:
        """The phases of all tasks after these: of copies beside the others, where there is room for both; copies in
        strips take turns."""
        share = self._size // len(tasks) // self._word * self._word
        if self._strips and all(map(_passes, tasks)) and self._fits(tasks, share):
            rooms = [(self._base + number * share, share) for number in range(len(tasks))]
            return list(
                interleaved(
                    [self._tasks([task], begin, tables, room) for task, room in zip(tasks, rooms, strict=True)]
                )
            )
        copies = [task for task in tasks if _passes(task)]
        others = [task for task in tasks if not _passes(task)]
        least = self._size // BESIDE // self._word * self._word
        if not copies or not others or not self._fits(copies, least) or not self._fits(others, self._size - least):
            return self._tasks(tasks, begin, tables, (self._base, self._size))
        moved = self._tasks(copies, begin, tables, (self._base, least))
        made = self._tasks(others, begin, tables, (self._base + least, self._size - least))
        return list(interleaved([made, moved]))

    def _fits(self, tasks: Sequence[Task], size: int) -> bool:
        """Whether two tiles of each task have room."""
        try:
            return all(tiles_of(task, size, self._shape, self._where, self._strips) for task in tasks)
        except InputError:
            return False

    def _tasks(self, tasks: Sequence[Task], begin: list[Phase], tables: int, room: tuple[int, int]) -> list[Phase]:
        """The phases of some tasks, one after the other, after these."""
        phases = list(begin)
        for task in tasks:
            self._unread = [tables + TABLE_ENTRIES * task.tables[0]] if len(task.tables) == 1 else []
            self._task(task, phases, room)
        return phases[len(begin) :]

    def _task(self, task: Task, phases: list[Phase], room: tuple[int, int]) -> None:
        """Add the tiles of a task. The load of a tile comes before the work on the tile before it."""
        tiles = tiles_of(task, room[1], self._shape, self._where, self._strips)
        parts = 1 if len(tiles) == 1 else PARTS
        size = room[1] // parts // self._word * self._word
        outputs = max(target_bytes(task, tile, self._shape) for tile in tiles)
        done = list({phase.queue: phase for phase in phases}.values())
        before = [_Phases(after=done) for _ in range(parts)]
        held: list[Phase] = []
        for number, tile in enumerate(tiles):
            base = room[0] + number % parts * size
            one = self._tile(task, tile, base, base + outputs, before[number % parts])
            phases += [*([one.load] if one.load else []), *held]
            held = [phase for phase in (one.compute, one.store) if phase]
            before[number % parts] = one
        phases += held

    def _tile(self, task: Task, tile: Tile, target_at: int, at: int, before: "_Phases") -> "_Phases":
        """The phases of a tile, its output at an address, its sources at another one."""
        outer = task.target.resident
        moved_only = _passes(task)
        target = (
            place_of(task.target, tile.target) if outer else _placed(tile.target, target_at, tile.target.extents[2])
        )
        loads, sources = [], []
        for source, part in zip(task.sources, tile.sources, strict=True):
            if source.resident:
                sources.append(place_of(source, part))
                continue
            place = target if moved_only else _placed(part, at, source_pitch(task, part.extents[2], self._shape))
            at += 0 if moved_only else source_bytes(task, part, self._shape)
            loads += [load(one.encode()) for one in _moves(source, part, place, OperandTag.I)]
            sources.append(place)
        tables = self._unread
        if len(task.tables) > 1:
            channels = range(*tile.target.channels)
            tables = [at + TABLE_ENTRIES * number for number in range(len(channels))]
            loads += self._table_loads(channels, at)
        found = _Phases()
        if loads:
            found.load = Phase(Queue.LOAD, loads, [*before.users_of_sources, *before.after])
        if not moved_only:
            work = list(self._work(task, tile, sources, target, tables))
            found.compute = Phase(Queue.COMPUTE, work, [*_some(found.load, before.store), *before.after])
        elif task.sources[0].resident:
            target = sources[0]
        if not outer:
            stores = [store(one.encode()) for one in _moves(task.target, tile.target, target, OperandTag.O)]
            found.store = Phase(Queue.STORE, stores, [*_some(found.compute or found.load), *before.after])
        return found

    def _work(
        self, task: Task, tile: Tile, sources: list[Place], target: Place, tables: list[int]
    ) -> Iterator[Command]:
        """The jobs of a tile, and the end of the last one."""
        mask = 1 << self._cluster.hwcs
        for job in jobs_of(task, tile, sources, target, tables, self._shape):
            self._shape.check(job)
            self._jobs.append(job)
            yield from self._configuration.own(self._cluster.hwcs, job_values(self._bank, job))
            yield start(mask)
        yield join(mask)

    def _table_loads(self, tables: range, address: int) -> list[Command]:
        """Loads of consecutive tables."""
        entries = TABLE_ENTRIES * len(tables)
        block = StridedBlock(TABLE_ENTRIES * tables.start, 0, (Axis(entries, 1, 1),))
        side = Side(OperandTag.B, RingSelect.FIXED, None, self._constants, address)
        return [load(one.encode()) for one in descriptors_of([block], side)]


@dataclass
class _Phases:
    """The phases of a tile; ``after``: what the first tiles of a task wait for besides."""

    load: Phase | None = None
    compute: Phase | None = None
    store: Phase | None = None
    after: list[Phase] = field(default_factory=list)

    @property
    def users_of_sources(self) -> list[Phase]:
        """The last one that reads what was loaded."""
        return _some(self.compute or self.store or self.load)


def _some(*phases: Phase | None) -> list[Phase]:
    return [phase for phase in phases if phase is not None]


def _passes(task: Task) -> bool:
    """Whether a task passes the unit by: a copy to or from the DRAM."""
    return task.copies and not (task.sources[0].resident and task.target.resident)


def _placed(part: Part, address: int, pitch: int) -> Place:
    """A part at an address, its rows so far apart, its channels without gaps."""
    return Place(address, pitch, part.extents[1] * pitch)


def _moves(one: FeatureMap, part: Part, place: Place, tag: OperandTag) -> list[Descriptor]:
    """The transfers of a part of a map in the DRAM from or to a place in the TCDM."""
    channels, rows, columns = part.extents
    axes = (Axis(columns, 1, 1), Axis(rows, one.pitch, place.pitch), Axis(channels, one.plane, place.plane))
    side = Side(tag, RingSelect.FIXED, None, one.at(part), place.address)
    return descriptors_of([StridedBlock(0, 0, axes)], side)
