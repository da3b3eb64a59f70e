"""Random small layers with schedules that a given HWC can run: the loop order is fixed, everything else is drawn."""

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Literal

import numpy as np

from cosim.hwc.layer_data import randomly_requantised
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware, Order
from hwgen.ir.lanes import LANE_DIMS, PORT_WIDTHS, Lanes, Ports
from hwgen.ir.layer import AS_IT_IS, DIMS, TAPS, Dim, Form, Layer
from hwgen.ir.schedule import ARRAYS, Bits, Loop, Marker, Schedule
from hwgen.lower.hwc import compile_layer
from hwgen.model.cycle_bound import windowed
from tests.random.nests import with_biases

__all__ = [
    "HWCS", "WINDOWS", "hwc", "if_it_runs", "in_random_form", "in_window", "order_from", "random_depthwise",
    "random_hwc", "random_layer", "schedules_for",
]  # fmt: skip

# Lanes, loop dimensions and markers, outermost first; a letter of I, W and O stands for its marker.
HWCS: dict[str, tuple[Lanes, str]] = {
    "fig8": (Lanes(x=16), "m y x O c IW y k m l"),  # near Fig. 8 of Stoutchinin et al. 2019: rows slide, W stays
    "two_tiles": (Lanes(x=16), "m c y x O c y k W I m x l"),  # I held over m; partial sums leave; two splits
    "inputs_far_out": (Lanes(x=16), "W m I y x k l O c"),  # I slides along y over the whole width; W is held for all
    "rows_of_kernel": (Lanes(x=16), "x m c k O c I y W x m l k"),  # k split in two; I replaced along c
    "kept_in_registers": (Lanes(x=16), "m y x c k l"),  # no marker at all: everything is fetched in every iteration
    "outputs_of_a_row": (Lanes(x=16), "m c O y I x W k m l"),  # O's marker above a loop that keeps nothing of it
    "partial_sums": (Lanes(x=16), "c m k y x O l I m c y x k"),  # the kernel's loops around and inside O's
    "channels_and_columns": (Lanes(m=8, x=2), "m y x O c I k W l m y x"),
    "channels": (Lanes(m=16), "c m y x O c I k W l y x m"),  # a pixel for all lanes; partial sums leave
    "squares": (Lanes(y=4, x=4), "m y x O c IW k y m l x"),
    "rows": (Lanes(y=16), "m c I y x O k W l c m y"),  # a column of rows; I slides along y
    "columns": (Lanes(m=4, x=4), "m y O c k I x W l m y x"),  # I slides along x
    "columns_of_kernel": (Lanes(m=8, x=2), "m y x O c I l W k m x y"),  # ... and along l
    "everything": (Lanes(m=2, y=2, x=4), "x m y c O k I m y W x l c"),
    "sums_of_channels": (Lanes(m=4, c=4), "m y x O c IW y x k l c m"),  # W stays while rows slide
    "sixty_four": (
        Lanes(m=4, c=8, x=2),
        "c m y O k I c x W l y x c m",
    ),  # two splits of c inside I; partial sums leave
    "one_sum": (Lanes(c=16), "m y O c I x W k l y c"),  # fewer sums than a word has outputs
    "window": (Lanes(m=4, c=4), "m y x O c I k W l m y x"),  # columns pass through a window
    "wide_window": (Lanes(m=4, c=8), "x m k O y I c W l k y m x"),  # ... partial sums leave, rows slide
}
WINDOWS = {"window", "wide_window"}
"""Those of them that have a window for columns."""
WIDE = {
    *("columns", "partial_sums", "channels_and_columns", "channels", "rows", "everything"),
    *("sums_of_channels", "sixty_four", "one_sum"),
}
"""Those of them that compute with 16-bit operands too."""
BIAS_WORDS = (64, 16, 8, 0, 2, 32, 16)
"""Sizes of bias stores, from one HWC to the next."""


def hwc(name: str) -> Hardware:
    """One of the HWCs above, with room for any small layer."""
    lanes, order = HWCS[name]
    bits: Literal[8, 16] = 16 if name in WIDE else 8
    buffers = {"I": 96 * bits * lanes.y * lanes.c, "W": 256 * lanes.c, "O": 4096}
    return Hardware(
        name=name,
        lanes=lanes,
        budget=1 << 16,
        buffers=buffers,
        order=order_from(order),
        operand_bits=bits,
        bias_words=BIAS_WORDS[list(HWCS).index(name) % len(BIAS_WORDS)],
        position_bits=(8, 16, 11)[list(HWCS).index(name) % 3],
        requantisation="scaled" if name == "window" else "shift",
        column_window=name in WINDOWS,
    )


