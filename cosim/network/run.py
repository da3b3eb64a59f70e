"""Programs of several layers on simulated clusters: what each layer moved, and what it left in the DRAM."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from cosim.cluster.model import SimulatedCluster
from cosim.cluster.preparation import WATCHDOG
from cosim.cluster.run import (
    AHEAD,
    run_clusters,
    tcdm_counts,
    tcdm_words,
    unit_controls,
    unit_cycles,
    unit_dram_counts,
)
from cosim.device.dram import AHEAD as AHEAD_KIND
from cosim.device.dram import Counted, Region
from cosim.device.job import Accesses, Job, Outcome, Unit, UnitOutcome
from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.descriptor import OperandTag
from hwgen.arch.dram import Dram
from hwgen.lower.network.parts import Regions
from hwgen.lower.system.networks import PlacedProgram

__all__ = ["LayerSample", "ProgramRun", "run_programs"]

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class LayerSample:
    """One layer of a run.

    Members
    -------
    cycles : from where all before it was done to where all of it was.
    tcdm, dram : what was counted in this time, as in `UnitOutcome`; without the program.
    memory, shared : the DRAM and the TCDM after it; of the TCDM nothing where the output does not stay there.
    """

    cycles: int
    tcdm: Accesses
    dram: Counted
    memory: Words
    shared: Words


@dataclass(frozen=True)
class ProgramRun:
    """A run of a program: its layers, and its cluster in the whole."""

    layers: tuple[LayerSample, ...]
    unit: UnitOutcome


def run_programs(
    model: SimulatedCluster,
    programs: Sequence[PlacedProgram],
    image: Words,
    *,
    seen: Callable[..., Words],
    timing: Dram,
    cycle_limit: int,
    random: int = 1,
    axi_stalls: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0),
    tcdm_stalls: int = 0,
) -> tuple[list[ProgramRun], Outcome]:
    """Run programs once, each on a cluster: what came of each, and of all.

    Parameters
    ----------
    image : the DRAM, with the words of the programs in it.
    seen : see `NetworkSystem.seen`.
    random, axi_stalls, tcdm_stalls, timing, cycle_limit : see `Job`.
    """
    units = [Unit({**one.settings, "watchdog": WATCHDOG}, dram=(_fetched(one),)) for one in programs]
    job = Job(
        name=f"{len(programs[0].program.parts)} layers",
        image=image,
        units=tuple(units),
        cycle_limit=cycle_limit,
        random=random,
        axi_stalls=axi_stalls,
        tcdm_stalls=tcdm_stalls,
        timing=timing,
    )
    watches = [
        _Watch(model, number, one, partial(seen, cluster=number), len(image)) for number, one in enumerate(programs)
    ]

    def layer_begins(number: int) -> dict[str, int]:
        units[number] = watches[number].layer_begins()
        return unit_controls(units)

    whole = run_clusters(model, job, layer_begins)
    runs = []
    for watch, unit in zip(watches, whole.units, strict=True):
        watch.sample(unit, whole.memory)
        runs.append(ProgramRun(tuple(watch.samples), unit))
    return runs, whole


def _fetched(program: PlacedProgram) -> Region:
    """Where the program itself is in the DRAM."""
    return Region(program.address, program.address + WORD_BYTES * len(program.words), OperandTag.P)


class _Watch:
    """Takes samples where a layer of a cluster begins, and has accesses counted by its regions from there on."""

    def __init__(
        self, model: SimulatedCluster, number: int, program: PlacedProgram, seen: Callable[[Words], Words], words: int
    ) -> None:
        self._model, self._number, self._program = model, number, program
        self._seen, self._words = seen, words
        self._parts, self._fetched = program.program.parts, _fetched(program)
        self._begun = 0
        self._before: tuple[int, Accesses, Counted] = (0, {}, {})
        # What was done for the next part.
        self._ahead: tuple[Accesses, Counted] = ({}, {})
        self.samples: list[LayerSample] = []

    def layer_begins(self) -> Unit:
        """Take the sample of the layer before, of which all is done; what accesses are counted by from here on."""
        model, number = self._model, self._number
        now = unit_cycles(model, number), tcdm_counts(model, number), unit_dram_counts(model, number)
        if self._begun:
            self._add(now, model.harness.read(self._words))
        self._before = now
        part = self._parts[self._begun]
        self._begun += 1
        tensors, rings = self._regions(part.dram_regions), dict(part.tcdm_regions)
        following = self._parts[self._begun] if self._begun < len(self._parts) else None
        if following is not None and following.early is not None:
            rings[AHEAD] = following.early.tcdm
            tensors = self._regions(following.early.tensors, AHEAD_KIND) + tensors
        return Unit({}, rings, (*tensors, self._fetched))

    def _regions(self, regions: Regions, kinds: int = 0) -> list[Region]:
        """Regions of the plan where the cluster has them; ``kinds`` : added to what is there."""
        place = self._program.place
        return [Region(place(base), place(base) + end - base, kinds + kind) for base, end, kind in regions]

    def sample(self, unit: UnitOutcome, memory: Words) -> None:
        """The last layer, after the run."""
        if self._begun:
            self._add((unit.cycles, unit.tcdm, unit.dram), memory)

    def _add(self, now: tuple[int, Accesses, Counted], memory: Words) -> None:
        cycles, tcdm, dram = self._before
        words: Accesses = {
            key: (count - tcdm.get(key, (0, 0))[0], size - tcdm.get(key, (0, 0))[1])
            for key, (count, size) in now[1].items()
        }
        moved = {
            key: {name: value - dram.get(key, {}).get(name, 0) for name, value in values.items()}
            for key, values in now[2].items()
            if key[0] is not OperandTag.P
        }
        words, moved = self._with_ahead(words, moved)
        stays = self._parts[len(self.samples)].stays
        shared = tcdm_words(self._model, self._number) if stays else np.zeros(0, np.uint32)
        counted = {key: one for key, one in words.items() if one[0]}
        self.samples.append(LayerSample(now[0] - cycles, counted, moved, self._seen(memory), shared))

    def _with_ahead(self, words: Accesses, moved: Counted) -> tuple[Accesses, Counted]:
        """The counts of a part with what was done for it before, without what is done for the next one."""
        own = self._parts[len(self.samples)].early
        early, early_moved = self._ahead
        here = {key: one for key, one in words.items() if key[1] != AHEAD}
        for (master, _, written), (count, size) in early.items():
            key = master, own.region if own else AHEAD, written
            before = here.get(key, (0, 0))
            here[key] = before[0] + count, before[1] + size
        there = {key: values for key, values in moved.items() if not _is_ahead(key[0])}
        self._ahead = (
            {key: one for key, one in words.items() if key[1] == AHEAD},
            {key: values for key, values in moved.items() if _is_ahead(key[0]) and key[0] > AHEAD_KIND},
        )
        # What the next part reads early is what this one has written.
        late = self._ahead[1].pop((AHEAD_KIND + OperandTag.I, True))
        for (kind, way), values in [((OperandTag.O, True), late), *early_moved.items()]:
            place = (kind - AHEAD_KIND if _is_ahead(kind) else kind), way
            there[place] = {name: value + values[name] for name, value in there[place].items()}
        return here, there


def _is_ahead(kind: int | None) -> TypeGuard[int]:
    """Whether accesses of this kind are for the next part."""
    return kind is not None and kind >= AHEAD_KIND
