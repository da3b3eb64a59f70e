"""The plots of the Yang 2016 figures."""

from collections.abc import Sequence
from math import exp, log

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hwgen.ir.memory.energy import TABLES
from hwgen.ir.schedule import ARRAYS
from hwgen.papers.yang.caches import BLOCKED, Level, Measured
from hwgen.papers.yang.designs import BUDGETS, CORES, LARGE, WIDE, CoreRow, DesignRow
from hwgen.papers.yang.rows import OnDianNao

__all__ = ["blocking_5", "caches_3_4", "cores_9", "designs_6", "designs_7", "designs_8"]

COLOURS = dict(zip(ARRAYS, ("tab:blue", "tab:orange", "tab:green"), strict=True))
MACS = "tab:gray"
ACCESSES = f"accesses of {WIDE} bits"
"""The one of the readings of Fig. 6 to 8 that is drawn."""
PARTS = [
    (f"{memory}_{operand.lower()}", COLOURS[operand], hatch, f"{operand}, {called}")
    for memory, hatch, called in (("dram", "", "DRAM"), ("sram", "//", "on chip"))
    for operand in ARRAYS
]
"""Parts of a row as they are drawn from the bottom upward: field, colour, hatch, label."""


def _aside(axes: Axes) -> None:
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))


def caches_3_4(rows: Sequence[Measured], level: Level) -> Figure:
    """Accesses of one level of caches, logarithmic: a group for each layer, a bar for each program."""
    programs = list(dict.fromkeys(name for row in rows for name in row.counts))
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(programs)
    for number, program in enumerate(programs):
        own = [(place, row.counts[program]) for place, row in enumerate(rows) if program in row.counts]
        places = [place + (number - (len(programs) - 1) / 2) * width for place, _ in own]
        label = "our schedule" if program == BLOCKED else program
        axes.bar(places, [getattr(counts, level) for _, counts in own], width=0.9 * width, label=label)
    axes.set_xticks(range(len(rows)), [_sliced(row) for row in rows])
    axes.set_yscale("log")
    figure_number = "3" if level == "l2" else "4"
    axes.set(title=f"Fig. {figure_number}: accesses of {level.upper()}", ylabel="lines of 64 bytes")
    _aside(axes)
    return figure


def _sliced(row: Measured) -> str:
    return row.layer if row.share == 1 else f"{row.layer}\n({100 * row.share:.2g} % of it)"


def blocking_5(rows: Sequence[OnDianNao]) -> Figure:
    """Fig. 5, energy by operand and memory: left bars with the baseline schedule, right bars with the best one."""
    names = list(dict.fromkeys(row.layer for row in rows))
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    for shift, called in ((-0.2, "baseline"), (0.2, "best")):
        own = [row for row in rows if row.schedule == called]
        places = [place + shift for place in range(len(names))]
        bottom = [0.0] * len(names)
        for field, colour, hatch, label in (*PARTS, ("mac", MACS, "", "MACs")):
            heights = [
                getattr(row, field) / (first.memory + first.mac) for row, first in zip(own, rows[::2], strict=True)
            ]
            shown = label if called == "baseline" else None
            axes.bar(places, heights, width=0.36, bottom=bottom, color=colour, hatch=hatch, label=shown)
            bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
    axes.set_xticks(range(len(names)), names)
    axes.set(title="Fig. 5: DianNao, baseline schedule (left) and best (right)", ylabel="energy, baseline = 1")
    _aside(axes)
    return figure


def designs_6(rows: Sequence[DesignRow]) -> Figure:
    """Energy with memories designed for 8 MB, in parts of DianNao's with its best schedule."""
    own = [row for row in rows if (row.budget, row.width) == (LARGE, WIDE) and row.diannao is not None]
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    bottom = [0.0] * len(own)
    for field, colour, hatch, label in (*PARTS, ("mac", MACS, "", "MACs")):
        heights = [getattr(row, field) / (row.diannao or 1) for row in own]
        axes.bar(range(len(own)), heights, width=0.5, bottom=bottom, color=colour, hatch=hatch, label=label)
        bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
    for place, (row, top) in enumerate(zip(own, bottom, strict=True)):
        axes.annotate(f"{row.gain:.1f} times less", (place, top), ha="center", va="bottom", fontsize=9)
    axes.set_xticks(range(len(own)), [row.layer for row in own])
    axes.margins(y=0.12)
    title = f"Fig. 6: memories and schedule for each layer within 8 MB, {ACCESSES} on both sides"
    axes.set(title=title, ylabel="energy, DianNao's best = 1")
    _aside(axes)
    return figure