def random_hwc(rng: Random, name: str) -> Hardware:
    """Any order with one or two loops over each dimension, markers anywhere or nowhere, any shape of the lanes."""
    loops: list[Dim | Marker] = [dim for dim in DIMS for _ in range(rng.choice((1, 1, 2)))]
    rng.shuffle(loops)
    places = {array: rng.randrange(len(loops)) for array in ARRAYS if rng.random() < 0.9}
    order: list[Dim | Marker] = []
    for index, loop in enumerate(loops):
        order += [Marker((array,)) for array in ARRAYS if places.get(array) == index]
        order.append(loop)
    lanes = rng.choice(Lanes.shapes(rng.choice((4, 8, 16, 16, 32, 64)), LANE_DIMS))
    bits: Literal[8, 16] = (rng if lanes.c == 1 else Random(f"bits {order} {lanes}")).choice((8, 16))
    buffers = {"I": 1536 * lanes.y * lanes.c, "W": 512 * lanes.c, "O": 512 * max(16, lanes.sums)}
    ports = Random(f"ports {order}")
    return Hardware(
        name=name,
        lanes=lanes,
        budget=1 << 18,
        buffers=buffers,
        order=tuple(order),
        operand_bits=bits,
        bias_words=Random(str(order)).choice(BIAS_WORDS),
        in_flight=ports.choice((4, 4, 1, 2, 7)),
        ports=_random_ports(ports, lanes),
        block_ram=ports.random() < 0.3,
        lane_registers=bits == 8 and ports.random() < 0.4,
    )


def _random_ports(rng: Random, lanes: Lanes) -> Ports:
    """Any widths; but each copy of the input memory has as many banks as its port has bytes: few copies, if many."""
    most = PORT_WIDTHS[-1] // (lanes.y * lanes.c)
    inputs = [width for width in PORT_WIDTHS if width <= max(most, PORT_WIDTHS[0])]
    return Ports(I=rng.choice(inputs), W=rng.choice(PORT_WIDTHS), O=rng.choice(PORT_WIDTHS))


def order_from(text: str) -> Order:
    """An order from its short form."""
    return tuple(Marker(tuple(word)) if word.isupper() else word for word in text.split())  # type: ignore[arg-type, misc]


def schedules_for(hardware: Hardware, rng: Random, count: int, most_macs: int) -> list[Schedule]:
    """So many random schedules that the hardware runs, requantised at random; layers without any are drawn again."""
    assert hardware.order is not None
    found: list[Schedule] = []
    for _ in range(1000 * count):
        if hardware.column_window and rng.random() < 0.7:
            layer = random_depthwise(rng, f"random_{len(found)}", most_macs)
            schedule = in_window(rng, layer, hardware, partial(_that_runs, hardware))
        else:
            schedule = _that_runs(hardware, rng, random_layer(rng, f"random_{len(found)}", most_macs))
            schedule = schedule and in_random_form(schedule, partial(_that_runs, hardware))
        if schedule is not None:
            rng_of_its_own = np.random.default_rng([zlib.crc32(hardware.name.encode()), len(found)])
            found.append(randomly_requantised(schedule, rng_of_its_own))
            if len(found) == count:
                return found
    raise AssertionError(f"{hardware.name}: only {len(found)} of {count} schedules can be run")


def random_layer(rng: Random, name: str, most_macs: int) -> Layer:
    """Strides to 4, kernels to 11, unequal padding, groups, depthwise, maps smaller than the kernel."""
    while True:
        groups = rng.choice((1, 1, 1, 2, 3))
        per_group, outputs = rng.randint(1, 5), groups * rng.randint(1, rng.choice((5, 20)))
        if rng.random() < 0.15:
            groups = rng.randint(2, 5)
            per_group, outputs = 1, groups * rng.randint(1, 2)
        kernel = tuple(rng.choice((1, 2, 3, 3, 5, rng.randint(1, 11))) for _ in range(2))
        stride = tuple(rng.choice((1, 1, 2, rng.randint(1, 4))) for _ in range(2))
        padding = tuple(rng.choice((0, 1, 1, rng.randint(0, 3))) for _ in range(4))
        height, width = rng.randint(1, 12), rng.choice((rng.randint(1, 12), rng.randint(12, 60)))
        padded = height + padding[0] + padding[2], width + padding[1] + padding[3]
        if padded[0] < kernel[0] or padded[1] < kernel[1]:
            continue
        layer = Layer(
            name=name, input_channels=groups * per_group, output_channels=outputs, input_height=height,
            input_width=width, kernel=kernel, stride=stride, padding=padding, groups=groups,
        )  # fmt: skip
        if most_macs // 20 <= layer.macs <= most_macs:
            return layer


