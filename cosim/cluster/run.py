"""Runs of simulated clusters, one or several on one DRAM: takes an image and registers, gives memory and counters."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.cluster.model import SimulatedCluster
from cosim.device.device import LANES
from cosim.device.dram import (
    COUNTED,
    COUNTERS,
    Counted,
    dram_controls,
    dram_counts,
    dram_unwanted,
    packed,
    region_controls,
)
from cosim.device.job import ELSEWHERE, Accesses, Job, Outcome, Unit, UnitOutcome
from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.cluster import WINDOW_BYTES
from hwgen.arch.registers.cluster import cluster_registers
from hwgen.arch.registers.control import Control

__all__ = [
    "AHEAD",
    "REGIONS",
    "run_clusters",
    "tcdm_counts",
    "tcdm_words",
    "unit_controls",
    "unit_cycles",
    "unit_dram_counts",
]

AHEAD = "ahead"
"""The region of weights that are loaded for the next layer of a program."""
REGIONS = (AHEAD, "I", "W", "O", "B")
"""Regions of the TCDM, as the harness has them in order; of those that share addresses the first counts."""
STALLS = ("busy_", "wait_", "stall_")
"""Name prefixes of the cluster's cycle counters."""


class Place(NamedTuple):
    """Where one cluster is in the harness.

    Members
    -------
    scope : of its ports.
    counted : the scope of what is counted of it at the DRAM.
    memory : the scope of its TCDM.
    window : first address of its registers.
    name : before the names of its ports in reports.
    """

    scope: str
    counted: str
    memory: str
    window: int
    name: str


def place_of(model: SimulatedCluster, number: int) -> Place:
    """Where a cluster is: alone, or the one of this number in a system."""
    if model.clusters is None:
        return Place("harness", COUNTED, "harness.tcdm", 0, "")
    scope = f"harness.clusters[{number}]"
    memory = f"harness.dut.clusters[{number}].cluster.tcdm{'.memory' if model.stalls else ''}"
    return Place(scope, f"{scope}.axi", memory, number * WINDOW_BYTES, f"cluster {number}: ")


def run_clusters(
    model: SimulatedCluster, job: Job, between: Callable[[int], Mapping[str, int]] = lambda number: {}
) -> Outcome:
    """Run one program on each cluster, after a reset unless ``job.reset`` is false.

    ``between`` is called with the number of a cluster whose program has waited for all that it began, for each
    `hwgen.arch.commands.settle`; it gives values of the harness' inputs for what is counted from there on.
    """
    harness, addresses = model.harness, cluster_registers(model.cluster).addresses
    places = [place_of(model, number) for number in range(len(job.units))]
    harness.write(job.image)
    _control(model, job, addresses["control"])
    refused = [
        tuple(
            name for name, value in unit.registers.items() if model.transfer(place.window + addresses[name], value)[1]
        )
        for place, unit in zip(places, job.units, strict=True)
    ]

    def command(what: Control, run: Callable[[int], object] = harness.run) -> None:
        for place in places:
            model.transfer(place.window + addresses["control"], what, run)

    def count_anew() -> None:
        """A cycle in which counts begin for what is next, of each program that has settled."""
        for number in _settled(model):
            harness.set(recount=1, **between(number))
        harness.run(1)
        harness.set(recount=0)

    def meanwhile(cycles: int) -> None:
        """Run for some cycles, in which programs that have started may settle."""
        while cycles > 0:
            cycles -= harness.run(cycles, until_finished=not harness.get("ended"))
            if cycles > 0 and not harness.get("ended"):
                count_anew()
                cycles -= 1

    began = time.perf_counter()
    command(Control.START, meanwhile)
    if job.abort_after:
        harness.run(job.abort_after, until_finished=True)
        command(Control.ABORT)
    if job.reset_after is None:
        harness.run(job.cycle_limit + 1000, until_finished=True)
    else:
        harness.run(job.reset_after, until_finished=True)
        harness.set(rst=1)
        harness.run(2)
        harness.set(rst=0)
        harness.run(200)
    while harness.get("finished") and not harness.get("ended"):
        count_anew()
        harness.run(job.cycle_limit + 1000, until_finished=True)  # none where another program settles a cycle later
    seconds = time.perf_counter() - began
    harness.run(30)
    irq = harness.get("irq")
    registers = [
        {name: model.transfer(place.window + address)[0] for name, address in addresses.items()} for place in places
    ]
    command(Control.CLEAR)
    harness.run(2)
    return Outcome(
        name=job.name,
        units=tuple(_unit(model, number, *one) for number, one in enumerate(zip(registers, refused, strict=True))),
        irq=(irq, harness.get("irq")),
        timed_out=bool(harness.get("timed_out")),
        cycles=harness.get("cycles"),
        memory=harness.read(len(job.image)),
        violations=_violations(model, places),
        seconds=seconds,
        total=_total(model),
    )


def _settled(model: SimulatedCluster) -> list[int]:
    """The numbers of the clusters whose programs have just waited for all that they began."""
    bits = 1 if model.clusters is None else model.harness.get("settles")
    return [number for number in range(model.clusters or 1) if bits >> number & 1]


