"""From a cluster's program to its cycles: the duration of each command alone, then the whole program."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from hwgen.arch.bus import PAGE_BYTES, WORD_BYTES
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import WORKING_QUEUES, Command, Opcode, Queue
from hwgen.arch.descriptor import Descriptor, OperandTag, RingSelect
from hwgen.arch.dma import CHUNK_BYTES, CHUNKS_AHEAD, DmaParameters
from hwgen.arch.dram import BLOCK_BYTES, Dram, OpenRows
from hwgen.arch.latency import CHUNK_REQUEST, DRAM_QUEUE, MOVE_LEAD, PROGRAM_START
from hwgen.ir.layer import DIMS, REDUCTION_DIMS
from hwgen.lower.cluster.program import ClusterProgram
from hwgen.lower.cluster.tiles import Slice, TileCommands
from hwgen.model.cluster.cycles import ClusterTimes, Fetch, QueueName, Step, simulate
from hwgen.model.core.prediction import PerOperand
from hwgen.model.dma.cycles import load_times, store_times
from hwgen.model.hwc.cycles import cycles

__all__ = ["cluster_cycles", "fetch_of", "program_steps", "queue_words", "steps_of", "works_of"]

NAMES: dict[Queue, QueueName] = {Queue.LOAD: "load", Queue.COMPUTE: "compute", Queue.STORE: "store"}
IMMEDIATE = Dram()
ORIGIN = 1 << 30
"""Where the first of several moves is moved to, so that equal moves are timed once; a multiple of all rows."""


def cluster_cycles(program: ClusterProgram, timing: Dram = IMMEDIATE) -> ClusterTimes:
    """The cycles of a program, with a DRAM of this timing."""
    fetch = fetch_of(program.layout.program, len(program.words), program.cluster.axi_bits, timing)
    return simulate(program_steps(program, timing), queue_words(program.hardware), fetch)


def queue_words(hardware: ClusterParameters) -> dict[QueueName, int]:
    """Words that each queue of a cluster holds."""
    return {"load": hardware.load_words, "compute": hardware.compute_words, "store": hardware.store_words}


def fetch_of(base: int, words_of_program: int, axi_bits: int, timing: Dram) -> Fetch:
    """Timing of the fetch of a program from this address on: chunks of a block, one after another."""
    number = -(-WORD_BYTES * words_of_program // CHUNK_BYTES)
    rows = OpenRows(timing)
    chunks = []
    for address in range(base, base + number * CHUNK_BYTES, CHUNK_BYTES):
        chunks.append(timing.block_cycles + rows.misses(address) * timing.miss_cycles)
    beats, words = CHUNK_BYTES * 8 // axi_bits, CHUNK_BYTES // WORD_BYTES
    return Fetch(
        PROGRAM_START, CHUNK_REQUEST, max(1, timing.latency), tuple(chunks), beats, words, CHUNKS_AHEAD * words
    )


def program_steps(program: ClusterProgram, timing: Dram) -> list[Step]:
    """What the queues do for a program."""
    return list(steps_of(program.commands, works_of(program), program.cluster.axi_bits, timing))


def steps_of(
    commands: Sequence[Command], works: Iterable[float], axi_bits: int, timing: Dram = IMMEDIATE
) -> Iterator[Step]:
    """What the queues do for these commands; ``works``: cycles of what each START begins, in their order."""
    each = iter(works)
    moves = {queue: _moves(commands, axi_bits, queue, timing) for queue in (Queue.LOAD, Queue.STORE)}
    for command in commands:
        if command.queue not in WORKING_QUEUES:
            continue
        common = {
            "queue": NAMES[command.queue],
            "payload": len(command.payload),
            "takes": _names(command.takes),
            "posts": _names(command.posts),
        }
        if command.opcode is Opcode.MOVE:
            yield Step(**common, **next(moves[command.queue]))  # type: ignore[arg-type]
        elif command.opcode is Opcode.START:
            yield Step(**common, mask=command.mask, starts=next(each))  # type: ignore[arg-type]
        else:
            yield Step(**common, mask=command.mask)  # type: ignore[arg-type]


def _names(queues: Iterable[Queue]) -> frozenset[QueueName]:
    return frozenset(NAMES[queue] for queue in queues)


# --- HWCs ---


def works_of(program: ClusterProgram) -> Iterator[int]:
    """Cycles of the layer that each START begins, in program order."""
    schedule, parameters = program.schedule, program.parameters
    buffers = PerOperand(parameters.input_bytes, parameters.weight_bytes, parameters.output_bytes)
    tiles = TileCommands(schedule, None, program.cluster.hwcs, program.placement, {})
    extents = schedule.layer.extents
    found: dict[tuple[str, bool, bool], int] = {}

    def work(part: Slice) -> int:
        small = tiles.small(part)
        reduction = [(part.ranges[DIMS.index(dim)], extents[dim]) for dim in REDUCTION_DIMS]
        resumes = any(low > 0 for (low, _), _ in reduction)
        goes_on = any(high < extent for (_, high), extent in reduction)
        key = repr((small.layer, small.nest)), resumes, goes_on
        if key not in found:
            found[key] = cycles(
                small,
                buffers,
                resumes=resumes,
                goes_on=goes_on,
                in_cluster=True,
                most_requantisers=parameters.most_requantisers,
            ).total
        return found[key]

    return (work(part) for parts in tiles.slices for part in parts)


# --- DMA ---


def _moves(commands: Sequence[Command], axi_bits: int, queue: Queue, timing: Dram) -> Iterator[dict[str, float]]:
    """The fields of `Step` for each move of a queue."""
    dma, unit = DmaParameters(axi_bits), max(PAGE_BYTES, timing.row_bytes)
    for batch in _batches([one for one in commands if one.queue is queue and one.opcode is Opcode.MOVE]):
        moves = [Descriptor.decode(command.payload) for command in batch]
        base, tcdm = moves[0].dram_address // unit * unit, moves[0].tcdm_address // WORD_BYTES * WORD_BYTES
        yield from _timed(tuple(_shifted(move, base, tcdm) for move in moves), dma, timing, queue is Queue.LOAD)


def _batches(commands: list[Command]) -> Iterator[list[Command]]:
    """Groups of moves without a token between them."""
    batch: list[Command] = []
    for command in commands:
        if command.takes and batch:
            yield batch
            batch = []
        batch.append(command)
    if batch:
        yield batch


def _shifted(move: Descriptor, base: int, tcdm: int) -> Descriptor:
    """The move relative to these addresses, so that moves of the same duration are equal."""
    # The position of a ring does not change the time; an offset keeps all addresses positive.
    place = (move.tcdm_address - tcdm) % WORD_BYTES + 4 * PAGE_BYTES
    dram = move.dram_address - base + ORIGIN
    return replace(move, tag=OperandTag.I, ring=RingSelect.I, dram_address=dram, tcdm_address=place)


@lru_cache(maxsize=4096)
def _timed(
    moves: tuple[Descriptor, ...], dma: DmaParameters, timing: Dram, loads: bool
) -> tuple[dict[str, float], ...]:
    """The fields of `Step` for each of several moves.

    Each occupies the DRAM as if it were alone: with open rows, loads and stores that alternate are predicted worse
    (up to 16 % too few cycles, in place of 9 %).
    """
    times = (load_times if loads else store_times)(moves, dma, timing)
    lead = min(MOVE_LEAD + timing.latency, times.cycles[0] - 1)  # a move takes a cycle at least
    occupied = [times.cycles[0] - lead, *(after - before for before, after in pairwise(times.ends))]
    demands = [_demand(move, timing, OpenRows(timing)) for move in moves]
    rows = OpenRows(timing)
    needs = [
        {"soonest": lead + held - 1} | _needs(move, spent, demand, _demand(move, timing, rows), held, dma)
        if loads
        else _store_needs(move, spent, spent + lead, demand, held, dma)
        for spent, demand, move, held in zip(occupied, demands, moves, times.held, strict=True)
    ]
    leads: list[float] = [lead] * len(moves)
    if loads:  # behind the first one rows are open, and time in the DRAM and on the way overlap
        leads[1:] = [
            max(0, lead + held - 1 - spent) for spent, held in zip(occupied[1:], times.held[1:], strict=True)
        ]
    return tuple(
        {"cycles": spent, "lead": first, **need} for spent, first, need in zip(occupied, leads, needs, strict=True)
    )


def _store_needs(
    move: Descriptor, spent: float, cycles: float, demand: float, held: float, dma: DmaParameters
) -> dict[str, float]:
    """DRAM time of a store, and its time on the write data channel: ``held``, but no more than it takes alone.

    The channel is a burst's from its first beat to its last one (`hwgen.gateware.bus.axi_interconnect`).
    """
    needs = {"demand": demand, "beats": min(held, spent), "requests": _bursts(move, dma) / DRAM_QUEUE}
    return needs | {"share": min(1.0, demand / max(cycles, 1))}


def _bursts(move: Descriptor, dma: DmaParameters) -> int:
    """Bursts of a move; runs that are contiguous in the DRAM share them."""
    bursts, end = 0, -1
    for dram, _ in move.runs():
        bursts += (dram + move.length - 1) // dma.burst_window - dram // dma.burst_window + (dram != end)
        end = dram + move.length
    return bursts


def _needs(
    move: Descriptor, spent: float, demand: float, moved: float, held: float, dma: DmaParameters
) -> dict[str, float]:
    """DRAM time of a load, its time on the read data channel, and what it asks for ahead of its data.

    ``moved``: cycles in which the DRAM moves its blocks, with the rows open that the moves before it have left.
    ``held``: cycles in which its beats stand on the channel, in front of those that were asked for later.
    """
    width = dma.beat_bytes
    beats = sum((dram + move.length - 1) // width - dram // width + 1 for dram, _ in move.runs())
    share, stands = (min(1.0, time / max(spent, 1)) for time in (moved, held))
    requests = max(_bursts(move, dma) / DRAM_QUEUE, beats / dma.beats_ahead)
    return {"demand": demand, "beats": beats, "share": share, "stands": stands, "requests": requests}


def _demand(move: Descriptor, timing: Dram, rows: OpenRows) -> float:
    """Cycles for which a move occupies the DRAM; ``rows``: open after the moves before it."""
    if timing.immediate:
        return 0
    busy, end = 0.0, -1
    for dram, _ in move.runs():
        first, last = dram // BLOCK_BYTES, (dram + move.length - 1) // BLOCK_BYTES
        for block in range(first + (dram == end and dram % BLOCK_BYTES != 0), last + 1):
            busy += timing.block_cycles + rows.misses(block * BLOCK_BYTES) * timing.miss_cycles
        end = dram + move.length
    return busy
