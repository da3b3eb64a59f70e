"""Runs of a simulated cluster: takes a DRAM image and registers, gives memory, counters and registers."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cosim.cluster.simulated import SimulatedCluster
from cosim.dma.dram import (
    Counted,
    Region,
    Unwanted,
    dram_controls,
    dram_counts,
    dram_unwanted,
    packed,
    region_controls,
)
from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.dram import Dram
from hwgen.arch.registers.cluster import cluster_registers
from hwgen.arch.registers.control import Control, Status, error_of

__all__ = [
    "ELSEWHERE",
    "REGIONS",
    "ClusterJob",
    "ClusterResult",
    "TcdmCounts",
    "regions",
    "run_cluster",
    "tcdm_counts",
    "tcdm_words",
]

REGIONS = ("I", "W", "O", "B")
"""Regions of the TCDM, in the order in which the harness knows them."""
ELSEWHERE = "elsewhere"
"""What is in none of them."""
TcdmCounts = dict[tuple[str, str, bool], tuple[int, int]]
"""(words, bytes) by master, region and whether written; absent entries are zero."""


@dataclass(frozen=True)
class ClusterJob:
    """One run.

    Parameters
    ----------
    name : its name in reports.
    image : the first words of the DRAM.
    registers : the cluster's settings by name.
    cycle_limit : cycles after which the run is stopped.
    random : seed of stalls and of noise in unmarked bytes; not 0.
    axi_stalls : cycles in 256 without handshake on AR, R, AW, W, B.
    tcdm_stalls : cycles in 256 in which no new request passes, for each master, or one rate for all.
    timing : of the DRAM.
    axi_error : (``read`` or ``write``, RRESP or BRESP, byte address): beats there are answered with an error.
    tcdm_error : (master, byte address): its accesses there are.
    tcdm_regions : first byte address, and the one after the last, of each of `REGIONS`: what accesses are counted by.
    dram_regions : the same of the DRAM.
    abort_after : software aborts the program that many cycles after its start; 0: it does not.
    reset : reset the cluster first.
    """

    name: str
    image: NDArray[np.uint32]
    registers: Mapping[str, int]
    cycle_limit: int
    random: int = 1
    axi_stalls: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    tcdm_stalls: int | tuple[int, ...] = 0
    timing: Dram = field(default_factory=Dram)
    axi_error: tuple[str, int, int] | None = None
    tcdm_error: tuple[str, int] | None = None
    tcdm_regions: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    dram_regions: tuple[Region, ...] = ()
    abort_after: int = 0
    reset: bool = True


@dataclass(frozen=True)
class ClusterResult:
    """The outcome of a run.

    Members
    -------
    registers : every register of the cluster, by name.
    refused : registers whose write was refused.
    irq : the interrupt after the run, before and after it was acknowledged.
    timed_out : the cycle limit was reached before the interrupt.
    cycles : from the grant of the start write to the interrupt.
    memory : the contents of the DRAM.
    tcdm : (words, bytes) by master, region and whether written; absent entries are zero.
    dram : what the DRAM counted.
    unwanted : what was read from the DRAM that no descriptor asks for.
    violations : protocol violations, by port.
    waits : cycles in which the memory kept a request waiting, by master, without the stalls that the harness makes.
    """

    name: str
    registers: dict[str, int]
    refused: tuple[str, ...]
    irq: tuple[bool, bool]
    timed_out: bool
    cycles: int
    memory: NDArray[np.uint32]
    tcdm: TcdmCounts
    dram: Counted
    unwanted: Unwanted
    violations: dict[str, int]
    waits: dict[str, int]
    seconds: float

    @property
    def error(self) -> int:
        """The error code in the status register."""
        return error_of(self.registers["status"])

    @property
    def done(self) -> bool:
        """Whether the program ended without an error."""
        return self.registers["status"] == Status.DONE and not self.timed_out


def run_cluster(
    model: SimulatedCluster, job: ClusterJob, between: Callable[[], None] = lambda: None
) -> ClusterResult:
    """Run one program, after a reset unless ``job.reset`` is false.

    ``between`` is called where the program has waited for all that it began, for each `hwgen.arch.commands.settle`.
    """
    addresses = cluster_registers(model.cluster).addresses
    model.write(job.image)
    _control(model, job, addresses["control"])
    refused = tuple(name for name, value in job.registers.items() if model.transfer(addresses[name], value)[1])
    began = time.perf_counter()
    model.transfer(addresses["control"], Control.START)
    if job.abort_after:
        model.run(job.abort_after, until_finished=True)
        model.transfer(addresses["control"], Control.ABORT)
    model.run(job.cycle_limit + 1000, until_finished=True)
    while model.get("finished") and not model.get("ended"):
        between()
        model.run(1)
        model.run(job.cycle_limit + 1000, until_finished=True)
    seconds = time.perf_counter() - began
    model.run(30)
    irq = bool(model.get("irq"))
    values = {name: model.transfer(address)[0] for name, address in addresses.items()}
    model.transfer(addresses["control"], Control.CLEAR)
    model.run(2)
    return ClusterResult(
        name=job.name,
        registers=values,
        refused=refused,
        irq=(irq, bool(model.get("irq"))),
        timed_out=bool(model.get("timed_out")),
        cycles=model.get("cycles"),
        memory=model.read(len(job.image)),
        tcdm=tcdm_counts(model),
        dram=dram_counts(model),
        unwanted=dram_unwanted(model),
        violations=_violations(model),
        waits={
            master: model.get("waits", f"harness.ports[{index}].port")
            for index, master in enumerate(model.cluster.masters)
        },
        seconds=seconds,
    )


def _control(model: SimulatedCluster, job: ClusterJob, control: int) -> None:
    """Set the controls of the harness, and make it load them."""
    masters = model.cluster.masters
    stalls = (job.tcdm_stalls,) * len(masters) if isinstance(job.tcdm_stalls, int) else job.tcdm_stalls
    program, words = (job.registers.get(f"program_{what}", 0) for what in ("address", "words"))
    kind, code, address = job.axi_error or ("", 2, 0)
    master, place = job.tcdm_error or ("", 0)
    model.set(
        rst=int(job.reset),
        clear=1,
        start_address=control,
        start_value=Control.START,
        cycle_limit=job.cycle_limit,
        random_start=job.random,
        axi_rate=packed(job.axi_stalls, 8),
        tcdm_rate=packed(stalls, 8),
        **dram_controls(job.timing),
        **regions(job.tcdm_regions, job.dram_regions),
        program_first=program,
        program_end=min(program + WORD_BYTES * words, 0xFFFFFFFF),
        axi_error_enable={"read": 1, "write": 2}.get(kind, 0),
        axi_error_code=code,
        axi_error_address=address,
        tcdm_error_enable=1 << masters.index(master) if master else 0,
        tcdm_error_address=place,
    )
    model.run(3)
    model.set(rst=0, clear=0)
    model.run(3)


def regions(tcdm: Mapping[str, tuple[int, int]], dram: Iterable[Region]) -> dict[str, int]:
    """Values of the harness' inputs for what accesses are counted by; see `ClusterJob`."""
    places = [tcdm.get(name, (0, 0)) for name in REGIONS]
    return {
        **region_controls(dram),
        "tcdm_region_base": packed([base for base, _ in places], 32),
        "tcdm_region_end": packed([end for _, end in places], 32),
    }


