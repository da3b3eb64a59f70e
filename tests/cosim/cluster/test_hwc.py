"""One HWC as a cluster has it: operands in rings and at any byte, layers that are a part of the reduction."""

from dataclasses import dataclass, replace
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from cosim.device.job import Outcome
from cosim.hwc.jobs import Job
from cosim.hwc.preparation import Run, prepare
from cosim.hwc.runner import run_jobs
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.latency import CONFIGURATION
from hwgen.arch.layer_forms import run_inputs, run_weights
from hwgen.arch.registers.control import Status
from hwgen.arch.registers.hwc import hwc_registers
from hwgen.export.cached import generated
from hwgen.golden.convolution import convolve
from hwgen.golden.requantisation import requantise
from hwgen.lower.hwc import compile_layer
from tests.random.layers import hwc, schedules_for

LAYERS = 6
PARTS = [(first, last) for first in (1, 0) for last in (1, 0)]
"""Whether the layer is the first part of the reduction, and whether it is the last one."""


@dataclass(frozen=True)
class Ring:
    """A part of the memory whose bytes are turned by some places."""

    base: int
    size: int
    turned: int

    def turn(self, memory: NDArray[np.uint32], by: int) -> None:
        """Move every byte ``by`` places up, around the end."""
        part = memory[self.base // 4 : (self.base + self.size) // 4]
        part[:] = np.roll(part.view(np.uint8), by).view(np.uint32)


@dataclass(frozen=True)
class Case:
    """A layer with its operands in rings, and what must be in memory afterwards."""

    run: Run
    job: Job
    rings: dict[str, Ring]
    outputs: tuple[int, int]
    partials: tuple[int, int]
    expected: NDArray[np.signedinteger]
    last: int

    def left(self, result: Outcome) -> NDArray[np.signedinteger]:
        """The outputs or partial sums in the memory."""
        memory = result.memory.copy()
        self.rings["o"].turn(memory, -self.rings["o"].turned)
        layer = self.run.program.schedule.layer
        if not self.last:
            base, _ = self.partials
            sums = memory[base // 4 : base // 4 + layer.output_elements].view(np.int32)
            return sums.reshape(self.expected.shape)
        base, pitch = self.outputs
        rows = memory.view(np.int8)[base : base + pitch * layer.output_channels * layer.output_height]
        shape = (layer.output_channels, layer.output_height, pitch)
        return rows.reshape(shape)[:, :, : layer.output_width]


def cluster_case(run: Run, name: str, rng: Random, first: int, last: int) -> Case:
    """The same layer, its operands turned around in rings, its rows beginning at any byte of a word."""
    program, layer = run.program, run.program.schedule.layer
    values = {name: value for name, _, value in run.job.registers}
    regions = program.regions
    random = np.random.default_rng(rng.randrange(1 << 30))
    end = regions["bias"].base + -(-regions["bias"].size // 64) * 64
    outputs, partials = values["output_plane"] * layer.output_channels + 4, 4 * layer.output_elements
    image = random.integers(0, 1 << 32, (end + outputs + partials) // 4, dtype=np.uint32)
    image[: end // 4] = run.job.image[: end // 4]
    held = random.integers(-(1 << 31), 1 << 31, layer.output_elements).astype(np.int32)
    image[(end + outputs) // 4 :] = held.view(np.uint32)
    skew = rng.randrange(4)
    sizes = {"i": regions["input"].size + 4, "w": regions["weights"].size, "o": outputs + partials}
    bases = {"i": regions["input"].base, "w": regions["weights"].base, "o": end}
    if sizes["i"] > bases["w"]:  # room for bytes that stick out of the last word
        sizes["i"] -= 4
    rings = {
        port: Ring(bases[port], sizes[port], rng.randrange(0, sizes[port], 1 if port == "i" else 4)) for port in "iwo"
    }
    for ring in rings.values():
        ring.turn(image, ring.turned)
    turned = {port: ring.turned for port, ring in rings.items()}
    values |= {
        "program_digest": parameters_of(run).digest,
        "input_base": (values["input_base"] + turned["i"]) % (1 << 32),
        "weight_base": values["weight_base"] + turned["w"],
        "output_base": end + skew + turned["o"],
        "partial_base": end + outputs + turned["o"],
        "partial_pitch": 4 * layer.output_width,
        "partial_plane": 4 * layer.output_width * layer.output_height,
        "first_part": first,
        "last_part": last,
        **{f"ring_{port}_end": ring.base + ring.size for port, ring in rings.items()},
        **{f"ring_{port}_size": ring.size for port, ring in rings.items()},
    }
    addresses = hwc_registers(parameters_of(run)).addresses
    sums = convolve(layer, run_inputs(layer, run.data.inputs), run_weights(layer, run.data.weights))
    if not first:
        sums = sums + held.reshape(sums.shape)
    expected: NDArray[np.signedinteger] = sums
    if last:
        expected = requantise(sums, run.data.bias, layer.requantisation_at(8))
    job = replace(
        run.job,
        name=name,
        registers=tuple((name, addresses[name], value) for name, value in values.items() if name in addresses),
        image=image,
        reads={},
        tells_memory=None,
        write_answers="all",
        cycle_limit=2 * run.job.cycle_limit,
    )
    pitch = values["output_pitch"]
    return Case(run, job, rings, (end + skew, pitch), (end + outputs, 4), expected, last)


def parameters_of(run: Run) -> HwcParameters:
    return replace(run.program.parameters, cluster=True)


@pytest.mark.parametrize(
    "name",
    [
        "two_tiles",
        *(
            pytest.param(name, marks=pytest.mark.nightly)
            for name in ("columns", "fig8", "squares", "columns_of_kernel")
        ),
    ],
)
def test_rings_at_any_byte_and_parts_of_the_reduction(name: str) -> None:
    rng, hardware = Random(f"rings of {name}"), hwc(name).model_copy(update={"operand_bits": 8})
    schedules = schedules_for(hardware, rng, LAYERS, most_macs=6000)
    cases = []
    for index, schedule in enumerate(schedules):
        for stalls in (False, True):
            run = prepare(compile_layer(schedule, hardware), index=index, seed=1, stalls=stalls)
            for first, last in PARTS:
                cases.append(cluster_case(run, f"{index} {stalls} {first} {last}", rng, first, last))
    results = run_jobs(generated(parameters_of(cases[0].run)), [case.job for case in cases], fast=False)
    for case, result in zip(cases, results, strict=True):
        assert result.only.status == Status.DONE, (result.name, hex(result.only.status))
        assert not any(result.violations.values()), result.name
        assert np.array_equal(case.left(result), case.expected), (result.name, case.run.program.schedule.as_data())


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["two_tiles"])
def test_without_rings_it_takes_as_long_and_fetches_as_much_as_one_that_stands_alone(name: str) -> None:
    schedules = schedules_for(hwc(name), Random("alike"), 3, most_macs=6000)
    runs = [
        prepare(compile_layer(schedule, hwc(name)), index=index, seed=1) for index, schedule in enumerate(schedules)
    ]
    addresses = hwc_registers(parameters_of(runs[0])).addresses
    none = {"program_digest": parameters_of(runs[0]).digest, "first_part": 1, "last_part": 1}
    none |= {f"ring_{port}_{what}": value for port in "iwo" for what, value in (("end", (1 << 32) - 1), ("size", 0))}
    shared = [
        replace(
            run.job,
            tells_memory=None,
            registers=tuple(
                (name, addresses[name], value)
                for name, value in {**{name: value for name, _, value in run.job.registers}, **none}.items()
                if name in addresses
            ),
        )
        for run in runs
    ]
    alone = run_jobs(generated(runs[0].program.parameters), [run.job for run in runs], fast=False)
    together = run_jobs(generated(parameters_of(runs[0])), shared, fast=False)
    for one, other in zip(alone, together, strict=True):
        assert other.cycles == one.cycles - CONFIGURATION
        assert other.only.tcdm == one.only.tcdm
        assert np.array_equal(other.memory, one.memory)
