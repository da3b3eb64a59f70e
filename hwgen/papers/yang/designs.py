"""The rows of Fig. 6 to 9: memories and schedules chosen together for one layer, and several cores on them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.memory.energy import TABLES
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, Schedule
from hwgen.model.energy import energy_of
from hwgen.model.nest.hierarchy_counts import counts_of
from hwgen.papers.yang.cores import Shared, energy_of_cores, last_levels
from hwgen.papers.yang.memories import Fitted, MemorySpace, fitted_memories
from hwgen.readers.layer_sets import load_layer_set
from hwgen.tools.side_by_side import side_by_side

__all__ = [
    "BUDGETS",
    "CORES",
    "LARGE",
    "MEDIUM",
    "NARROW",
    "WIDE",
    "CoreRow",
    "DesignRow",
    "DesignTask",
    "core_rows",
    "design_rows",
    "design_tasks",
    "designs",
    "fc_layers",
]

KIB = 1024
BUDGETS = tuple(size * KIB for size in (36, 64, 128, 256, 512, 1024, 2048, 4096, 8192))
"""Bytes of all memories on chip: from those of DianNao to those of Fig. 6."""
MEDIUM, LARGE = 1024 * KIB, 8192 * KIB
"""The two budgets of which the text prints figures."""
NARROW, WIDE = 64, 512
"""Bits of an access: as in Fig. 5 here, and the widest of Table 3: the text asks for wide ones (Section 4.2)."""
MEMORIES = 3
"""Memories of an operand on chip, at most."""
BATCHES = (1, 64, 1024)
"""Images among which the weights of a fully connected layer are shared; the paper does not print how many."""
CORES = (1, 2, 4, 8)
SCHEDULES = 4
"""Schedules of Fig. 9: the best ones of one core."""


@dataclass(frozen=True)
class DesignTask:
    """One layer in accesses of one width, for some budgets."""

    layer: Layer
    lanes: Lanes
    width: int
    budgets: tuple[int, ...]

    def run(self) -> list[list[Fitted]]:
        """What was found for each budget, the best first."""
        return fitted_memories(self.layer, MemorySpace(MEMORIES, self.lanes, self.width), self.budgets)


@dataclass(frozen=True)
class DesignRow:
    """The best memories and schedule of a layer within a budget.

    Members
    -------
    layer, images, width : the layer, how many images, the bits of an access.
    budget, bytes : allowed, and used by all memories on chip.
    memories : their bytes by operand, from the outside inward.
    area : mm2 of the datapath with the memories that are used.
    dram_i, dram_w, dram_o, sram_i, sram_w, sram_o, mac : pJ, as in Fig. 5.
    diannao : pJ of the layer on DianNao with its best schedule, multiply-accumulates included; None if not searched.
    """

    layer: str
    images: int
    width: int
    budget: int
    bytes: int
    memories: str
    area: float
    dram_i: float
    dram_w: float
    dram_o: float
    sram_i: float
    sram_w: float
    sram_o: float
    mac: float
    diannao: float | None

    @property
    def dram(self) -> float:
        """pJ of the DRAM."""
        return self.dram_i + self.dram_w + self.dram_o

    @property
    def memory(self) -> float:
        """pJ of all memories."""
        return self.dram + self.sram_i + self.sram_w + self.sram_o

    @property
    def share(self) -> float:
        """Energy of the memories in parts of that of the multiply-accumulates."""
        return self.memory / self.mac

    @property
    def gain(self) -> float | None:
        """How many times less than DianNao."""
        return None if self.diannao is None else self.diannao / (self.memory + self.mac)


@dataclass(frozen=True)
class CoreRow:
    """pJ of one schedule on several cores, ``shared``: the operand whose last level they share; see Fig. 9.

    ``last_bytes_i`` and the like: bytes of the last levels on one core.
    """

    schedule: int
    shared: Shared
    cores: int
    last_bytes_i: int
    last_bytes_w: int
    last_bytes_o: int
    private: float
    last_i: float
    last_w: float
    last_o: float
    dram: float
    shuffle: float

    @property
    def on_chip(self) -> float:
        """pJ of all but the DRAM."""
        return self.private + self.last_i + self.last_w + self.last_o + self.shuffle

    @property
    def large(self) -> Shared:
        """The one of inputs and weights whose last level is larger."""
        return "I" if self.last_bytes_i > self.last_bytes_w else "W"


def fc_layers() -> list[Layer]:
    """The fully connected layers of Table 4, those with one output pixel, for each number of images."""
    every = load_layer_set("yang_2016").convolutions()
    layers = [layer for layer in every if layer.output_height * layer.output_width == 1]
    return [layer.model_copy(update={"batch": images}) for layer in layers for images in BATCHES]


def design_tasks(layers: Sequence[Layer], lanes: Lanes) -> list[DesignTask]:
    """All searches of Fig. 6 to 9; those of convolutions at the wide width have all budgets."""
    return [
        *(DesignTask(layer, lanes, WIDE, BUDGETS) for layer in layers),
        *(DesignTask(layer, lanes, NARROW, (MEDIUM, LARGE)) for layer in layers),
        *(DesignTask(layer, lanes, width, (LARGE,)) for width in (NARROW, WIDE) for layer in fc_layers()),
    ]


def designs(
    tasks: Sequence[DesignTask], jobs: int, progress: Callable[[], object] = lambda: None
) -> list[list[list[Fitted]]]:
    """What each task finds, ``jobs`` of them side by side; ``progress`` is called after each."""
    found: list[list[list[Fitted]]] = [[] for _ in tasks]
    if jobs == 1:
        for index, task in enumerate(tasks):
            found[index] = task.run()
            progress()
        return found
    for index, fitted in side_by_side(DesignTask.run, [(task,) for task in tasks], jobs):
        found[index] = fitted
        progress()
    return found


def design_rows(
    tasks: Sequence[DesignTask],
    found: Sequence[Sequence[Sequence[Fitted]]],
    diannao: Hierarchy,
    best: Mapping[str, Schedule],
) -> list[DesignRow]:
    """A row for each task and budget. ``best``: of layers by name, the best schedule on DianNao's memories."""
    rows = []
    for task, by_budget in zip(tasks, found, strict=True):
        baseline = diannao.model_copy(update={"width": task.width})
        on_diannao = None
        if task.layer.name in best:
            schedule = best[task.layer.name]
            on_diannao = energy_of(counts_of(schedule, baseline), baseline, task.layer.macs).total
        rows += [_row(task, fitted[0], on_diannao) for fitted in by_budget]
    return rows