def tcdm_counts(model: SimulatedCluster) -> TcdmCounts:
    """(words, bytes) by master, region and whether written; absent entries are zero."""
    found = {}
    for index, master in enumerate(model.cluster.masters):
        scope = f"harness.ports[{index}].port"
        words, octets = (model.counters(name, scope).tolist() for name in ("words", "bytes"))
        kinds = [(region, written) for region in (*REGIONS, ELSEWHERE) for written in (False, True)]
        for kind, counted, size in zip(kinds, words, octets, strict=True):
            found[master, *kind] = (int(counted), int(size))
    return {key: value for key, value in found.items() if value[0]}


def tcdm_words(model: SimulatedCluster) -> NDArray[np.uint32]:
    """The contents of the TCDM: consecutive words are in consecutive banks."""
    banks = [
        model.counters(f"bank_{number}", "harness.tcdm").view(np.uint32) for number in range(model.cluster.tcdm_banks)
    ]
    return np.stack(banks, axis=1).reshape(-1)


def _violations(model: SimulatedCluster) -> dict[str, int]:
    found = {
        master: model.get("violations", f"harness.ports[{index}].port")
        for index, master in enumerate(model.cluster.masters)
    }
    found |= {"axi": model.get("violations", "harness.dram"), "cfg": model.get("cfg_violations")}
    return {name: count for name, count in found.items() if count}
