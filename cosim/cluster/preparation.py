"""Everything that the simulation of a schedule of a cluster needs: test data, program, DRAM image, prediction."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cosim.device.dram import Region
from cosim.device.job import Job, Unit
from cosim.device.judge import Expected
from cosim.hwc.layer_data import LayerData, expected_output, random_data, requantisation_for
from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.descriptor import OperandTag
from hwgen.arch.dram import Dram, DramPort
from hwgen.ir.counts import Counts
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.cycles import cluster_cycles
from hwgen.lower.cluster.program import ClusterProgram, compile_cluster
from hwgen.lower.network.parts import LayerPart, PartCounts
from hwgen.model.cluster.cluster_counts import ClusterPrediction, predict_cluster
from hwgen.model.dram.counts import DramLayout, program_access
from hwgen.model.energy import prices_of

__all__ = ["INTERRUPT_CYCLES", "WATCHDOG", "ClusterTask", "WrittenProgram", "prepare_cluster", "scramble"]

WATCHDOG = 1 << 20
"""Watchdog period: cycles without progress after which the cluster stops."""
INTERRUPT_CYCLES = 1
"""Cycles from the start write's grant to the interrupt that the register ``cycles`` does not count."""


@dataclass(frozen=True)
class WrittenProgram:
    """A program as software has it: the registers of the cluster by name, and the words at ``program_address``."""

    registers: Mapping[str, int]
    words: NDArray[np.uint32]


@dataclass(frozen=True)
class ClusterTask:
    """One schedule, prepared for the simulator.

    Members
    -------
    program, prediction : the compiled schedule, and its predicted cost.
    counts : the predicted counts, including those of the program.
    data : the operands.
    job : the input of the simulator.
    expected : the output [M, E, F].
    """

    program: ClusterProgram
    prediction: ClusterPrediction
    counts: Counts
    data: LayerData
    job: Job
    expected: NDArray[np.signedinteger]

    @cached_property
    def predicted_cycles(self) -> float:
        """The cycles of the program, predicted, with the DRAM's timing of the job."""
        return cluster_cycles(self.program, self.job.timing).total

    @property
    def parameters(self) -> ClusterParameters:
        """The cluster that it runs on."""
        return self.program.hardware

    @property
    def wanted(self) -> Expected:
        """What a run is to come to."""
        return Expected(
            schedule=self.program.schedule,
            units=[PartCounts(self.counts, self.prediction.hwcs)],
            output=self.program.output,
            reference=self.expected,
            cycles=round(self.predicted_cycles),
            late=INTERRUPT_CYCLES,
            regions=[unit.dram for unit in self.job.units],
            hwcs=self.program.cluster.hwcs,
            prices=prices_of(self.program.parameters, self.program.cluster),
        )


def prepare_cluster(
    schedule: Schedule,
    hardware: Hardware | None = None,
    *,
    index: int = 0,
    seed: int = 0,
    stream: int | None = None,
    stalls: bool = False,
    serial: bool = False,
    timing: Dram | None = None,
    data: LayerData | None = None,
    written: WrittenProgram | None = None,
) -> ClusterTask:
    """Make everything for one schedule; raises `InputError` where the cluster cannot run it.

    Parameters
    ----------
    hardware : the cluster; None: the default cluster with the smallest HWCs that run the schedule.
    index : position among the schedules of a call.
    seed, stream : of the random numbers; equal values give equal data. Without ``stream``: ``index``.
    stalls : random stalls on every DRAM channel and every TCDM port.
    serial : a program in which nothing overlaps, for comparison.
    timing : of the DRAM; by default that of the hardware.
    data : what the layer computes with; random by default.
    written : what runs instead of the program that the schedule is compiled to.
    """
    stream = index if stream is None else stream
    rng = np.random.default_rng([seed, stream])
    data = data or random_data(schedule.layer, rng, schedule.bits.I)
    requantisation = requantisation_for(schedule, seed, stream)
    if written is not None and requantisation is not None:
        # Scales are data. Zero points and bounds are settings in the words of the program: those of the layer.
        said = schedule.layer.requantisation_at(schedule.bits.O)
        requantisation = replace(said, scales=requantisation.scales)
    program = compile_cluster(schedule, hardware, serial=serial, requantisation=requantisation)
    timing = timing or program.cluster.dram or Dram()
    port = DramPort(program.cluster.axi_bits, timing)
    cluster = program.cluster
    prediction = predict_cluster(program.schedule, cluster.hwcs, port, multicast=cluster.multicast)
    size = WORD_BYTES * len(program.words)
    fetched = Counts({("dram", "P", "read"): program_access(program.layout, port, size)})
    image = program.image(data.inputs, data.weights, data.bias).astype(np.uint32)
    scramble(image, program.layout, rng)
    if written is not None:
        image = _with_words(image, program, written)
    moved = sum(access.bytes + 64 * access.axi_bursts for access in prediction.counts.at("dram").accesses.values())
    work = prediction.local.iterations + prediction.local.counts.total_words() + moved
    unit = Unit(
        registers={**(written.registers if written else program.settings), "watchdog": WATCHDOG},
        tcdm=LayerPart(program).tcdm_regions,
        dram=_dram_regions(program, written),
    )
    job = Job(
        name=f"{index}:{schedule.layer.name}",
        image=image,
        units=(unit,),
        cycle_limit=1_000_000 + 40 * work,
        random=int(rng.integers(1, 1 << 32)),
        timing=timing,
    )
    if stalls:
        axi = [int(rate) for rate in rng.integers(0, 160, 5)]
        job = replace(
            job,
            axi_stalls=(axi[0], axi[1], axi[2], axi[3], axi[4]),
            tcdm_stalls=int(rng.integers(1, 160)),
            cycle_limit=16 * job.cycle_limit,
        )
    return ClusterTask(
        program,
        prediction,
        prediction.counts + fetched,
        data,
        job,
        expected_output(schedule.layer, data, program.requantisation),
    )


def scramble(image: NDArray[np.uint32], layout: DramLayout, rng: np.random.Generator) -> None:
    """Make the previous contents of outputs and partial sums random: they must not matter."""
    for region in (layout.output, layout.partial):
        begin, end = region.base // WORD_BYTES, (region.base + region.size) // WORD_BYTES
        image[begin:end] = rng.integers(0, 1 << 32, end - begin, dtype=np.uint32)


def _dram_regions(program: ClusterProgram, written: WrittenProgram | None) -> tuple[Region, ...]:
    """Tensors and program."""
    address, words = program.layout.program, program.words if written is None else written.words
    if written is not None:
        address = written.registers.get("program_address", 0)
    tensors = (Region(*one) for one in LayerPart(program).dram_regions)
    return (*tensors, Region(address, address + WORD_BYTES * len(words), OperandTag.P))


def _with_words(image: NDArray[np.uint32], program: ClusterProgram, written: WrittenProgram) -> NDArray[np.uint32]:
    """The DRAM with another program than the compiled one."""
    address = written.registers.get("program_address", 0)
    if address % WORD_BYTES or not program.layout.program <= address <= program.layout.program + (1 << 24):
        where = program.schedule.layer.name
        raise InputError(
            f"{where}: program_address: expected a word from {program.layout.program:#x} on, got {address:#x}"
        )
    begin = address // WORD_BYTES
    found = np.zeros(begin + len(written.words), np.uint32)
    tensors = program.layout.program // WORD_BYTES
    found[:tensors] = image[:tensors]
    found[begin:] = written.words
    return found
