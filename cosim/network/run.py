"""A program of several layers on a simulated cluster: what each layer moved, and what it left in the DRAM."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from cosim.cluster.model import SimulatedCluster
from cosim.cluster.preparation import WATCHDOG
from cosim.cluster.run import AHEAD, run_clusters, tcdm_counts, tcdm_words, unit_controls
from cosim.device.dram import AHEAD as AHEAD_KIND
from cosim.device.dram import Counted, Region, dram_counts
from cosim.device.job import Accesses, Job, Outcome, Unit
from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.descriptor import OperandTag
from hwgen.arch.dram import Dram
from hwgen.lower.network.parts import Part
from hwgen.lower.network.program import NetworkProgram

__all__ = ["LayerSample", "NetworkRun", "run_program"]


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
    memory: NDArray[np.uint32]
    shared: NDArray[np.uint32]


@dataclass(frozen=True)
class NetworkRun:
    """A run of a program: its layers, and the whole."""

    layers: tuple[LayerSample, ...]
    whole: Outcome


def run_program(
    model: SimulatedCluster,
    program: NetworkProgram,
    image: NDArray[np.uint32],
    *,
    timing: Dram,
    cycle_limit: int,
    random: int = 1,
    axi_stalls: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0),
    tcdm_stalls: int = 0,
) -> NetworkRun:
    """Run the program once.

    Parameters
    ----------
    image : the DRAM, with the program's words in it.
    random, axi_stalls, tcdm_stalls, timing, cycle_limit : see `Job`.
    """
    fetched = Region(program.address, program.address + WORD_BYTES * len(program.words), OperandTag.P)
    job = Job(
        name=f"{len(program.parts)} layers",
        image=image,
        units=(Unit({**program.settings, "watchdog": WATCHDOG}, dram=(fetched,)),),
        cycle_limit=cycle_limit,
        random=random,
        axi_stalls=axi_stalls,
        tcdm_stalls=tcdm_stalls,
        timing=timing,
    )
    watch = _Watch(model, program.parts, fetched, len(image))
    whole = run_clusters(model, job, watch.layer_begins)
    watch.sample(whole)
    return NetworkRun(tuple(watch.samples), whole)


class _Watch:
    """Takes samples where a layer begins, and has its accesses counted by its own regions from there on."""

    def __init__(self, model: SimulatedCluster, parts: Sequence[Part], fetched: Region, words: int) -> None:
        self._model, self._parts, self._fetched, self._words = model, parts, fetched, words
        self._begun = 0
        self._before: tuple[int, Accesses, Counted] = (0, {}, {})
        # What was done for the next part.
        self._ahead: tuple[Accesses, Counted] = ({}, {})
        self.samples: list[LayerSample] = []

    def layer_begins(self) -> None:
        """All before is done."""
        model = self._model
        now = model.harness.get("cycles"), tcdm_counts(model), dram_counts(model.harness)
        if self._begun:
            self._add(now, model.harness.read(self._words))
        self._before = now
        part = self._parts[self._begun]
        self._begun += 1
        tensors, rings = [Region(*one) for one in part.dram_regions], dict(part.tcdm_regions)
        following = self._parts[self._begun] if self._begun < len(self._parts) else None
        if following is not None and following.early is not None:
            rings[AHEAD] = following.early.tcdm
            tensors[:0] = [Region(base, last, AHEAD_KIND + kind) for base, last, kind in following.early.tensors]
        model.harness.set(recount=1, **unit_controls([Unit({}, rings, (*tensors, self._fetched))]))
        model.harness.run(1)
        model.harness.set(recount=0)

    def sample(self, whole: Outcome) -> None:
        """The last layer, after the run."""
        if self._begun:
            self._add((whole.cycles, whole.only.tcdm, whole.only.dram), whole.memory)

    def _add(self, now: tuple[int, Accesses, Counted], memory: NDArray[np.uint32]) -> None:
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
        shared = tcdm_words(self._model) if stays else np.zeros(0, np.uint32)
        counted = {key: one for key, one in words.items() if one[0]}
        self.samples.append(LayerSample(now[0] - cycles, counted, moved, memory, shared))

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
