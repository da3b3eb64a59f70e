"""Programs of clusters: in any order they compute the layer, and what the DMA moves is what the model says."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from random import Random
from typing import Any

import numpy as np
import pytest

from cosim.hwc.layer_data import expected_output, random_data, random_scales
from hwgen.arch.commands import Command, Opcode, Queue, encode
from hwgen.arch.descriptor import Descriptor
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.lanes import Ports
from hwgen.ir.layer import IMAGE
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.program import ClusterProgram, compile_cluster
from hwgen.model.cluster.parts import loads, stores
from hwgen.model.cluster.placement import Stay
from hwgen.model.cluster.tile_order import TILE_DIMS
from hwgen.model.dram.counts import runs_of
from tests.lower.hwc.test_program import schedule
from tests.oracles.cluster_interpreter import Machine, ProgramError
from tests.random.clusters import cluster_schedules
from tests.random.layers import HWCS, hwc

CLUSTER = Cluster(tcdm=1 << 16)
PORTS = {"two_tiles": Ports(I=128), "squares": Ports(W=64, O=256), "everything": Ports(I=64, W=512, O=64)}
"""Of all others 32 bits."""
WIDE = ("sums_of_channels", "everything")
"""Those that run layers of 16-bit operands, too."""
NAMES = ("fig8", "two_tiles", "rows_of_kernel", "sums_of_channels", "squares", "everything")


def cases(name: str, count: int, *, images: bool = False) -> Iterator[tuple[Schedule, Hardware]]:
    bits, ports = 16 if name in WIDE else 8, PORTS.get(name, Ports())
    hardware = hwc(name).model_copy(update={"operand_bits": bits, "ports": ports, "cluster": CLUSTER})
    assert name in HWCS
    for case in cluster_schedules(hardware, Random(name), count, images=images):
        yield case, hardware


@pytest.mark.parametrize("name", ["two_tiles", "squares"])
def test_programs_scale_the_sums_of_channels(name: str) -> None:
    hardware = hwc(name).model_copy(update={"operand_bits": 8, "requantisation": "scaled", "cluster": CLUSTER})
    for number, case in enumerate(cluster_schedules(hardware, Random(name), 5)):
        rng = np.random.default_rng(number)
        data, form = random_data(case.layer, rng), random_scales(case.layer, rng)
        program = compile_cluster(case, hardware, requantisation=form)
        assert is_computed(program, program.commands, data, number), number


def is_computed(program: ClusterProgram, commands: tuple[Command, ...], data: Any, seed: int) -> bool:
    """Whether the commands leave the right output, in an order that the seed stands for; nothing else may change."""
    rng = np.random.default_rng(seed)
    before = program.image(data.inputs, data.weights, data.bias).view(np.uint8).copy()
    written = np.zeros(len(before), np.bool_)
    for region in (program.layout.output, program.layout.partial):
        written[region.base : region.base + region.size] = True
    before[written] = rng.integers(0, 256, int(written.sum()), np.uint8)
    dram = before.copy()
    tcdm = rng.integers(0, 256, CLUSTER.tcdm, np.uint8)
    machine = Machine(program.parameters, program.cluster.hwcs, dram, tcdm, program.rings, Random(seed))
    machine.run(encode(commands))
    assert np.array_equal(dram[~written], before[~written])
    expected = expected_output(program.schedule.layer, data, program.requantisation)
    return np.array_equal(program.output(dram.view("<u4")), expected)


@pytest.mark.parametrize("name", NAMES)
def test_programs_compute_the_layer_in_any_order(name: str) -> None:
    for number, (case, hardware) in enumerate(cases(name, 8)):
        data = random_data(case.layer, np.random.default_rng(number), case.bits.I)
        for serial in (False, True):
            program = compile_cluster(case, hardware, serial=serial)
            assert is_computed(program, program.commands, data, number), (number, serial)


def images_of(stays: tuple[Stay, ...]) -> int:
    """The most images of which something is resident at a time."""
    images = TILE_DIMS.index(IMAGE)
    return max(stay.ranges[images][1] - stay.ranges[images][0] for stay in stays)


@pytest.mark.parametrize("name", NAMES)
def test_programs_compute_batches_in_any_order(name: str) -> None:
    seen: Counter[str] = Counter()
    for number, (case, hardware) in enumerate(cases(name, 6, images=True)):
        data = random_data(case.layer, np.random.default_rng(number), case.bits.I)
        assert data.inputs.shape[0] == case.layer.batch > 1
        program = compile_cluster(case, hardware, serial=number % 3 == 0)
        assert is_computed(program, program.commands, data, number), number
        placed = program.placement
        seen["W serves several images"] += images_of(placed.W.stays) > 1
        seen["I of several images"] += images_of(placed.I.stays) > 1
        seen["O of several images"] += images_of(placed.O.stays) > 1
    assert len(seen) == 3
    assert min(seen.values()) >= 1, seen


def test_the_maps_of_a_batch_follow_each_other() -> None:
    """In the DRAM, and in the TCDM where it holds several; W is there once."""
    nest = [{"buffer": {"tcdm": ["I", "W"]}}, {"y": 6}, {"buffer": {"tcdm": "O"}}, {"n": 1}, *LOCAL]
    program = compile_cluster(schedule(nest, batch=3))
    (inputs,), (weights,) = program.placement.I.stays, program.placement.W.stays
    assert inputs.touch == inputs.new == (((0, 6),), ((0, 6),), ((0, 20),))
    assert program.placement.I.size == 5 * program.placement.I.plane + 6 * 20
    assert (weights.first, weights.last) == (0, 2)
    outputs = program.placement.O.stays
    assert [stay.touch[0] for stay in outputs] == [((0, 4),), ((4, 8),), ((8, 12),)]
    layout = program.layout
    assert (layout.inputs.size, layout.weights.size, layout.output.size) == (3 * 240, 72, 3 * 480)
    stored = [
        Descriptor.decode(command.payload).dram_address
        for command in program.commands
        if command.queue is Queue.STORE
    ]
    assert [at - layout.output.base for at in stored] == [0, 480, 960]


def tokens(commands: tuple[Command, ...]) -> Iterator[tuple[Queue, Queue, int, int]]:
    """Every token: from which queue to which one, and the commands that post and take it."""
    for source in (Queue.LOAD, Queue.COMPUTE, Queue.STORE):
        for sink in (Queue.LOAD, Queue.COMPUTE, Queue.STORE):
            posts = [i for i, one in enumerate(commands) if one.queue is source and sink in one.posts]
            takes = [i for i, one in enumerate(commands) if one.queue is sink and source in one.takes]
            assert len(posts) == len(takes)
            yield from ((source, sink, *pair) for pair in zip(posts, takes, strict=True))


def test_every_kind_of_token_is_needed() -> None:
    """Without one of them some order of the commands goes wrong."""
    failed, seen = set(), set()
    for number, (case, hardware) in enumerate(cases("two_tiles", 8)):
        data = random_data(case.layer, np.random.default_rng(number), case.bits.I)
        program = compile_cluster(case, hardware)
        for source, sink, post, take in tokens(program.commands):
            seen.add((source, sink))
            if (source, sink) in failed:
                continue
            commands = list(program.commands)
            commands[post] = replace(commands[post], posts=commands[post].posts - {sink})
            commands[take] = replace(commands[take], takes=commands[take].takes - {source})
            for seed in range(4):
                try:
                    right = is_computed(program, tuple(commands), data, seed)
                except ProgramError:
                    right = False
                if not right:
                    failed.add((source, sink))
                    break
    assert seen == failed
    assert len(seen) == 5  # compute, load, store to each other; no store waits for a load alone


def test_streams_are_those_of_the_model() -> None:
    """Run by run, for both streams; a run may be cut where it goes on at once."""
    resumed = slid = 0
    for name in NAMES:
        for case, hardware in chain(cases(name, 8), cases(name, 4, images=True)):
            program = compile_cluster(case, hardware)
            for queue, parts in ((Queue.LOAD, loads(program.schedule)), (Queue.STORE, stores(program.schedule))):
                moved = [
                    (dram, dram + descriptor.length)
                    for command in program.commands
                    if command.queue is queue and command.opcode is Opcode.MOVE
                    for descriptor in [Descriptor.decode(command.payload)]
                    for dram, _ in descriptor.runs()
                ]
                expected = [
                    run
                    for part in parts
                    for run in zip(
                        *map(np.ndarray.tolist, runs_of(program.schedule, program.layout, part)), strict=True
                    )
                ]
                assert joined(moved) == joined(expected)
            resumed += any(stay.new for stay in program.placement.O.stays)
            slid += any(stay.new not in ((), stay.touch) for stay in program.placement.I.stays)
    assert min(resumed, slid) >= 5


def joined(runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    result: list[tuple[int, int]] = []
    for start, stop in runs:
        if result and result[-1][1] == start:
            result[-1] = (result[-1][0], stop)
        else:
            result.append((start, stop))
    return result


LOCAL: list[dict[str, Any]] = [
    *({"x": 16}, {"buffer": "O"}, {"c": 1}, {"buffer": ["I", "W"]}, {"y": 1}, {"k": 1}, {"m": 1}, {"l": 1})
]
IN_TCDM = {"buffer": {"tcdm": ["I", "W", "O"]}}
HALVES = {"buffer": {"tcdm": ["I", "W", "O"], "double": "halves"}}


def test_rows_that_slide_are_loaded_once_and_stay_in_place() -> None:
    program = compile_cluster(schedule([IN_TCDM, {"y": 2}, *LOCAL]))
    first, second, third = program.placement.I.stays
    # Two channels of 6 rows of 20: rows 0 to 2, then 3 and 4, then 5; at most 3 + 2 rows at once.
    assert [stay.new[1] for stay in (first, second, third)] == [((0, 3),), ((3, 5),), ((5, 6),)]
    assert first.origin == second.origin == third.origin
    assert (program.placement.I.pitch, program.placement.I.plane) == (20, 5 * 20)
    assert program.placement.I.size == 5 * 20 + 5 * 20
    assert len(program.placement.W.stays) == 1
    # Four channels of two rows, 40 bytes, and a word between them: an odd number of words from channel to channel.
    assert [stay.high - stay.low for stay in program.placement.O.stays] == [3 * 44 + 40] * 3


def test_in_halves_every_tile_is_loaded_whole_beside_the_one_before() -> None:
    program = compile_cluster(schedule([HALVES, {"y": 2}, *LOCAL]))
    placed = program.placement.I
    # Two channels of rows 0 to 2, 1 to 4 and 3 to 5: four rows of 20 at most, and a word between the channels.
    assert [stay.new[1] for stay in placed.stays] == [((0, 3),), ((1, 5),), ((3, 6),)]
    assert (placed.pitch, placed.plane, placed.size) == (20, 84, 2 * (84 + 80))
    assert [stay.low for stay in placed.stays] == [0, 164, 328]
    assert len(program.placement.W.stays) == 3
    loads = [command for command in program.commands if command.queue is Queue.LOAD]
    # The third tile's loads wait for the work on the first one; the second one's for nothing.
    assert [Queue.COMPUTE in command.takes for command in loads].count(True) == 1


def test_only_changed_registers_are_written() -> None:
    program = compile_cluster(schedule([IN_TCDM, {"y": 2}, {"m": {"step": 1, "over": "hwc"}}, *LOCAL]))
    written = [
        (command.mask, len(command.payload) - 1) for command in program.commands if command.opcode is Opcode.CONFIGURE
    ]
    first = next(i for i, command in enumerate(program.commands) if command.opcode is Opcode.JOIN)
    before = [command for command in program.commands[:first] if command.opcode is Opcode.CONFIGURE]
    behind = written[len(before) :]
    assert {mask for mask, _ in behind} == {0xF, 0x1, 0x2, 0x4, 0x8}
    assert sum(number for _, number in behind) < sum(number for _, number in written) / 4


@pytest.mark.parametrize(
    ("nest", "changes", "tcdm", "message"),
    [
        (LOCAL, {}, 4096, "tcdm"),
        ([HALVES, {"y": 2}, *LOCAL], {"output_channels": 8}, 1024,
         "the TCDM needs 1344 bytes (I 320, W 288, O 640, biases 64), it has 1024"),
        ([IN_TCDM, {"y": 2}, *LOCAL], {"output_channels": 8}, 1024,
         "the TCDM needs 1152 bytes (I 200, W 144, O 640, biases 64), it has 1024"),
        (
            [IN_TCDM, {"y": 2}, {"m": {"step": 3, "over": "hwc"}}, *LOCAL], {"groups": 2, "output_channels": 8}, 4096,
            "output channels 3 to 5 of one HWC's share of a tile begin or end inside a group of 4",
        ),
        ([IN_TCDM, {"y": 2}, *LOCAL], {"stride": [5, 1]}, 4096, "stride: expected at most 4"),
    ],
)  # fmt: skip
def test_refuses_what_the_cluster_cannot_run(
    nest: list[dict[str, Any]], changes: dict[str, Any], tcdm: int, message: str
) -> None:
    hardware = Hardware(name="small", budget=4096, cluster=Cluster(tcdm=tcdm))
    with pytest.raises(InputError) as error:
        compile_cluster(schedule(nest, **changes), hardware)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_constants_of_the_hardware_that_a_layer_does_not_have_are_refused() -> None:
    """Of a cluster, too, of which no register has the value."""
    case, hardware = next(cases("fig8", 1))
    stride = case.layer.stride[0]
    for value, refused in ((stride, False), (stride % 4 + 1, True)):
        fixed = hardware.model_copy(update={"constants": {"stride_y": value}})
        if not refused:
            assert compile_cluster(case, fixed).parameters.constants == (("stride_y", stride),)
            continue
        with pytest.raises(InputError, match=f"stride_y: the hardware is fitted to {value}, got {stride}"):
            compile_cluster(case, fixed)
    with pytest.raises(InputError, match="constants, setting_bits: expected settings of the HWC, got strid"):
        compile_cluster(case, hardware.model_copy(update={"constants": {"strid": 1}}))
