"""Runs of a simulated system: takes a DRAM image and the registers of each cluster, gives memory and counters."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cosim.dma.dram import COUNTED, COUNTERS, Unwanted, dram_controls, dram_unwanted
from cosim.system.model import SystemModel
from hwgen.arch.dram import Dram
from hwgen.arch.registers.cluster import cluster_registers
from hwgen.arch.registers.control import Control, Status
from hwgen.arch.system import WINDOW_BYTES

__all__ = [
    "DRAM_KINDS",
    "RINGS",
    "ClusterOutcome",
    "ClusterPart",
    "SystemJob",
    "SystemResult",
    "run_system",
]  # fmt: skip

DRAM_KINDS = ("I", "W", "B", "partial", "O", "P")
RINGS = ("I", "W", "O", "B")
"""Regions of the DRAM and of a TCDM, in the order in which the harness knows them."""
ELSEWHERE = "elsewhere"
Span = tuple[int, int]
"""First byte address, and the one after the last."""


@dataclass(frozen=True)
class ClusterPart:
    """What one cluster is given: its settings by name, and where its operands are, by `DRAM_KINDS` and `RINGS`."""

    registers: Mapping[str, int]
    dram: Mapping[str, Span]
    tcdm: Mapping[str, Span]


@dataclass(frozen=True)
class SystemJob:
    """One run; see `cosim.cluster.run.ClusterJob`.

    Members
    -------
    parts : one for each cluster that is started; the others stay idle.
    tcdm_stalls : of the ports of all memories, in the order of the clusters' masters: in so many cycles in 256 none
        lets a request through.
    stop_after : cycles from the last start to a reset of the system; then no interrupt comes.
    """

    name: str
    image: NDArray[np.uint32]
    parts: tuple[ClusterPart, ...]
    cycle_limit: int
    random: int = 1
    axi_stalls: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    tcdm_stalls: tuple[int, ...] = ()
    timing: Dram = field(default_factory=Dram)
    axi_error: tuple[str, int, int] | None = None
    stop_after: int | None = None


@dataclass(frozen=True)
class ClusterOutcome:
    """What one cluster did.

    Members
    -------
    registers : every register, by name.
    cycles : from its start to its interrupt.
    dram, tcdm : counters by region and whether written; the last also by the master.
    unwanted : what was read from the DRAM that no descriptor asks for.
    worst_wait : most cycles that an address of a read, and of a write, waited for the interconnect.
    """

    registers: dict[str, int]
    cycles: int
    dram: dict[tuple[str, bool], dict[str, int]]
    tcdm: dict[tuple[str, str, bool], Span]
    unwanted: Unwanted
    worst_wait: Span

    @property
    def done(self) -> bool:
        """Whether its program ended without an error."""
        return self.registers["status"] == Status.DONE


@dataclass(frozen=True)
class SystemResult:
    """The outcome of a run.

    Members
    -------
    clusters : those that were started.
    cycles : from the first start to the last interrupt.
    total : what the DRAM counted of all clusters together, by `cosim.dma.dram.COUNTERS`.
    violations : breaches of the protocol at the DRAM.
    """

    name: str
    clusters: tuple[ClusterOutcome, ...]
    timed_out: bool
    cycles: int
    memory: NDArray[np.uint32]
    total: dict[str, int]
    violations: int
    seconds: float


def run_system(model: SystemModel, job: SystemJob) -> SystemResult:
    """Reset the system, start all clusters one after the other, and wait for all of them."""
    assert model.slow or not job.tcdm_stalls, "built with memories that do not stall"
    addresses = cluster_registers(model.cluster).addresses
    model.write(job.image)
    _control(model, job, addresses["control"])
    for number, part in enumerate(job.parts):
        for name, value in part.registers.items():
            _, refused = model.transfer(number * WINDOW_BYTES + addresses[name], value)
            assert not refused, f"cluster {number}: register {name}: write refused"
    began = time.perf_counter()
    for number in range(len(job.parts)):
        model.transfer(number * WINDOW_BYTES + addresses["control"], Control.START)
    if job.stop_after is not None:
        model.run(job.stop_after, until_finished=True)
        model.set(rst=1)
        model.run(2)
        model.set(rst=0)
        model.run(200)
    else:
        model.run(job.cycle_limit + 1000, until_finished=True)
    seconds = time.perf_counter() - began
    model.run(30)
    return SystemResult(
        name=job.name,
        clusters=tuple(_outcome(model, number, addresses) for number in range(len(job.parts))),
        timed_out=bool(model.get("timed_out")),
        cycles=model.get("cycles"),
        memory=model.read(len(job.image)),
        total={name: int(model.counters(variable, COUNTED).sum()) for name, variable in COUNTERS.items()},
        violations=model.get("violations", "harness.dram"),
        seconds=seconds,
    )


def _control(model: SystemModel, job: SystemJob, control: int) -> None:
    """Set the controls of the harness, and make it load them."""
    kind, code, address = job.axi_error or ("", 2, 0)
    dram = [part.dram.get(name, (0, 0)) for part in job.parts for name in DRAM_KINDS]
    tcdm = [part.tcdm.get(name, (0, 0)) for part in job.parts for name in RINGS]
    model.set(
        rst=1,
        clear=1,
        start_address=control,
        start_value=Control.START,
        window_bytes=WINDOW_BYTES,
        cycle_limit=job.cycle_limit,
        random_start=job.random,
        axi_rate=_packed(list(job.axi_stalls), 8),
        tcdm_rate=_packed(list(job.tcdm_stalls), 8),
        **dram_controls(job.timing),
        axi_error_enable={"read": 1, "write": 2}.get(kind, 0),
        axi_error_code=code,
        axi_error_address=address,
        dram_region_base=_packed([first for first, _ in dram], 32),
        dram_region_end=_packed([end for _, end in dram], 32),
        tcdm_region_base=_packed([first for first, _ in tcdm], 32),
        tcdm_region_end=_packed([end for _, end in tcdm], 32),
    )
    model.run(3)
    model.set(rst=0, clear=0)
    model.run(3)


def _packed(values: list[int], width: int) -> int:
    return sum(value << width * place for place, value in enumerate(values))


def _outcome(model: SystemModel, number: int, addresses: Mapping[str, int]) -> ClusterOutcome:
    inside = f"harness.clusters[{number}]"
    counted = {name: model.counters(variable, f"{inside}.axi").tolist() for name, variable in COUNTERS.items()}
    dram = {
        key: {name: int(values[index]) for name, values in counted.items()}
        for index, key in enumerate((kind, written) for kind in (*DRAM_KINDS, ELSEWHERE) for written in (False, True))
    }
    tcdm: dict[tuple[str, str, bool], Span] = {}
    for place, master in enumerate(model.cluster.masters):
        words, octets = (
            model.counters(name, f"{inside}.ports[{place}].port").tolist() for name in ("words", "bytes")
        )
        kinds = [(ring, written) for ring in (*RINGS, ELSEWHERE) for written in (False, True)]
        tcdm |= {
            (master, *kind): (int(many), int(size)) for kind, many, size in zip(kinds, words, octets, strict=True)
        }
    return ClusterOutcome(
        registers={name: model.transfer(number * WINDOW_BYTES + address)[0] for name, address in addresses.items()},
        cycles=int(model.counters("cycles_of", "harness")[number]),
        dram={key: values for key, values in dram.items() if any(values.values())},
        tcdm={key: values for key, values in tcdm.items() if values[0]},
        unwanted=dram_unwanted(model, f"{inside}.wanted"),
        worst_wait=(model.get("worst_read", f"{inside}.axi"), model.get("worst_write", f"{inside}.axi")),
    )