def _row(task: DesignTask, fitted: Fitted, diannao: float | None) -> DesignRow:
    schedule, hierarchy = fitted.schedule, fitted.hierarchy
    energy = energy_of(counts_of(schedule, hierarchy), hierarchy, task.layer.macs)
    table, outermost = TABLES["yang_2016"], hierarchy.outermost.name
    of = {
        f"{'dram' if outer else 'sram'}_{operand.lower()}": sum(
            operands[operand] for level, operands in energy.levels.items() if (level == outermost) == outer
        )
        for outer in (True, False)
        for operand in ARRAYS
    }
    sizes = {
        operand: "+".join(str(level.size_for(operand)) for level, _ in hierarchy.held(schedule, operand))
        for operand in ARRAYS
    }
    return DesignRow(
        layer=task.layer.name,
        images=task.layer.batch,
        width=task.width,
        budget=fitted.budget,
        bytes=fitted.bytes,
        memories=" ".join(f"{operand} {size}" for operand, size in sizes.items() if size),
        area=table.area(fitted.bytes) + table.area_without_memory,
        mac=energy.mac,
        diannao=diannao,
        **of,
    )


def core_rows(found: Sequence[Fitted]) -> list[CoreRow]:
    """Fig. 9: the best schedules with different memories, on all numbers of cores, in both ways."""
    different = {repr(one.hierarchy.levels): one for one in reversed(found)}
    rows = []
    for number, one in enumerate(sorted(different.values(), key=lambda one: one.energy)[:SCHEDULES]):
        sizes = last_levels(one.schedule, one.hierarchy)
        for cores in CORES:
            ways: tuple[Shared, ...] = ("W", "I")
            for shared in ways:
                energy = energy_of_cores(one.schedule, one.hierarchy, cores, shared)
                rows.append(
                    CoreRow(number + 1, shared, cores, sizes["I"], sizes["W"], sizes["O"], energy.private,
                            energy.last["I"], energy.last["W"], energy.last["O"], energy.dram, energy.shuffle)
                )  # fmt: skip
    return rows
