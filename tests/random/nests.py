"""Random layers and nests for every test that needs them: plain seeded generators and hypothesis strategies."""

from collections.abc import Iterator
from random import Random

from hypothesis import strategies as st

from hwgen.ir.lanes import OUTPUT_LANE_DIMS, Lanes
from hwgen.ir.layer import DIMS, Dim, Layer
from hwgen.ir.schedule import ARRAYS, Bits, Loop, Marker, Schedule

__all__ = [
    "cases",
    "layer_of_few_loops",
    "random_bits",
    "random_layer",
    "random_schedule",
    "schedules",
    "with_biases",
]


def random_layer(rng: Random, *, most_macs: int = 1500, most_stride: int = 5, most_kernel: int = 5) -> Layer:
    """A small layer: strides beyond the kernel, groups, depthwise, unequal padding, maps smaller than the kernel."""
    while True:
        kernel = tuple(rng.choice((1, 1, 2, 3, 3, rng.randint(1, most_kernel))) for _ in range(2))
        kernel = tuple(min(size, most_kernel) for size in kernel)
        stride = tuple(rng.choice((1, 1, 1, 2, 2, 3, rng.randint(1, most_stride))) for _ in range(2))
        stride = tuple(min(step, most_stride) for step in stride)
        most_pad = rng.choice((0, 1, max(kernel) - 1, max(kernel)))
        padding = tuple(rng.randint(0, most_pad) for _ in range(4))
        size = tuple(rng.choice((1, 2, rng.randint(1, 6), rng.randint(1, 14))) for _ in range(2))
        padded = (size[0] + padding[0] + padding[2], size[1] + padding[1] + padding[3])
        if padded[0] < kernel[0] or padded[1] < kernel[1]:
            continue
        groups = rng.choice((1, 1, 1, rng.randint(2, 4)))
        depthwise = groups > 1 and rng.random() < 0.5
        per_group = 1 if depthwise else rng.randint(1, rng.choice((2, 6)))
        layer = Layer(
            name="random", op="depthwise_conv" if depthwise else "conv", input_channels=groups * per_group,
            output_channels=groups * rng.randint(1, rng.choice((2, 6))), input_height=size[0], input_width=size[1],
            kernel=kernel, stride=stride, padding=padding, groups=groups,
        )  # fmt: skip
        if layer.macs <= most_macs:
            return layer


def layer_of_few_loops(rng: Random, *, most_x: int = 7) -> Layer:
    """At most three loops of more than one iteration, at most two of them with tile loops: m, c, y or x."""
    while True:
        dims = rng.sample(["m", "c", "y", "x", "k", "l"], 3)
        if sum(dim in "mcyx" for dim in dims) > 2:
            continue
        kernel = [rng.randint(2, 4) if dim in dims else 1 for dim in "kl"]
        stride = [rng.choice((1, 1, 2, 3)) for _ in range(2)]
        outputs = [rng.randint(2, 7) if "y" in dims else 1, rng.randint(2, most_x) if "x" in dims else 1]
        groups = rng.choice((1, 1, 2, 3)) if "m" in dims else 1
        per_group = rng.randint(1, 3) if groups > 1 else rng.randint(2, 7) if "m" in dims else 1
        padding = [rng.randint(0, kernel[side % 2]) for side in range(4)]
        inputs = [
            (outputs[i] - 1) * stride[i] + kernel[i] - padding[i] - padding[i + 2] + rng.randint(0, stride[i] - 1)
            for i in range(2)
        ]
        if min(inputs) >= 1:
            return Layer(
                name="random", input_channels=groups * (rng.randint(2, 6) if "c" in dims else 1),
                output_channels=groups * per_group, input_height=inputs[0], input_width=inputs[1],
                output_height=outputs[0], output_width=outputs[1], kernel=(kernel[0], kernel[1]),
                stride=(stride[0], stride[1]), padding=(padding[0], padding[1], padding[2], padding[3]),
                groups=groups,
            )  # fmt: skip


def random_bits(rng: Random) -> Bits:
    """Mostly the hardware's widths, sometimes any."""
    if rng.random() < 0.6:
        return Bits()
    return Bits(I=8 * rng.randint(1, 4), W=8 * rng.randint(1, 4), O=8 * rng.randint(1, 4), acc=8 * rng.randint(1, 6))


def random_schedule(
    rng: Random,
    layer: Layer,
    *,
    lane_dims: tuple[Dim, ...] = OUTPUT_LANE_DIMS,
    most_lanes: int = 5,
    most_splits: int = 3,
    bits: Bits | None = None,
) -> Schedule:
    """Any nest of one memory level: each dimension cut up to ``most_splits`` times, markers anywhere or nowhere."""
    lanes = Lanes.from_data({dim: rng.randint(1, most_lanes) for dim in lane_dims if rng.random() < 0.3})
    chains = {dim: list(_steps(rng, layer.extents[dim], lanes.along(dim), most_splits)) for dim in DIMS}
    loops: list[Loop | Marker] = []
    while any(chains.values()):
        dim = rng.choice([dim for dim in DIMS if chains[dim]])
        loops.append(Loop(dim, chains[dim].pop(0)))
    if not loops:
        loops.append(Loop("m", layer.extents["m"]))
    schedule = Schedule(layer=layer, bits=bits or Bits(), nest=tuple(_marked(rng, loops)), lanes=lanes)
    return with_biases(schedule, layer.output_channels)


def with_biases(schedule: Schedule, most: int) -> Schedule:
    """The same schedule, or with up to ``most`` biases kept; drawn by the schedule itself."""
    rng = Random(str(schedule.nest))
    words = rng.choice((0, rng.randint(0, most), rng.randint(0, most)))
    return schedule.model_copy(update={"bias_words": words})


def _steps(rng: Random, extent: int, lanes: int, most: int) -> Iterator[int]:
    left = extent
    for _ in range(rng.choice((0, 0, 1, 1, most - 1))):
        left = rng.randint(1, left)
        yield left
    if left > lanes or rng.random() < 0.2:
        yield rng.randint(1, min(left, lanes))


def _marked(rng: Random, loops: list[Loop | Marker]) -> Iterator[Loop | Marker]:
    places = {array: rng.randrange(len(loops)) for array in ARRAYS if rng.random() < 0.85}
    for index, loop in enumerate(loops):
        arrays = tuple(array for array in ARRAYS if places.get(array) == index)
        if arrays:
            yield Marker(arrays)
        yield loop


def cases(seed: int, number: int, lane_dims: tuple[Dim, ...] = OUTPUT_LANE_DIMS) -> Iterator[Schedule]:
    """A fixed sequence of random schedules, each of its own random layer."""
    rng = Random(seed)
    for _ in range(number):
        yield random_schedule(rng, random_layer(rng, most_macs=4000), lane_dims=lane_dims, bits=random_bits(rng))


@st.composite
def schedules(draw: st.DrawFn, *, most_macs: int = 600) -> Schedule:
    """The same as a hypothesis strategy."""
    rng = draw(st.randoms(use_true_random=False))
    return random_schedule(rng, random_layer(rng, most_macs=most_macs), bits=random_bits(rng))