def designs_7(rows: Sequence[DesignRow]) -> Figure:
    """Energy, in parts of DianNao's, against area for all budgets: a line for each layer, and their mean."""
    own = [row for row in rows if row.width == WIDE and row.diannao is not None]
    table = TABLES["yang_2016"]
    areas = [table.area(budget) + table.area_without_memory for budget in BUDGETS]
    names = list(dict.fromkeys(row.layer for row in own))
    parts = {name: [1 / (row.gain or 1) for row in own if row.layer == name] for name in names}
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    axes = figure.subplots()
    for name, values in parts.items():
        axes.plot(areas, values, marker="o", markersize=4, linewidth=1, label=name)
    mean = [exp(sum(log(value) for value in values) / len(values)) for values in zip(*parts.values(), strict=True)]
    axes.plot(areas, mean, color="black", linewidth=2, label="geometric mean")
    axes.set_xscale("log")
    axes.set_ylim(0, None)
    axes.set_xticks(
        areas, [f"{_size(budget)}\n{area:.1f}" for area, budget in zip(areas, BUDGETS, strict=True)], fontsize=9
    )
    axes.minorticks_off()
    axes.set(
        title=f"Fig. 7: least energy within an area, {ACCESSES} on both sides",
        xlabel="memories on chip; area with the datapath in mm2 (DianNao: 1 mm2, by the text)",
        ylabel="energy, DianNao with its best schedule = 1",
    )
    axes.legend()
    return figure


def _size(budget: int) -> str:
    return f"{budget >> 20} MB" if budget >> 20 else f"{budget >> 10} KB"


def designs_8(rows: Sequence[DesignRow]) -> Figure:
    """Energy of a multiply-accumulate, of the memories on chip and of the DRAM, logarithmic, within 8 MB."""
    own = [row for row in rows if (row.budget, row.width) == (LARGE, WIDE)]
    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.subplots()
    bars = (
        ("MACs", MACS, [1.0] * len(own)),
        ("memories on chip", "tab:blue", [(row.memory - row.dram) / row.mac for row in own]),
        ("DRAM", "tab:red", [row.dram / row.mac for row in own]),
    )
    for number, (label, colour, heights) in enumerate(bars):
        places = [place + 0.27 * (number - 1) for place in range(len(own))]
        axes.bar(places, heights, width=0.25, color=colour, label=label)
    axes.axhline(0.8, color="black", linewidth=1, linestyle="--", label="80 % of the MACs")
    names = [row.layer if row.images == 1 else f"{row.layer}\nn = {row.images}" for row in own]
    axes.set_xticks(range(len(own)), names, fontsize=9)
    axes.set_yscale("log")
    axes.set(
        title=f"Fig. 8: memories and multiply-accumulates within 8 MB, {ACCESSES}",
        ylabel="energy, MACs = 1",
        xlabel="n: images",
    )
    _aside(axes)
    return figure


def cores_9(rows: Sequence[CoreRow]) -> Figure:
    """Energy of the memories on 1 to 8 cores: a plot for each schedule, weights shared left, inputs shared right."""
    schedules = sorted({row.schedule for row in rows})
    figure = Figure(figsize=(3 * len(schedules) + 1.5, 4.2), layout="constrained")
    every = figure.subplots(1, len(schedules), sharey=True, squeeze=False)[0]
    parts = (("private", "0.6", "private"), ("last_i", COLOURS["I"], "last level, I"),
             ("last_w", COLOURS["W"], "last level, W"), ("last_o", COLOURS["O"], "last level, O"),
             ("dram", "tab:red", "DRAM"), ("shuffle", "black", "shuffle"))  # fmt: skip
    for axes, schedule in zip(every, schedules, strict=True):
        own = [row for shared in "WI" for row in rows if (row.schedule, row.shared) == (schedule, shared)]
        places = [place + (0.7 if place >= len(CORES) else 0) for place in range(len(own))]
        bottom = [0.0] * len(own)
        for field, colour, label in parts:
            heights = [getattr(row, field) / 1e9 for row in own]
            axes.bar(places, heights, width=0.8, bottom=bottom, color=colour, label=label)
            bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
        axes.set_xticks(places, [str(row.cores) for row in own])
        axes.set(title=f"schedule {schedule}", xlabel="cores: W shared | I shared")
    every[0].margins(y=0.06)
    every[0].set_ylabel("memories, mJ")
    _aside(every[-1])
    figure.suptitle("Fig. 9: Conv1 on several cores")
    return figure
