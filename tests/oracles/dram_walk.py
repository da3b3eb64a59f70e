"""The literal oracle of the DRAM counts: every part is a set of bytes, visited block by block.

Slow and obvious on purpose, and independent of `hwgen.model.cluster.parts`: what moves is what the nest walk moves.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from hwgen.arch.dram import BLOCK_BYTES, DramPort, OpenRows
from hwgen.ir.counts import Access, Counts, Direction, Operand
from hwgen.ir.schedule import Schedule
from hwgen.model.cluster.levels import normalised
from hwgen.model.dram.counts import DramLayout, dram_layout
from tests.oracles.nest_walk import Element, moves, tcdm_stores

__all__ = ["walk_dram"]

Moved = tuple[Operand, Direction, set[Element]]


def walk_dram(schedule: Schedule, port: DramPort, hwcs: int = 1, layout: DramLayout | None = None) -> Counts:
    """All counts at `dram` without the program."""
    schedule = normalised(schedule, hwcs)
    layout = layout or dram_layout(schedule)
    tally: dict[tuple[str, Operand, Direction], Access] = defaultdict(Access)
    for stream in streams(schedule):
        rows = OpenRows(port.dram)
        end = -1
        for operand, direction, elements in stream:
            key = ("dram", operand, direction)
            tally[key] += Access(len(elements))
            for run in _runs(sorted(_bytes(schedule, layout, operand, direction, elements))):
                tally[key] += _access(run, port) + Access(jumps=run[0] != end)
                end = run[-1] + 1
                for block in dict.fromkeys(address // BLOCK_BYTES for address in run):
                    tally[key] += Access(row_misses=rows.misses(block * BLOCK_BYTES))
    return Counts(dict(tally))


def streams(schedule: Schedule) -> tuple[list[Moved], list[Moved]]:
    """Loads and stores, part by part, in the order of the two streams; the nest is normalised."""
    stores = {array: [store] for array, store in tcdm_stores(schedule).items()}
    loaded: list[tuple[int, Moved]] = [(1, ("B", "read", {(m,) for m in range(schedule.layer.output_channels)}))]
    stored: list[Moved] = []
    for move in moves(schedule, stores):
        part = (move.store.array, move.direction, move.elements)
        if move.direction in ("read", "read_partial"):
            # Biases come after the first tile's weights and inputs.
            first = move.step.turned < 0 and move.store.array != "O"
            loaded.append((0 if first else 2, part))
        else:
            stored.append(part)
    return [part for _, part in sorted(loaded, key=lambda one: one[0])], stored


def _bytes(
    schedule: Schedule, layout: DramLayout, operand: Operand, direction: Direction, elements: set[Element]
) -> Iterator[int]:
    layer, region = schedule.layer, layout.region(operand, direction)
    shape = {
        "I": (layer.input_channels, layout.input_rows, layer.input_width),
        "W": (layer.output_channels, layer.channels_per_group, *layer.kernel),
        "O": (layer.output_channels, layout.output_rows, layer.output_width),
        "B": (layer.output_channels,),
    }[operand]
    for element in elements:
        index = 0
        for at, extent in zip(element, shape, strict=True):
            index = index * extent + at
        yield from range(region.base + index * region.element, region.base + (index + 1) * region.element)


def _runs(addresses: list[int]) -> Iterator[list[int]]:
    run = addresses[:1]
    for before, address in pairwise(addresses):
        if address != before + 1:
            yield run
            run = []
        run.append(address)
    yield run


def _access(run: list[int], port: DramPort) -> Access:
    """One run: its bytes, beats and blocks; a burst at its first beat and at the first beat of each window."""
    beats = dict.fromkeys(address // port.beat_bytes for address in run)
    return Access(
        bytes=len(run),
        beats=len(beats),
        axi_bursts=len({beat * port.beat_bytes // port.burst_window for beat in beats}),
        blocks=len({address // BLOCK_BYTES for address in run}),
    )
