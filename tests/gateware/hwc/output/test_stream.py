"""The output's stream between a model of the datapath and one of the shared memory, for lanes of several shapes."""

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, product
from random import Random
from typing import Any

import numpy as np
import pytest

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.registers.hwc import loop_counts
from hwgen.arch.requantisation import bias_records, scaled_values
from hwgen.gateware.hwc.output.stream import OutputStream
from hwgen.golden.requantisation import requantise
from hwgen.ir.lanes import Lanes
from hwgen.ir.requantisation import Requantisation
from tests.gateware.simulate import simulate

SHAPES = {
    "x16": (1, 1, 16),
    "m8 x2": (8, 1, 2),
    "m4 y2 x2": (4, 2, 2),
    "m16": (16, 1, 1),
    "y4 x4": (1, 4, 4),
    "m2 y2 x4": (2, 2, 4),
    "m8 y2": (8, 2, 1),
    "y2 x8": (1, 2, 8),
    "y16": (1, 16, 1),
}
FEW_SHAPES = ("x16", "m16", "m4 y2 x2", "y16")
"""Those of every run."""
ORDERS = ("myxckmyx", "cmyxkmyx")  # O's marker above k: a tile has the last three loops
MARKER = 4
SMALL = 128
OUTPUTS, PARTIALS, BIASES = 0x1000, 0x8000, 0x400
Range = tuple[int, int]


