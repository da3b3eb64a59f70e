"""From a cluster's program to its cycles: what every command takes by itself, and then all of them together."""

from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import lru_cache
from itertools import pairwise

from hwgen.gateware.cluster_params import ClusterParameters
from hwgen.gateware.commands import WORKING_QUEUES, Command, Opcode, Queue
from hwgen.gateware.descriptor import Descriptor
from hwgen.ir.layer import DIMS
from hwgen.lower.cluster import ClusterProgram
from hwgen.lower.tiles import Slice, TileCommands
from hwgen.model.cluster_cycles import ClusterTimes, QueueName, Step, simulate
from hwgen.model.cycles import cycles
from hwgen.model.dma_cycles import BLOCK_BYTES, DmaTiming, DramTiming, Move, load_times, store_times
from hwgen.model.prediction import PerOperand

__all__ = ["cluster_cycles"]

PAGE = 4096
WORD_BYTES = 4
NAMES: dict[Queue, QueueName] = {Queue.LOAD: "load", Queue.COMPUTE: "compute", Queue.STORE: "store"}
MOVE_FIELDS = tuple(entry.name for entry in fields(Move))
IMMEDIATE = DramTiming()


def cluster_cycles(program: ClusterProgram, timing: DramTiming = IMMEDIATE) -> ClusterTimes:
    """The cycles of a program, with a DRAM of this timing."""
    hardware = ClusterParameters(program.parameters, program.cluster.hwcs)
    room: dict[QueueName, int] = {
        "load": hardware.load_words,
        "compute": hardware.compute_words,
        "store": hardware.store_words,
    }
    word = max(1.0, timing.block_cycles * WORD_BYTES / BLOCK_BYTES)
    return simulate(list(_steps(program, timing)), room, start=START + timing.latency, word=word)


START = 20
"""Cycles from the start to the program's first word, with a DRAM that answers at once."""


def _steps(program: ClusterProgram, timing: DramTiming) -> Iterator[Step]:
    works = _works(program)
    moves = {queue: _moves(program, queue, timing) for queue in (Queue.LOAD, Queue.STORE)}
    for command in program.commands:
        if command.queue not in WORKING_QUEUES:
            continue
        common = {
            "queue": NAMES[command.queue],
            "payload": len(command.payload),
            "takes": _names(command.takes),
            "posts": _names(command.posts),
        }
        if command.opcode is Opcode.MOVE:
            occupied, lead, demand = next(moves[command.queue])
            yield Step(**common, cycles=occupied, lead=lead, demand=demand)  # type: ignore[arg-type]
        elif command.opcode is Opcode.START:
            yield Step(**common, mask=command.mask, starts=next(works))  # type: ignore[arg-type]
        else:
            yield Step(**common, mask=command.mask)  # type: ignore[arg-type]


def _names(queues: Iterable[Queue]) -> frozenset[QueueName]:
    return frozenset(NAMES[queue] for queue in queues)


# --- HWCs ---


def _works(program: ClusterProgram) -> Iterator[float]:
    """Cycles of what each START has its HWC do, in their order."""
    schedule, parameters = program.schedule, program.parameters
    buffers = PerOperand(parameters.input_bytes, parameters.weight_bytes, parameters.output_bytes)
    tiles = TileCommands(schedule, None, program.cluster.hwcs, program.placement, {})
    extents = schedule.layer.extents
    found: dict[tuple[str, bool, bool], float] = {}

    def work(part: Slice) -> float:
        small = tiles.small(part)
        reduction = [(part.box[DIMS.index(dim)], extents[dim]) for dim in ("c", "k", "l")]
        resumes = any(low > 0 for (low, _), _ in reduction)
        goes_on = any(high < extent for (_, high), extent in reduction)
        key = repr((small.layer, small.nest)), resumes, goes_on
        if key not in found:
            found[key] = cycles(small, buffers, resumes=resumes, goes_on=goes_on).total
        return found[key]

    return (work(part) for parts in tiles.slices for part in parts)


# --- DMA ---


def _moves(program: ClusterProgram, queue: Queue, timing: DramTiming) -> Iterator[tuple[float, float, float]]:
    """Of each move of a queue: cycles behind another one, additional ones if it is the first, cycles of the DRAM."""
    dma = DmaTiming(program.cluster.axi_bits // 8)
    for batch in _batches([one for one in program.commands if one.queue is queue and one.opcode is Opcode.MOVE]):
        moves = [_move(command) for command in batch]
        base, tcdm = moves[0].dram_address // PAGE * PAGE, moves[0].tcdm_address // 4 * 4
        shifted = tuple(_shifted(move, base, tcdm) for move in moves)
        yield from _timed(shifted, dma, timing, queue is Queue.LOAD)


def _batches(commands: list[Command]) -> Iterator[list[Command]]:
    """Moves that follow each other without a token between."""
    batch: list[Command] = []
    for command in commands:
        if command.takes and batch:
            yield batch
            batch = []
        batch.append(command)
    if batch:
        yield batch


def _move(command: Command) -> Move:
    descriptor = Descriptor.decode(command.payload)
    return Move(**{name: getattr(descriptor, name) for name in MOVE_FIELDS})


def _shifted(move: Move, base: int, tcdm: int) -> Move:
    values = {name: getattr(move, name) for name in MOVE_FIELDS}
    # Where a ring ends makes no difference to the time; far ahead of it no address is negative.
    place = (move.tcdm_address - tcdm) % 4 + 4 * PAGE
    return Move(**{**values, "dram_address": move.dram_address - base + (1 << 30), "tcdm_address": place})


@lru_cache(maxsize=4096)
def _timed(
    moves: tuple[Move, ...], dma: DmaTiming, timing: DramTiming, loads: bool
) -> tuple[tuple[float, float, float], ...]:
    times = (load_times if loads else store_times)(moves, dma, timing)
    lead = min(LEAD + timing.latency, times.cycles[0])
    occupied = [times.cycles[0] - lead, *(after - before for before, after in pairwise(times.ends))]
    return tuple((spent, lead, _demand(move, timing)) for spent, move in zip(occupied, moves, strict=True))


LEAD = 19
"""Cycles from the first word of a descriptor to its data, and from the last of these to its end."""


def _demand(move: Move, timing: DramTiming) -> float:
    """Cycles in which the DRAM is busy with a move."""
    if timing.immediate:
        return 0
    busy, end = 0.0, -1
    rows: dict[int, int] = {}
    for dram, _, _ in move.runs():
        first, last = dram // BLOCK_BYTES, (dram + move.length - 1) // BLOCK_BYTES
        for block in range(first + (dram == end and dram % BLOCK_BYTES != 0), last + 1):
            row = block * BLOCK_BYTES // timing.row_bytes
            busy += timing.block_cycles + (rows.get(row % timing.banks) != row) * timing.miss_cycles
            rows[row % timing.banks] = row
        end = dram + move.length
    return busy