def random_depthwise(rng: Random, name: str, most_macs: int) -> Layer:
    """Kernels of 2 to 4 columns, most of which may pass through a window."""
    while True:
        channels, height, width = rng.randint(2, 4) * rng.randint(1, 3), rng.randint(1, 12), rng.randint(1, 30)
        kernel, stride = (rng.randint(1, 4), rng.choice((2, 3, 3, 4))), (rng.randint(1, 4), rng.choice((1, 1, 2, 3)))
        padding = tuple(rng.choice((0, 1, 1, rng.randint(0, 3))) for _ in range(4))
        if height + padding[0] + padding[2] < kernel[0] or width + padding[1] + padding[3] < kernel[1]:
            continue
        layer = Layer(
            name=name, op="depthwise_conv", input_channels=channels, output_channels=channels, input_height=height,
            input_width=width, kernel=kernel, stride=stride, padding=padding, groups=channels,
        )  # fmt: skip
        if layer.macs <= most_macs:
            return layer


def in_window(
    rng: Random, layer: Layer, hardware: Hardware, draw: Callable[[Random, Layer], Schedule | None]
) -> Schedule | None:
    """A schedule of a depthwise layer whose columns pass through a window; None where none is found.

    ``draw`` : a schedule of a layer that the hardware runs.
    """
    forms = windowed(layer, hardware.shape)
    drawn = (draw(rng, rng.choice(forms)) for _ in range(300 if forms else 0))
    return next((schedule for schedule in drawn if schedule is not None), None)


def in_random_form(schedule: Schedule, draw: Callable[[Random, Layer], Schedule | None]) -> Schedule:
    """The schedule as it is, or for about a third one of its layer in another form: see `hwgen.ir.layer.Form`.

    ``draw`` : a schedule of a layer that the hardware runs. Random numbers are its own, so that nothing else changes.
    """
    rng, layer = Random(f"form of {schedule.layer.shape_data}"), schedule.layer
    at_once = [number for number in range(2, layer.groups + 1) if layer.groups % number == 0]
    form = AS_IT_IS
    if at_once and rng.random() < 0.6:
        form = Form(groups_at_once=rng.choice(at_once))
    elif rng.random() < 0.25:
        form = Form(taps_as_channels=rng.choice(TAPS))
    if form != AS_IT_IS:
        for _ in range(30):
            found = draw(rng, layer.in_form(form))
            if found is not None and found.bits == schedule.bits:
                return found
    return schedule


def _scheduled(rng: Random, layer: Layer, hardware: Hardware) -> Schedule | None:
    """Random steps for the loops of an order; None if the last loop of a dimension cannot get down to the lanes."""
    order, lanes = hardware.order or (), hardware.lanes
    bits = rng.choice([8, hardware.operand_bits])
    if bits == 16:
        lanes = lanes.halved()
    left = dict(layer.extents)
    last = {item: index for index, item in enumerate(order) if not isinstance(item, Marker)}
    nest: list[Loop | Marker] = []
    for index, item in enumerate(order):
        if isinstance(item, Marker):
            nest.append(item)
            continue
        most = lanes.along(item)
        steps = _steps(rng, left[item], most) if index < last[item] else (most, most, rng.randint(1, most))
        left[item] = min(left[item], rng.choice(tuple(steps)))
        nest.append(Loop(item, left[item]))
    if any(rest > lanes.along(dim) for dim, rest in left.items()):
        return None
    schedule = Schedule(
        layer=layer,
        bits=Bits(I=bits, W=bits, O=bits),
        nest=tuple(nest),
        lanes=lanes,
        ports=hardware.ports,
        requantisation=hardware.requantisation,
        lane_registers=hardware.lane_registers,
    )
    return with_biases(schedule, hardware.bias_words)


def _steps(rng: Random, extent: int, unit: int) -> Iterator[int]:
    yield extent
    yield rng.randint(1, extent)
    yield unit * rng.randint(1, -(-extent // unit))


def _that_runs(hardware: Hardware, rng: Random, layer: Layer) -> Schedule | None:
    return if_it_runs(_scheduled(rng, layer, hardware), lambda schedule: compile_layer(schedule, hardware))


def if_it_runs(schedule: Schedule | None, compiled: Callable[[Schedule], object]) -> Schedule | None:
    """The schedule, if there is one that compiles."""
    try:
        return schedule and compiled(schedule) and schedule
    except InputError:
        return None