@dataclass(frozen=True)
class Task:
    """A shape of the lanes, a loop order, a layer, its steps, and what becomes of the sums."""

    lanes: tuple[int, int, int]
    loops: str
    extents: dict[str, int]
    steps: dict[int, int]
    bias_words: int = 0
    around_biases: int = MARKER
    depth_in_tiles: float = 1.0
    shift: int = 5
    relu: int = 0
    ceiling: int = 127
    unit: int = 0
    spread: int = 1 << 31
    scaled: Requantisation | None = None
    requantisers: int = 4
    along_c: int = 1

    def sums(self) -> int:
        """Sums of a vector."""
        return int(np.prod(self.lanes))

    def number(self, rng: Random) -> int:
        """What is added to a sum, or a bias: within ``spread`` of a multiple of ``unit``."""
        number = rng.randint(-2, 2) * self.unit + rng.randint(-self.spread, self.spread - 1)
        return min(max(number, -(1 << 31)), (1 << 31) - 1)

    def ranges(self, dim: str, loops: tuple[int, ...], start: Range) -> list[Range]:
        """What some loops cut a range of a dimension into."""
        pieces = [start]
        for j in loops:
            if self.loops[j] == dim:
                step = self.steps[j]
                pieces = [(at, min(at + step, high)) for low, high in pieces for at in range(low, high, step)]
        return pieces

    def pieces(self, dim: str, extent: int) -> int:
        """Vectors along one dimension in so much of it."""
        return len(self.ranges(dim, (5, 6, 7), (0, extent)))

    def tile_vectors(self) -> int:
        """Vectors of the largest tile."""
        return int(np.prod(list(self.largest().values())))

    def largest(self) -> dict[str, int]:
        """Vectors along each dimension of the largest tile."""
        return {
            dim: self.pieces(dim, min(self.steps[j], self.extents[dim]))
            for j, dim in enumerate(self.loops[:MARKER])
            if dim != "c"
        }

    def depth(self) -> int:
        """Vectors of the memory."""
        return max(2, int(self.tile_vectors() * self.depth_in_tiles))

    def parameters(self) -> HwcParameters:
        m, y, x = self.lanes
        return HwcParameters(
            loops=tuple(self.loops),
            input_marker=len(self.loops),
            weight_marker=len(self.loops),
            output_marker=MARKER,
            input_bytes=256,
            weight_bytes=256,
            output_bytes=4 * self.sums() * self.depth(),
            lanes=Lanes(m=m, c=self.along_c, y=y, x=x),
            bias_words=self.bias_words,
            scaled=self.scaled is not None,
            most_requantisers=self.requantisers,
        )

    def requantisation(self) -> Requantisation:
        """What becomes of sums."""
        return self.scaled or Requantisation.shifted(self.shift, relu=bool(self.relu), ceiling=self.ceiling)

    def requantiser(self) -> dict[str, int]:
        """The registers of that."""
        if self.scaled is not None:
            return scaled_values(self.scaled, "task")
        return {"shift": self.shift, "relu": self.relu, "ceiling": self.ceiling}

    def pitch(self) -> int:
        return -(-self.extents["x"] // 4) * 4

    def settings(self) -> dict[str, int]:
        """The registers, as far as the output's stream uses them."""
        extents, largest = self.extents, self.largest()
        values = {f"extent_{dim}": extent for dim, extent in extents.items()}
        values |= {f"step_{j}_{self.loops[j]}": step for j, step in self.steps.items()}
        steps = [self.steps.get(j, 1) for j in range(len(self.loops))]
        for j, counts in enumerate(loop_counts(self.loops, steps, {"c": 1, "k": 1, **extents})):
            values |= {f"repeats_{j}_{i}": repeats for i, repeats in enumerate(counts.repeats)}
            if j in self.parameters().size_bits:
                values |= {f"rest_{j}_{i}": rest for i, rest in enumerate(counts.rests)}
        values |= {
            "output_box_vectors": self.tile_vectors(),
            "output_index_step_5": largest["y"] * largest["x"],
            "output_index_step_6": largest["x"],
            "output_index_step_7": 1,
            "output_base": OUTPUTS,
            "output_pitch": self.pitch(),
            "output_plane": self.pitch() * extents["y"],
            "partial_base": PARTIALS,
            "partial_pitch": 4 * extents["x"],
            "partial_plane": 4 * extents["x"] * extents["y"],
            "bias_base": BIASES,
            **self.requantiser(),
        }
        bits = [j >= self.around_biases for j in self.parameters().bias_loops]
        return values | ({"bias_stays": sum(bit << i for i, bit in enumerate(bits))} if bits else {})

    def tiles(self) -> list[tuple[int, dict[str, Range]]]:
        """Every tile: how often it has come before, and what it covers."""
        outer = self.loops[:MARKER]
        cut = [self.ranges(dim, (j,), (0, self.extents[dim])) for j, dim in enumerate(outer)]
        tiles = [dict(zip(outer, ranges, strict=True)) for ranges in product(*cut)]
        return [(tile.pop("c")[0], tile) for tile in tiles]

    def vectors(self, tile: dict[str, Range]) -> list[tuple[int, dict[str, Range]]]:
        """The vectors of a tile: number in the tile and range."""
        values = self.settings()
        cut = {dim: self.ranges(dim, (5, 6, 7), tile[dim]) for dim in "myx"}
        return [
            (
                i * values["output_index_step_5"] + j * values["output_index_step_6"] + k,
                {"m": cut["m"][i], "y": cut["y"][j], "x": cut["x"][k]},
            )
            for i, j, k in product(*(range(len(cut[dim])) for dim in "myx"))
        ]


@dataclass
class Around:
    """What is around the stream: output memory, operations on their way, shared memory."""

    task: Task
    rng: Random
    stalls: bool
    sums: dict[int, list[int]] = field(default_factory=dict)
    operations: deque[tuple[int, str, int]] = field(default_factory=deque)
    answers: deque[tuple[int, int]] = field(default_factory=deque)
    memory: np.ndarray = field(default_factory=lambda: np.full(0x10000, 0xA5, np.uint8))
    words: Counter[str] = field(default_factory=Counter)
    unloads: list[int] = field(default_factory=list)
    now: int = 0
    was_unloading: bool = False

    @cached_property
    def capture(self) -> int:
        """Stages of the datapath."""
        return self.task.parameters().capture

    def rarely(self) -> bool:
        return self.stalls and self.rng.random() < 0.4

    def write(self, address: int, enable: int, value: int) -> None:
        assert address % 4 == 0
        assert enable
        self.words["output" if address < PARTIALS else "partial write"] += 1
        for b in range(4):
            if enable >> b & 1:
                self.memory[address + b] = value >> 8 * b & 0xFF

    def read(self, address: int, enable: int) -> None:
        assert address % 4 == 0
        assert enable == 15
        self.words["bias" if address < OUTPUTS else "partial read"] += 1
        value = int.from_bytes(self.memory[address : address + 4].tobytes(), "little")
        due = self.now + 2 + (self.rng.randint(0, 6) if self.rarely() else 0)
        self.answers.append((due, value))


@dataclass
class Compute:
    """In place of the sequencer: adds random numbers to the vectors of one tile after the other."""

    around: Around
    results: np.ndarray
    work: list[tuple[int, int, dict[str, Range], bool]] = field(default_factory=list)
    resumes: bool = False
    base: int = 0
    unfinished: int = 0
    loaded: int = 0
    draining: bool = False

    def __post_init__(self) -> None:
        task = self.around.task
        for number, (before, tile) in enumerate(task.tiles()):
            vectors = task.vectors(tile)
            order = self.around.rng.sample(vectors, len(vectors))
            self.work += [(before, index, part, i + 1 == len(order)) for i, (index, part) in enumerate(order)]
            self.unfinished = number + 1

    def step(self, unloaded: int) -> bool:
        """One operation, if it may be done; whether it ends a tile."""
        if not self.work or self.around.rarely():
            return False
        task, depth = self.around.task, self.around.task.depth()
        before, index, part, ends = self.work[0]
        if before and not self.loaded:
            return False
        if self.draining and (ends or (not before and index >= unloaded + depth - task.tile_vectors())):
            return False
        del self.work[0]
        place = (self.base + index) % depth
        held = self.around.sums[place] if before else [0] * task.sums()
        added = [task.number(self.around.rng) for _ in range(task.sums())]
        lanes = task.lanes
        for jm, m in enumerate(range(*part["m"])):
            for jy, y in enumerate(range(*part["y"])):
                for jx, x in enumerate(range(*part["x"])):
                    lane = (jm * lanes[1] + jy) * lanes[2] + jx
                    total = int(self.results[m, y, x]) + added[lane]
                    self.results[m, y, x] = (total + (1 << 31)) % (1 << 32) - (1 << 31)
        self.around.sums[place] = [
            (a + b + (1 << 31)) % (1 << 32) - (1 << 31) for a, b in zip(held, added, strict=True)
        ]
        if ends:
            self.loaded -= before > 0
            self.draining = True
            self.base = (self.base + task.tile_vectors()) % depth
        return ends


def run(task: Task, stalls: bool, seed: int = 1) -> tuple[Around, np.ndarray]:
    """Drive the stream until it is finished; what is around it then, and the sums as they have to be."""
    stream = OutputStream(task.parameters())
    around = Around(task, Random(seed), stalls)
    extents = task.extents
    compute = Compute(around, np.zeros((extents["m"], extents["y"], extents["x"]), np.int64))
    biases = np.array([task.number(around.rng) for _ in range(extents["m"])], np.int32)
    records = bias_records(biases, task.requantisation().scales, task.parameters().requantisation)
    around.memory[BIASES : BIASES + len(records)] = records.view(np.uint8)

    async def bench(ctx: Any) -> None:
        for name, value in task.settings().items():
            ctx.set(getattr(stream.settings, name), value)
        await ctx.tick().repeat(3)  # as in an HWC: settings are there before the start
        ctx.set(stream.start, 1)
        await ctx.tick()
        ctx.set(stream.start, 0)
        while not ctx.get(stream.finished):
            around.now += 1
            assert around.now < 20_000
            await cycle(ctx, stream, around, compute)

    simulate(stream, bench)
    assert not compute.work
    expected = requantise(compute.results.astype(np.int32), biases, task.requantisation())
    return around, expected


async def cycle(ctx: Any, stream: OutputStream, around: Around, compute: Compute) -> None:
    """One clock cycle."""
    ready = not around.rarely()
    ctx.set(stream.o_request.ready, ready)
    ctx.set(stream.tile_ends, compute.step(ctx.get(stream.unloaded)))
    answered = bool(around.answers) and around.answers[0][0] <= around.now
    ctx.set(stream.i_response.valid, answered)
    ctx.set(stream.i_response.data, around.answers.popleft()[1] if answered else around.rng.getrandbits(32))
    done = around.operations.popleft() if around.operations and around.operations[0][0] == around.now else (0, "", 0)
    ctx.set(stream.load_done, done[1] == "load")
    ctx.set(stream.unload_done, done[1] == "unload")
    lanes = around.task.sums()
    for lane in range(lanes if around.was_unloading or done[1] == "unload" else 0):
        sums = around.sums[done[2]] if done[1] == "unload" else [around.rng.getrandbits(31)] * lanes
        ctx.set(stream.unload_data[lane], sums[lane])
    around.was_unloading = done[1] == "unload"
    if done[1] == "load":
        around.sums[done[2]] = [ctx.get(stream.load_data[lane]) for lane in range(lanes)]
    if ctx.get(stream.access_valid):
        kind = "load" if ctx.get(stream.access_load) else "unload"
        around.operations.append((around.now + around.capture, kind, ctx.get(stream.access_index)))
        if kind == "unload":
            around.unloads.append(around.now)
    request = stream.o_request
    if ready and ctx.get(request.valid):
        address, enable = ctx.get(request.payload.address), ctx.get(request.payload.enable)
        if ctx.get(request.payload.write):
            around.write(address, enable, ctx.get(request.payload.data))
        else:
            around.read(address, enable)
    compute.loaded += ctx.get(stream.loaded)
    if ctx.get(stream.drained):
        compute.draining = False
    await ctx.tick()


def task_for(shape: tuple[int, int, int], loops: str, rng: Random, **changes: Any) -> Task:
    """Edges along every dimension, tiles of several vectors, rows that begin and end anywhere in a word."""
    extents, steps = {"c": rng.randint(1, 3), "k": 1, "l": 1}, {loops.index("c"): 1, MARKER: 1}
    for j, (dim, lanes) in enumerate(zip("myx", shape, strict=True)):
        outer = loops.index(dim)
        steps[5 + j] = rng.choice((lanes, lanes, rng.randint(1, lanes)))
        steps[outer] = steps[5 + j] * rng.choice((1, 2)) + rng.choice((0, 0, 1))
        extents[dim] = steps[outer] + rng.choice((0, 1, steps[outer] // 2))
    # Biases are kept within the loops from some loop on, and fit then; or not at all.
    changes["around_biases"] = around = rng.randint(0, MARKER)
    channels = extents["m"] if around <= loops.index("m") else steps[loops.index("m")]
    changes["bias_words"] = 0 if around == MARKER else max(2, 1 << (channels - 1).bit_length())
    final = {
        "shift": rng.choice((0, 1, 2, 3, 24, 25, 31)),
        "relu": rng.randint(0, 1),
        "ceiling": rng.choice((127, 60)),
    }
    # Nearly all outputs are clipped; some of them; or sums and biases are such that a carry too few or too many gives
    # an output that is not.
    final |= rng.choice(({}, {"spread": min(SMALL << final["shift"], 1 << 31)}, {"spread": SMALL, "unit": 1 << 30}))
    return Task(shape, loops, extents, steps, **final, **changes)


def words_of(task: Task) -> Counter[str]:
    """Each aligned word of a row of a tile once, partial sums one by one, a bias for each channel of a tile; once for
    all tiles within the loops that biases are kept in."""
    words: Counter[str] = Counter()
    biases: set[tuple[Range, ...]] = set()
    for before, tile in task.tiles():
        (m, y, x) = (tile[dim] for dim in "myx")
        rows = (m[1] - m[0]) * (y[1] - y[0])
        elements = rows * (x[1] - x[0])
        if before:
            words["partial read"] += elements
        if before + 1 < task.extents["c"]:
            words["partial write"] += elements
        else:
            words["output"] += rows * ((x[1] - 1) // 4 - x[0] // 4 + 1)
            kept_for = tuple(tile[dim] for dim in task.loops[: task.around_biases] if dim != "c")
            words["bias"] += task.parameters().record_words * sum(
                1 for channel in range(*m) if ((channel, channel + 1), *kept_for) not in biases
            )
            biases.update(((channel, channel + 1), *kept_for) for channel in range(*m))
    return words


@pytest.mark.parametrize(
    ("shape", "stalls", "tasks"),
    [
        *((shape, True, 2) for shape in FEW_SHAPES),
        *(pytest.param(shape, stalls, 8, marks=pytest.mark.nightly) for shape in SHAPES for stalls in (False, True)),
    ],
)
def test_outputs_and_words_for_every_shape(shape: str, stalls: bool, tasks: int) -> None:
    rng = Random(f"{shape} {stalls}")
    for seed in range(tasks):
        task = task_for(SHAPES[shape], ORDERS[seed % 2], rng, depth_in_tiles=rng.choice((1.0, 1.5, 2.0, 3.4)))
        check(task, stalls, seed)


@pytest.mark.parametrize(
    ("along_c", "stalls", "tasks"),
    [
        *((along_c, True, 2) for along_c in (4, 16)),
        *(
            pytest.param(along_c, stalls, 8, marks=pytest.mark.nightly)
            for along_c in (2, 8, 32)
            for stalls in (False, True)
        ),
    ],
)
def test_vectors_that_are_asked_for_before_the_one_before_has_come(along_c: int, stalls: bool, tasks: int) -> None:
    """With stalls many of them are lost."""
    rng = Random(f"c{along_c} {stalls}")
    for seed in range(tasks):
        task = task_for((4, 1, 1), ORDERS[seed % 2], rng, depth_in_tiles=rng.choice((1.0, 1.5, 2.0, 3.4)))
        assert replace(task, along_c=along_c).parameters().overlaps == (along_c > 1)
        check(replace(task, along_c=along_c), stalls, seed)


@pytest.mark.parametrize(
    ("along_c", "apart"), [(1, (4, 4)), (2, (4, 4)), (4, (4, 4)), (8, (4, 6)), (16, (4, 7)), (32, (4, 8))]
)
def test_how_often_vectors_leave(along_c: int, apart: tuple[int, int]) -> None:
    """Every fourth cycle, but the one after the next is asked for when this one has come."""
    loops, steps = ORDERS[0], {0: 4, 1: 1, 2: 24, 3: 1, 4: 1, 5: 4, 6: 1, 7: 1}
    task = Task((4, 1, 1), loops, {"m": 4, "c": 1, "k": 1, "l": 1, "y": 1, "x": 24}, steps, along_c=along_c)
    around, _ = run(task, stalls=False)
    times = around.unloads
    assert len(times) == 24
    assert {later - time for time, later in pairwise(times)} == set(apart)


def check(task: Task, stalls: bool, seed: int) -> None:
    """Outputs, the bytes beside them, and the words that were accessed."""
    around, expected = run(task, stalls, seed)
    extents, pitch = task.extents, task.pitch()
    rows = around.memory[OUTPUTS : OUTPUTS + extents["m"] * extents["y"] * pitch].view(np.int8)
    rows = rows.reshape(extents["m"], extents["y"], pitch)
    assert np.array_equal(rows[:, :, : extents["x"]], expected), task
    assert (rows[:, :, extents["x"] :].view(np.uint8) == 0xA5).all(), task
    assert +around.words == +words_of(task), task
