"""The literal oracle: a nest executed iteration by iteration, with the set of elements that every memory holds.

Slow and obvious on purpose. Every closed form is judged by this file, so nothing here is clever: a touch is a set of
coordinates, what is reused an intersection, what is fetched a difference. There may be any number of memory levels.
One HWC has one (the memory beside it serves its local buffers), a cluster two, and the TCDM of a cluster may hold an
operand in two halves, which reuse nothing.

The semantics are those of Stoutchinin et al. 2019 (Section IV, Fig. 8: a marker above a loop L), read literally:

- while L runs, the memory holds what one iteration of L touches; from one iteration to the next what both touch
  stays, the rest is dropped, only the new part is fetched; at the end of an execution of L everything is dropped;
- no marker: fetched anew in every innermost iteration (one lane vector), nothing kept;
- what a level fetches is in the level that serves it, which is checked;
- padding is never fetched and takes no space;
- an output is read back only if it was written as a partial sum before, and is dropped as a partial sum while
  reduction iterations are still to come for it, padding or not.

On several HWCs:

- iteration i of a spread loop runs on HWC i mod N; of two, i counts through the inner one first. At `dram` concurrent
  iterations are one: spread loops are below the TCDM's (`hwgen.model.cluster.levels.normalised`).
- The DMA prefetches the data of an iteration while those of the previous one are in use. So X needs room for what
  two consecutive iterations of its loop touch together, also across executions; in halves, for twice the largest.
- An HWC keeps biases within its share of a tile, not from one to the next.
- Replicated words: of each word of a tile, all reads but those of the HWC that reads it most often.
- With multicast, those slices of a wave that have the same extents and the same y (for W: the same m), and read the
  same words of I (of W), read them once, at the port of the first one's HWC. A wave is slices one after another, one
  for each HWC.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.requantisation import record_bytes
from hwgen.arch.weights import WeightLines
from hwgen.ir.counts import Access, Counts, Direction, Key, Operand
from hwgen.ir.lanes import NARROW_PORTS
from hwgen.ir.layer import REDUCTION_DIMS, Dim, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, ArrayName, Schedule
from hwgen.model.cluster.levels import normalised, run_depth, spread_side_by_side, tile_depth
from hwgen.model.nest.biases import bias_depth
from hwgen.model.nest.hierarchy_counts import HierarchyCounts, held_bytes
from hwgen.model.nest.one_level import PerOperand, require_one_level
from hwgen.model.nest.ranges import Tile, split, tiles, whole

__all__ = ["Element", "moves", "touched_of", "walk", "walk_cluster", "walk_hierarchy"]

Element = tuple[int, ...]
Tally = dict[tuple[Operand, Direction], Access]
Stores = Mapping[ArrayName, "list[Store]"]
"""The memories of each operand, from the outside inward."""
IN_TURN: tuple[ArrayName, ...] = ("W", "I", "O")
DIRECTIONS: dict[Operand, tuple[Direction, ...]] = {
    "I": ("read",), "W": ("read",), "O": ("read_partial", "write_partial", "write"),
}  # fmt: skip


# --- the nest ---


@dataclass(frozen=True)
class Step:
    """One iteration of the innermost of some loops.

    Members
    -------
    turned : the outermost loop that advanced to reach it; all inner ones restarted. -1 for the first.
    path : what the iteration of each loop around it covers, after the whole layer.
    slice : its number among the iterations that are spread over HWCs.
    """

    turned: int
    path: tuple[Tile, ...]
    slice: int

    @property
    def tile(self) -> Tile:
        """What it covers."""
        return self.path[-1]


def steps(schedule: Schedule, depth: int) -> Iterator[Step]:
    """The iterations of ``loops[depth - 1]`` in program order."""

    def descend(step: Step) -> Iterator[Step]:
        level = len(step.path) - 1
        if level == depth:
            yield step
            return
        loop = schedule.loops[level]
        iterations = list(split(step.tile, loop))
        for number, tile in enumerate(iterations):
            place = step.slice * len(iterations) + number if loop.over else step.slice
            yield from descend(Step(level if number else step.turned, (*step.path, tile), place))

    return descend(Step(-1, (whole(schedule.layer),), 0))


# --- what a tile touches ---


def touched_inputs(layer: Layer, tile: Tile) -> set[Element]:
    """(channel, row, column) of the input feature maps, channels counted over all images; without padding."""
    top, left = layer.padding[0], layer.padding[1]
    channels = {
        n * layer.input_channels + m // layer.outputs_per_group * layer.channels_per_group + c
        for n in tile["n"]
        for m in tile["m"]
        for c in tile["c"]
    }
    rows = {y * layer.stride[0] + k - top for y in tile["y"] for k in tile["k"]}
    taps = {l + in_window for l in tile["l"] for in_window in range(layer.columns_beside + 1)}  # noqa: E741
    columns = {x * layer.stride[1] + l - left for x in tile["x"] for l in taps}  # noqa: E741
    return {
        (channel, row, column)
        for channel in channels
        for row in rows
        if 0 <= row < layer.input_height
        for column in columns
        if 0 <= column < layer.input_width
    }


def touched_weights(tile: Tile) -> set[Element]:
    """(output channel, input channel in its group, kernel row, kernel column)."""
    return {(m, c, k, l) for m in tile["m"] for c in tile["c"] for k in tile["k"] for l in tile["l"]}  # noqa: E741


def touched_outputs(layer: Layer, tile: Tile) -> set[Element]:
    """(channel, row, column) of the output feature maps, channels counted over all images."""
    channels = [n * layer.output_channels + m for n in tile["n"] for m in tile["m"]]
    return {(channel, y, x) for channel in channels for y in tile["y"] for x in tile["x"]}


def touched_of(layer: Layer, array: ArrayName, tile: Tile) -> set[Element]:
    """What a tile touches of an operand."""
    match array:
        case "I":
            return touched_inputs(layer, tile)
        case "W":
            return touched_weights(tile)
        case "O":
            return touched_outputs(layer, tile)


# --- what moves ---


@dataclass
class Store:
    """What one memory holds of one operand.

    Members
    -------
    level : its name; None of the datapath's registers, which keep nothing.
    place : the loop that its marker stands above; None of the datapath.
    served_by : the level that serves it.
    halves : whether nothing is kept from one iteration to the next.
    step : the iteration that it is in.
    need, pair : elements of one iteration, and of two consecutive ones together, at most.
    """

    array: ArrayName
    level: str | None
    place: int | None
    served_by: str
    halves: bool = False
    held: set[Element] = field(default_factory=set)
    touched: set[Element] = field(default_factory=set)
    written_partial: set[Element] = field(default_factory=set)
    step: Step | None = None
    need: int = 0
    pair: int = 0

    def depth(self, schedule: Schedule) -> int:
        """Loops around one of its iterations."""
        return len(schedule.loops) if self.place is None else self.place + 1

    def moves_at(self, schedule: Schedule, step: Step) -> bool:
        """Whether an iteration of the nest begins one of this memory."""
        return step.turned < self.depth(schedule)

    def move_to(self, schedule: Schedule, step: Step) -> set[Element]:
        """Turn to the iteration that begins. Returns what is no longer held."""
        touched = touched_of(schedule.layer, self.array, step.path[self.depth(schedule)])
        same_execution = step.turned == self.place and not self.halves
        dropped = self.held - touched if same_execution else self.held
        self.need, self.pair = max(self.need, len(touched)), max(self.pair, len(touched | self.touched))
        self.held, self.touched, self.step = self.held - dropped, touched, step
        return dropped


@dataclass(frozen=True)
class Move:
    """Elements that cross into a memory, or out of it; ``step``: the iteration of the memory that moves them."""

    store: Store
    direction: Direction
    elements: set[Element]
    step: Step


def moves(schedule: Schedule, stores: Stores) -> Iterator[Move]:
    """Execute the nest once: everything that moves, in program order; of one iteration W, then I, then O."""
    extents, done = schedule.layer.extents, defaultdict[Element, int](int)
    reduction = prod(extents[dim] for dim in REDUCTION_DIMS)

    def write_back(store: Store, dropped: set[Element], held_in: Step | None) -> Iterator[Move]:
        finished = {element for element in dropped if done[element] == reduction}
        store.written_partial |= dropped - finished
        if finished and held_in:
            yield Move(store, "write", finished, held_in)
        if dropped - finished and held_in:
            yield Move(store, "write_partial", dropped - finished, held_in)

    for step in steps(schedule, max(store.depth(schedule) for own in stores.values() for store in own)):
        for array in IN_TURN:
            for store in reversed(stores[array]):
                if store.moves_at(schedule, step):
                    held_in, dropped = store.step, store.move_to(schedule, step)
                    if array == "O":
                        yield from write_back(store, dropped, held_in)
            around: Store | None = None
            for store in stores[array]:
                if store.step is step:
                    new = store.touched - store.held
                    assert around is None or new <= around.held, "the level that serves does not hold it"
                    store.held = store.held | new
                    fetched = new & store.written_partial if array == "O" else new
                    if fetched:
                        yield Move(store, "read_partial" if array == "O" else "read", fetched, step)
                around = store
        innermost = stores["O"][-1]
        if innermost.step is step:
            for element in innermost.touched:
                done[element] += prod(len(step.path[innermost.depth(schedule)][dim]) for dim in REDUCTION_DIMS)
    for store in reversed(stores["O"]):
        yield from write_back(store, store.held, store.step)


def _size(schedule: Schedule, operand: ArrayName, direction: Direction) -> int:
    """Bytes of an element that moves in this direction."""
    bits = schedule.bits.acc if direction.endswith("partial") else getattr(schedule.bits, operand)
    return int(bits) // 8


# --- words of a port ---


def _row_words(elements: Iterable[Element], size: int, word: int) -> set[Element]:
    """Aligned words that hold a byte of the elements; rows (all but the last coordinate) start on a word."""
    return {
        (*element[:-1], byte // word)
        for element in elements
        for byte in range(element[-1] * size, (element[-1] + 1) * size)
    }


def _vector_words(elements: Iterable[Element], size: int, word: int, vector_of: Mapping[int, int]) -> set[Element]:
    """Words that hold a byte of the elements, of each lane vector along the last coordinate by itself."""
    return {
        (*element[:-1], vector_of[element[-1]], byte // word)
        for element in elements
        for byte in range(element[-1] * size, (element[-1] + 1) * size)
    }


@lru_cache(maxsize=4)
def _vectors(schedule: Schedule, dim: Dim) -> Mapping[int, int]:
    """For each place along a dimension the first one of its innermost iteration."""
    loops = tuple(loop for loop in schedule.loops if loop.dim == dim)
    return {at: tile[dim].start for tile in tiles(whole(schedule.layer), loops) for at in tile[dim]}


@lru_cache(maxsize=2)
def _lines_of(schedule: Schedule) -> dict[Element, Element]:
    """For each weight the first one of its line: what an innermost iteration reads."""
    return {
        weight: (tile["m"].start, tile["c"].start, tile["k"].start, tile["l"].start)
        for tile in tiles(whole(schedule.layer), schedule.loops)
        for weight in touched_weights(tile)
    }


def _words_of_lines(schedule: Schedule, weights: set[Element], lines: WeightLines) -> set[object]:
    """Words that hold a byte of the weights, each line beginning on a word: its first weight, the word's number."""
    words, line_of = set[object](), _lines_of(schedule)
    for weight in weights:
        first = line_of[weight]
        place = (weight[1] - first[1]) * lines.pitch + (weight[0] - first[0]) * lines.bits // 8
        words |= {(first, byte // lines.word) for byte in range(place, place + lines.bits // 8)}
    return words


def _words(schedule: Schedule, move: Move) -> set[object]:
    """The words of a port with which something moves, each by a unique name.

    Partial sums take words of 32 bits each, and move a lane vector at a time.
    """
    array, size, ports = move.store.array, _size(schedule, move.store.array, move.direction), schedule.ports
    if array == "I":
        return set(_row_words(move.elements, size, ports.input_bytes))
    if array == "O" and move.direction == "write":
        return set(_row_words(move.elements, size, ports.output_bytes))
    if array == "O":
        whole_words = -(-size // WORD_BYTES) * WORD_BYTES
        return set(_vector_words(move.elements, whole_words, ports.output_bytes, _vectors(schedule, "x")))
    lines = WeightLines.of(schedule.lanes, 8 * size, ports.weight_bytes)
    if lines:
        return _words_of_lines(schedule, move.elements, lines)
    touched = move.store.touched
    number = -(-len(move.elements) * size // ports.weight_bytes)
    return {(min(touched), max(touched), word) for word in range(number)}


def _access(schedule: Schedule, move: Move, words: int) -> Access:
    elements = len(move.elements)
    return Access(elements, elements * _size(schedule, move.store.array, move.direction), words)


def _empty() -> Tally:
    return {(array, way): Access() for array in ARRAYS for way in DIRECTIONS[array]}


def _walk_biases(schedule: Schedule, tallies: list[Tally], around: int) -> None:
    """Count the biases that HWCs fetch: each keeps them within a tile inside ``around`` loops.

    A bias is needed when a tile at O's marker is drained as final outputs: its reduction has come to the end.
    """
    extents, marked = schedule.layer.extents, schedule.marked_loop("O")
    record = record_bytes(schedule.requantisation)
    drained, channels = len(schedule.loops) if marked is None else marked + 1, _vectors(schedule, "m")
    for part in steps(schedule, around):
        tally, kept = tallies[part.slice % len(tallies)], set[int]()
        for tile in tiles(part.tile, schedule.loops[around:drained]):
            if all(tile[dim].stop == extents[dim] for dim in REDUCTION_DIMS):
                new = {(m,) for m in set(tile["m"]) - kept}
                words = len(_vector_words(new, record, schedule.ports.output_bytes, channels))
                tally["B", "read"] = tally.get(("B", "read"), Access()) + Access(len(new), record * len(new), words)
                kept.update(tile["m"])


# --- one level ---


@dataclass(frozen=True)
class Walk:
    """What the oracle found: counts, elements that each buffer must hold, innermost iterations."""

    counts: Counts
    need: PerOperand
    iterations: int


def _local(schedule: Schedule, array: ArrayName) -> Store:
    """The local buffer of an operand, or the datapath without a marker."""
    place = schedule.marked_loop(array)
    return Store(array, None if place is None else "local", place, TCDM.name)


def _iterations(schedule: Schedule, step: Step) -> int:
    """Of the datapath: one; where columns pass through a window, those that it has not seen yet."""
    layer, innermost = schedule.layer, len(schedule.loops) - 1
    if not layer.form.column_window:
        return 1
    return layer.stride[1] if step.turned == innermost else layer.kernel[1]


def walk(schedule: Schedule) -> Walk:
    """Execute a nest of one level on one HWC."""
    require_one_level(schedule)
    tally, stores = _empty(), {array: [_local(schedule, array)] for array in ARRAYS}
    for move in moves(schedule, stores):
        tally[move.store.array, move.direction] += _access(schedule, move, len(_words(schedule, move)))
    _walk_biases(schedule, [tally], bias_depth(schedule))
    return Walk(
        Counts({("tcdm", operand, way): access for (operand, way), access in tally.items()}),
        PerOperand(*(stores[array][0].need for array in ARRAYS)),
        sum(_iterations(schedule, step) for step in steps(schedule, len(schedule.loops))),
    )


# --- a cluster ---

Fetched = tuple[Move, set[object]]
"""What an HWC fetches, and its words."""


@dataclass(frozen=True)
class ClusterWalk:
    """What the oracle found of a nest on a cluster.

    Members
    -------
    dram : elements and bytes at `dram`.
    dma : words at `tcdm_dma` without those of the weights, which depend on the packing.
    hwcs : the accesses of each HWC's ports at `tcdm`.
    tcdm_need, tcdm_need_bytes : of each operand, in the TCDM.
    local_need : elements that each local buffer must hold.
    replicated : words of I and W (never of O) that several HWCs read.
    """

    dram: Counts
    dma: Counts
    hwcs: tuple[Counts, ...]
    tcdm_need: PerOperand
    tcdm_need_bytes: PerOperand
    local_need: PerOperand
    replicated: PerOperand

    @property
    def tcdm(self) -> Counts:
        """The accesses of all HWCs together."""
        return sum(self.hwcs, Counts())


def tcdm_stores(schedule: Schedule) -> dict[ArrayName, Store]:
    """What the TCDM holds of each operand."""
    places = {array: schedule.marked_loop(array, TCDM) for array in ARRAYS}
    return {array: Store(array, TCDM.name, places[array], "dram", schedule.in_halves(array)) for array in ARRAYS}


def walk_cluster(schedule: Schedule, hwcs: int = 1, *, multicast: bool = False) -> ClusterWalk:
    """Execute a nest of two levels on several HWCs; raises `InputError` if it is none."""
    schedule = normalised(schedule, hwcs)
    outer, on_dma = tcdm_stores(schedule), schedule.model_copy(update={"ports": NARROW_PORTS})
    stores = {array: [outer[array], _local(schedule, array)] for array in ARRAYS}
    dram, tallies = _empty(), [_empty() for _ in range(hwcs)]
    fetched: dict[ArrayName, list[Fetched]] = {"I": [], "W": []}
    for move in moves(schedule, stores):
        key = move.store.array, move.direction
        if move.store.level == TCDM.name:
            dram[key] += _access(schedule, move, _dma_words(on_dma, move))
            continue
        words = _words(schedule, move)
        tallies[move.step.slice % hwcs][key] += _access(schedule, move, len(words))
        if move.direction == "read":
            fetched[move.store.array].append((move, words))
    biases, record = schedule.layer.output_channels, record_bytes(schedule.requantisation)
    dram["B", "read"] = Access(biases, record * biases, record * biases // WORD_BYTES)  # once, at the beginning
    inputs, weights = (_replicated(schedule, hwcs, one) for one in fetched.values())
    replicated = PerOperand(inputs, weights, 0)
    if multicast and spread_side_by_side(schedule):
        for array, one in fetched.items():
            _read_together(schedule, array, one, tallies)
    _walk_biases(schedule, tallies, bias_depth(schedule, run_depth(schedule)))
    bits, spilled = schedule.bits, any(tally["O", "write_partial"].elements for tally in tallies)
    need = PerOperand(*(2 * outer[array].need if outer[array].halves else outer[array].pair for array in ARRAYS))
    return ClusterWalk(
        dram=Counts({("dram", *key): Access(one.elements, one.bytes) for key, one in dram.items()}),
        dma=Counts({("tcdm_dma", *key): one for key, one in dram.items() if key[0] != "W"}),
        hwcs=tuple(Counts({("tcdm", *key): one for key, one in tally.items()}) for tally in tallies),
        tcdm_need=need,
        tcdm_need_bytes=PerOperand(
            need.I * bits.I // 8, need.W * bits.W // 8, need.O * (bits.acc if spilled else bits.O) // 8
        ),
        local_need=PerOperand(*(stores[array][1].need for array in ARRAYS)),
        replicated=replicated,
    )


def _dma_words(schedule: Schedule, move: Move) -> int:
    """Aligned words of every row; of the input the DMA starts a new access after each gap between columns."""
    if move.store.array != "I":
        return len(_words(schedule, move))
    size, words = schedule.bits.I // 8, 0
    for channel, row, column in move.elements:
        first, last = column * size // WORD_BYTES, (column * size + size - 1) // WORD_BYTES
        shared = (channel, row, column - 1) in move.elements and (column * size - 1) // WORD_BYTES == first
        words += last - first + 1 - shared
    return words


def _replicated(schedule: Schedule, hwcs: int, fetched: list[Fetched]) -> int:
    """Of each word of a tile all reads but those of the HWC that reads it most often."""
    if not any(loop.over for loop in schedule.loops):
        return 0
    tiles_ = defaultdict[object, list[Counter[object]]](lambda: [Counter() for _ in range(hwcs)])
    for move, found in fetched:
        tile = tuple(move.step.path[tile_depth(schedule)].items())
        tiles_[tile][move.step.slice % hwcs].update(found)
    words = 0
    for reads in tiles_.values():
        most: Counter[object] = Counter()
        for read in reads:
            most |= read
        words += sum(read.total() for read in reads) - most.total()
    return words


def _read_together(schedule: Schedule, array: ArrayName, fetched: list[Fetched], tallies: list[Tally]) -> None:
    """Take away what slices do not read for themselves, since another one of their wave reads it."""
    depth, alike = run_depth(schedule), set[object]()
    by_slice = defaultdict[object, list[Fetched]](list)
    for move, found in fetched:
        by_slice[tuple(move.step.path[depth].items())].append((move, found))
    for step in steps(schedule, depth):
        if step.slice % len(tallies) == 0:
            alike.clear()
        part = by_slice[tuple(step.tile.items())]
        words = [sorted(found, key=repr) for _, found in part]
        name = repr(
            ([len(indices) for indices in step.tile.values()], words, step.tile["y" if array == "I" else "m"])
        )
        if name in alike:
            tally = tallies[step.slice % len(tallies)]
            for move, found in part:
                spared, had = _access(schedule, move, len(found)), tally[array, "read"]
                tally[array, "read"] = Access(
                    had.elements - spared.elements, had.bytes - spared.bytes, had.words - spared.words
                )
        alike.add(name)


# --- any hierarchy ---


def walk_hierarchy(schedule: Schedule, hierarchy: Hierarchy) -> HierarchyCounts:
    """Execute a nest and count every element and byte that moves between two levels, or to the datapath."""
    stores = {array: _stores(schedule, hierarchy, array) for array in ARRAYS}
    levels: dict[Key, Access] = {(level.name, "I", "read"): Access() for level in hierarchy.levels}
    served, filled, datapath = (defaultdict(Access, levels) for _ in range(3))
    for move in moves(schedule, stores):
        store, way, access = move.store, move.direction, _access(schedule, move, 0)
        served[store.served_by, store.array, way] += access
        if store.level is None:
            datapath[store.served_by, store.array, way] += access
        elif way in ("read", "read_partial"):
            filled[store.level, store.array, way] += access
    need = {level.name: dict.fromkeys(ARRAYS, 0) for level in hierarchy.inner}
    need_bytes = {level.name: dict.fromkeys(ARRAYS, 0) for level in hierarchy.inner}
    for store in (store for own in stores.values() for store in own):
        if store.level is not None:
            partial = served[store.level, store.array, "write_partial"].elements > 0
            need[store.level][store.array] = store.need
            need_bytes[store.level][store.array] = held_bytes(schedule.bits, store.array, store.need, partial=partial)
    return HierarchyCounts(
        Counts(dict(served)),
        Counts(dict(datapath)),
        Counts(dict(filled)),
        {level: PerOperand(**sizes) for level, sizes in need.items()},
        {level: PerOperand(**sizes) for level, sizes in need_bytes.items()},
    )


def _stores(schedule: Schedule, hierarchy: Hierarchy, array: ArrayName) -> list[Store]:
    """The levels that hold an operand, from the outside inward, and the datapath's registers."""
    stores, outside = [], hierarchy.outermost.name
    for level, place in hierarchy.held(schedule, array):
        stores.append(Store(array, level.name, place, outside))
        outside = level.name
    return [*stores, Store(array, None, None, outside)]