def _control(model: SimulatedCluster, job: Job, control: int) -> None:
    """Set the controls of the harness, and make it load them."""
    masters = model.cluster.masters
    rates = job.tcdm_stalls
    if isinstance(rates, int):
        rates = (rates,) * len(masters) * (model.clusters or 1)
    kind, code, address = job.axi_error or ("", 2, 0)
    if model.clusters is None:
        master, at = job.tcdm_error or ("", 0)
        model.harness.set(tcdm_error_enable=1 << masters.index(master) if master else 0, tcdm_error_address=at)
    else:
        assert model.stalls or not any(rates), "built with memories that do not stall"
        model.harness.set(window_bytes=WINDOW_BYTES)
    model.harness.set(
        rst=int(job.reset),
        clear=1,
        start_address=control,
        start_value=Control.START,
        cycle_limit=job.cycle_limit,
        random_start=job.random,
        axi_rate=packed(job.axi_stalls, 8),
        tcdm_rate=packed(rates, 8),
        **dram_controls(job.timing),
        **unit_controls(job.units),
        program_first=packed([unit.registers.get("program_address", 0) for unit in job.units], 32),
        program_end=packed([_program_end(unit) for unit in job.units], 32),
        axi_error_enable={"read": 1, "write": 2}.get(kind, 0),
        axi_error_code=code,
        axi_error_address=address,
    )
    model.harness.run(3)
    model.harness.set(rst=0, clear=0)
    model.harness.run(3)


def _program_end(unit: Unit) -> int:
    address, words = (unit.registers.get(f"program_{what}", 0) for what in ("address", "words"))
    return min(address + WORD_BYTES * words, 0xFFFFFFFF)


def unit_controls(units: Sequence[Unit]) -> dict[str, int]:
    """Values of the harness' inputs for what accesses of each cluster are counted by."""
    places = [unit.tcdm.get(name, (0, 0)) for unit in units for name in REGIONS]
    return {
        **region_controls([unit.dram for unit in units]),
        "tcdm_region_base": packed([base for base, _ in places], 32),
        "tcdm_region_end": packed([end for _, end in places], 32),
    }


def _unit(model: SimulatedCluster, number: int, registers: dict[str, int], refused: tuple[str, ...]) -> UnitOutcome:
    place, harness = place_of(model, number), model.harness
    if model.clusters is None:
        stalls = {name: value for name, value in registers.items() if name.startswith(STALLS)}
    else:
        stalls = {f"longest_wait_{way}": harness.get(f"worst_{way}", place.counted) for way in ("read", "write")}
    return UnitOutcome(
        registers=registers,
        refused=refused,
        cycles=unit_cycles(model, number),
        tcdm=tcdm_counts(model, number),
        dram=unit_dram_counts(model, number),
        unwanted=dram_unwanted(model.harness, f"{place.scope}.wanted"),
        waits={
            master: model.harness.get("waits", port)
            for master, port in zip(model.cluster.masters, _ports(model, place), strict=True)
        },
        stalls=stalls,
    )


def _ports(model: SimulatedCluster, place: Place) -> list[str]:
    """The scopes of what watches each master's port."""
    watch = ".watch" if model.clusters is None else ""
    return [f"{place.scope}.ports[{index}].port{watch}" for index in range(len(model.cluster.masters))]


def tcdm_counts(model: SimulatedCluster, number: int = 0) -> Accesses:
    """(words, bytes) by master, region and whether written; absent entries are zero. Those of lanes are of operands
    in the local memories, and are vectors."""
    found: dict[tuple[str, str, bool], tuple[int, int]] = {}
    kinds = [(region, written) for region in (*REGIONS, ELSEWHERE) for written in (False, True)]
    for master, port in zip(model.cluster.masters, _ports(model, place_of(model, number)), strict=True):
        words, octets = (model.harness.counters(name, port).tolist() for name in ("words", "bytes"))
        for kind, counted, size in zip(kinds, words, octets, strict=True):
            found[master, *kind] = (int(counted), int(size))
    found |= _lane_counts(model, number)
    return {key: value for key, value in found.items() if value[0]}


def _lane_counts(model: SimulatedCluster, number: int) -> Accesses:
    """Vectors that lanes with registers access in the local memories of each HWC."""
    if not model.cluster.hwc.lane_registers:
        return {}
    scope = place_of(model, number).scope
    return {
        (f"hwc{hwc}_lanes", operand, written): (int(vectors), 0)
        for hwc in range(model.cluster.hwcs)
        for (operand, written), vectors in zip(
            LANES, model.harness.counters("vectors", f"{scope}.hwcs[{hwc}].lanes"), strict=True
        )
    }


def unit_cycles(model: SimulatedCluster, number: int = 0) -> int:
    """Cycles since a cluster was started, up to its interrupt."""
    if model.clusters is None:
        return model.harness.get("cycles")
    return int(model.harness.counters("cycles_of", "harness")[number])


def unit_dram_counts(model: SimulatedCluster, number: int = 0) -> Counted:
    """What was counted of a cluster at the DRAM."""
    return dram_counts(model.harness, place_of(model, number).counted)


def tcdm_words(model: SimulatedCluster, number: int = 0) -> NDArray[np.uint32]:
    """The contents of the TCDM of a cluster: consecutive words are in consecutive banks."""
    memory = place_of(model, number).memory
    banks = [
        model.harness.counters(f"bank_{bank}", memory).view(np.uint32) for bank in range(model.cluster.tcdm_banks)
    ]
    return np.stack(banks, axis=1).reshape(-1)


def _violations(model: SimulatedCluster, places: Sequence[Place]) -> dict[str, int]:
    found = {
        f"{place.name}{master}": model.harness.get("violations", port)
        for place in places
        for master, port in zip(model.cluster.masters, _ports(model, place), strict=True)
    }
    found |= {"axi": model.harness.get("violations", "harness.dram")}
    if model.clusters is None:
        found |= {"cfg": model.harness.get("cfg_violations")}
    return {name: count for name, count in found.items() if count}


def _total(model: SimulatedCluster) -> dict[str, int]:
    if model.clusters is None:
        return {}
    return {name: int(model.harness.counters(variable, COUNTED).sum()) for name, variable in COUNTERS.items()}
