"""What one schedule needs to be simulated and judged: test data, program, memory image, and the reference output."""

from collections.abc import Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cosim.hwc.jobs import WRITE_ANSWERS, Job
from cosim.hwc.layer_data import LayerData, expected_output, random_data
from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.registers.control import Control
from hwgen.arch.registers.hwc import STALLS, hwc_registers
from hwgen.arch.requantisation import records_content
from hwgen.lower.hwc import Program
from hwgen.model.nest.one_level import Prediction, predict

__all__ = ["Run", "prepare"]

FIELDS = {"input": "inputs", "weights": "weights", "bias": "bias"}
"""What the data call the operand of a region."""


@dataclass(frozen=True)
class Run:
    """One schedule on its way through the simulator.

    Members
    -------
    index : place among the schedules of a call.
    program, prediction : the schedule for the hardware, and what the model says about it.
    data : what the layer computes with.
    job : what the simulator is told.
    expected : the output [M, E, F].
    """

    index: int
    program: Program
    prediction: Prediction
    data: LayerData
    job: Job
    expected: "Future[NDArray[np.signedinteger]]"


def prepare(
    program: Program,
    *,
    index: int = 0,
    seed: int = 0,
    stream: int | None = None,
    stalls: bool = False,
    images: Mapping[str, NDArray[np.int8]] | None = None,
    references: Executor | None = None,
    folder: Path | None = None,
) -> Run:
    """Make everything that the simulation of a compiled schedule needs.

    Parameters
    ----------
    program : the schedule, compiled once.
    index : place among the schedules of a call.
    seed, stream : of the random numbers; two calls with both alike give the same. Without ``stream``: ``index``.
    stalls : grants and responses are to be withheld at random, by a memory of random latency.
    images : bytes of the regions input, weights and bias; what is not there is random.
    references : computes the reference output meanwhile; without, it is computed here and now.
    folder : where the memory image is kept, a layer set's images together being more than the memory may hold;
        without, it is kept in memory.
    """
    schedule, layer = program.schedule, program.schedule.layer
    rng = np.random.default_rng([seed, index if stream is None else stream])
    images = images or {}
    given = {FIELDS[region]: program.layout.unpacked(region, content) for region, content in images.items()}
    data = replace(random_data(layer, rng, schedule.bits.I), **given)
    requantisation = program.requantisation
    if "bias" in images and schedule.requantisation == "scaled":
        _, scales = records_content(images["bias"], schedule.requantisation)
        requantisation = replace(requantisation, scales=scales)
    prediction = predict(schedule)
    image = program.image(data.inputs, data.weights, data.bias).astype(np.uint32)
    for name, content in images.items():
        region = program.regions[name]
        image[region.base // WORD_BYTES : region.end // WORD_BYTES] = content.view(np.uint32)
    for name in ("output", "partial"):  # what was there before must not matter
        region = program.regions[name]
        words = slice(region.base // WORD_BYTES, (region.base + region.size) // WORD_BYTES)
        image[words] = rng.integers(0, 1 << 32, words.stop - words.start, dtype=np.uint32)
    if folder is not None:
        np.save(folder / f"{index}.npy", image)
        image = np.load(folder / f"{index}.npy", mmap_mode="r")
    limit = 100_000 + 40 * (prediction.iterations + prediction.counts.total_words())
    job = _job(program, f"{index}:{layer.name}", image, limit, int(rng.integers(1, 1 << 32)))
    if stalls:
        job = _stalled(job, rng)
    if references is None:
        expected: Future[NDArray[np.signedinteger]] = Future()
        expected.set_result(expected_output(layer, data, requantisation))
    else:
        expected = references.submit(expected_output, layer, data, requantisation)
    return Run(index, program, prediction, data, job, expected)


def rehearsal(program: Program, cycles: int) -> Job:
    """The first cycles of a compiled schedule on random operands, to see what its HWC is busy with."""
    image = np.random.default_rng(0).integers(0, 1 << 32, program.layout.size // WORD_BYTES, dtype=np.uint32)
    return _job(program, "rehearsal", image, cycles, random=1)


def _job(program: Program, name: str, image: NDArray[np.uint32], cycle_limit: int, random: int) -> Job:
    """A run of a compiled schedule from this image, without stalls."""
    addresses = hwc_registers(program.parameters).addresses
    return Job(
        name=name,
        registers=program.registers,
        start=program.start,
        status=program.status,
        acknowledge=(program.start[0], int(Control.CLEAR)),
        regions={name: (region.base, region.size) for name, region in program.regions.items()},
        image=image,
        cycle_limit=cycle_limit,
        random=random,
        reads={name: addresses[name] for name in ("cycles", *(f"stall_{what}" for what in STALLS))},
        ports=program.parameters.ports.each,
        tells_memory=addresses.get("write_answers"),
    )


def _stalled(job: Job, rng: np.random.Generator) -> Job:
    """The same with a memory of random latency, answers to writes and rates of stalls on each port.

    Runs take longer, at worst by the factor given here.
    """
    grants, responses = ([int(rate) for rate in rng.integers(0, 200, 3)] for _ in range(2))
    return replace(
        job,
        stall_rates=(grants[0], grants[1], grants[2]),
        delay_rates=(responses[0], responses[1], responses[2]),
        latency=int(rng.integers(1, 6)),
        write_answers=WRITE_ANSWERS[rng.integers(len(WRITE_ANSWERS))],
        cycle_limit=24 * job.cycle_limit,
    )
