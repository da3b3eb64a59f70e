"""What Yang et al. 2016 state, beside what was computed, with a sentence on each difference."""

from collections.abc import Mapping, Sequence
from statistics import median

from hwgen.papers.claims import Claim, Largest, Least, OverAll, Quantity, about, between, cases
from hwgen.papers.yang.rows import BENCHMARKS, NetworkRow, OnDianNao
from hwgen.papers.yang.strings import strings

__all__ = ["ABOUT", "DOMINATES", "blocking_claims", "of_benchmarks", "unjudged_claims"]

MOST_ABOVE = 8
"""Percent by which the paper's search is above full enumeration, at most."""
CLOSE = 0.05
"""Parts of a printed figure within which one counts as reproduced."""
ABOUT = 0.2
"""Parts of a figure that is printed as "about" or with one digit."""
DOMINATES = (50.0, 100.0)
"""Percent of an energy that a part has which dominates it."""
STRINGS = 3000


def blocking_claims(
    networks: Sequence[NetworkRow], rows: Sequence[OnDianNao], seeded: Mapping[str, float]
) -> list[Claim]:
    """Table 1, Section 3.5 and Fig. 5.

    ``seeded``: see `hwgen.papers.yang.rows.seeded_over_enumerated`, by layer.
    """
    pairs = [(first, second) for first, second in zip(rows[::2], rows[1::2], strict=True)]
    baselines, best = [first for first, _ in pairs], [second for _, second in pairs]
    return [
        *(_network(row) for row in networks),
        _kinds(networks),
        _window(baselines),
        _blocked(baselines),
        _kernels_first(baselines),
        *_kernels_saved(pairs),
        *_rest(best),
        _share(baselines),
        _seeded(seeded),
        _strings(),
    ]


def of_benchmarks(names: Sequence[str]) -> str:
    """How many of the five convolutions a claim is judged by."""
    return f"{len(names)} of the {len(BENCHMARKS)} convolutions of Table 4, modelled"


def _network(row: NetworkRow) -> Claim:
    figures = (
        ("GMAC, convolutions", row.conv, row.published_conv), ("MB", row.conv_mb, row.published_conv_mb),
        ("GMAC, fully connected", row.fc, row.published_fc), ("MB, fully connected", row.fc_mb, row.published_fc_mb),
    )  # fmt: skip
    return Claim(
        "Table 1",
        f"{row.network}: {row.published_conv:g} GMAC and {row.published_conv_mb:g} MB in convolutions, "
        f"{row.published_fc:g} and {row.published_fc_mb:g} in fully connected layers",
        f"{row.conv:.3f} and {row.conv_mb:.1f}, {row.fc:.3f} and {row.fc_mb:.1f}",
        "The layer tables of this project; memory is the weights, two bytes each." + _of_alexnet(row),
        scope="the whole network",
        parts=tuple(about(name, found, published, CLOSE) for name, found, published in figures),
    )


def _of_alexnet(row: NetworkRow) -> str:
    if row.network != "AlexNet":
        return ""
    return " Three convolutions have two groups, as published by their authors; without groups they take 1.08 GMAC."


def _kinds(rows: Sequence[NetworkRow]) -> Claim:
    return Claim(
        "2.1, Table 1",
        "convolutions compute most, fully connected layers take most memory",
        "; ".join(
            f"{row.network} {row.conv / row.fc:.0f} times the GMAC, {row.fc_mb / row.conv_mb:.0f} times the MB"
            for row in rows
        ),
        "Networks of which both hold.",
        scope="the networks of Table 1",
        parts=cases("networks", (row.conv > row.fc and row.fc_mb > row.conv_mb for row in rows)),
        refutable=True,
    )


def _window(rows: Sequence[OnDianNao]) -> Claim:
    return Claim(
        "5.2",
        "with DianNao's own loops even the smallest input buffer does not fit in 2 KB",
        ", ".join(f"{row.layer} {row.window} bytes" for row in rows),
        "The inputs of one output pixel, 16 bits each.",
        scope=of_benchmarks([row.layer for row in rows]),
        parts=cases("layers", (row.window > 2048 for row in rows)),
    )


def _blocked(rows: Sequence[OnDianNao]) -> Claim:
    typical = median(row.unblocked_i for row in rows)
    return Claim(
        "5.2",
        "blocking columns once more reduces DRAM accesses 4 times",
        f"of inputs: {', '.join(f'{row.layer} {row.unblocked_i:.1f}' for row in rows)}; median {typical:.1f}",
        "The paper does not print the nest; in our reading inputs slide along the kernel's columns, so that the "
        "factor is about their number.",
        scope=of_benchmarks([row.layer for row in rows]),
        parts=(OverAll.of(about("median, of inputs", typical, 4, ABOUT, gain="more")),),
    )


def _kernels_first(rows: Sequence[OnDianNao]) -> Claim:
    shares = {row.layer: row.dram_w / row.memory for row in rows}
    return Claim(
        "5.2, Fig. 5",
        "with the baseline schedule weights from the DRAM take the most energy, especially in Conv3, 4 and 5",
        "share of the memories' energy: "
        + ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items()),
        "Layers in which it is larger than inputs from the DRAM, outputs from it, and all buffers.",
        scope=of_benchmarks([row.layer for row in rows]),
        parts=cases("layers", (row.dram_w > max(row.dram_i, row.dram_o, row.memory - row.dram) for row in rows)),
    )


def _kernels_saved(pairs: Sequence[tuple[OnDianNao, OnDianNao]]) -> list[Claim]:
    both = {first.layer: first.of("W") / second.of("W") for first, second in pairs}
    dram = {first.layer: first.dram_w / second.dram_w for first, second in pairs}
    remarks = (
        "Every multiplier reads a weight of its own from the 32 KB buffer, which no schedule changes.",
        "Without that floor.",
    )
    return [
        Claim(
            "5.2, Fig. 5",
            "the optimal schedule reduces the energy of weights 2 to 15 times",
            ", ".join(f"{name} {gain:.1f}" for name, gain in gains.items()),
            remark + " The least and the most of the layers, each to a fifth of the printed figure.",
            scope=of_benchmarks([*gains]),
            parts=(
                Least.of(about("least", min(gains.values()), 2, ABOUT, gain="more")),
                Largest.of(about("most", max(gains.values()), 15, ABOUT, gain="more")),
            ),
            reading=reading,
        )
        for gains, reading, remark in zip((both, dram), ("buffers and DRAM", "DRAM alone"), remarks, strict=True)
    ]


def _rest(rows: Sequence[OnDianNao]) -> list[Claim]:
    every = {row.layer: 100 * (row.dram_i + row.dram_o) / row.memory for row in rows}
    dram = {row.layer: 100 * (row.dram_i + row.dram_o) / row.dram for row in rows}
    gaps = ", ".join(f"{row.layer} {100 * (row.gap or 0):.1f} %" for row in rows)
    published = "in the optimal schedule the DRAM's energy of inputs and outputs dominates"
    remarks = (f"Gaps to the proven bound: {gaps}.", "Not what is printed: the figure has the buffers and the total.")
    return [
        Claim(
            "5.2, Fig. 5",
            published,
            ", ".join(f"{name} {share:.0f} %" for name, share in shares.items()),
            remark + " Dominates: more than half.",
            scope=of_benchmarks([*shares]),
            parts=tuple(Quantity(name, share, *DOMINATES, "%") for name, share in shares.items()),
            reading=reading,
        )
        for shares, reading, remark in zip((every, dram), ("", "of the DRAM's energy alone"), remarks, strict=True)
    ]


def _share(rows: Sequence[OnDianNao]) -> Claim:
    ratios = [row.memory / row.mac for row in rows]
    return Claim(
        "5.2, Fig. 8",
        "in the DianNao system memory takes 20 times the energy of the computation",
        ", ".join(f"{row.layer} {ratio:.0f}" for row, ratio in zip(rows, ratios, strict=True)),
        "The energy of a multiply-accumulate is not printed; 0.9 pJ is ours.",
        scope=of_benchmarks([row.layer for row in rows]) + ", baseline schedule",
        parts=(OverAll.of(about("median", median(ratios), 20, ABOUT)),),
    )


def _seeded(ratios: Mapping[str, float]) -> Claim:
    return Claim(
        "3.5",
        "the search from 128 seeds, level by level, takes at most 8 % more energy than full enumeration",
        ", ".join(f"{name} {100 * (ratio - 1):+.1f} %" for name, ratio in ratios.items()),
        "Below 0 it finds less: it takes any integer tiles, full enumeration here strings of two blockings with "
        "halved tiles. The paper's hierarchies have four to five levels.",
        scope=of_benchmarks([*ratios]),
        parts=tuple(between(name, 100 * (ratio - 1), 0, MOST_ABOVE, "%", "less") for name, ratio in ratios.items()),
        reading="on DianNao's two levels",
    )


def _strings() -> Claim:
    number = len(strings())
    return Claim(
        "3.5",
        f"for two blockings there are approximately {STRINGS} strings",
        f"{number:,}",
        "Approximately: to a fifth.",
        scope="strings of loops, whatever the layer",
        parts=(about("strings", number, STRINGS, ABOUT),),
        reading="rows and columns blocked together, the kernel's rows outside its columns",
    )


def unjudged_claims() -> list[Claim]:
    """Statements that nothing here speaks for or against, with the reason."""
    return [
        Claim(
            "Fig. 8",
            "pooling and local response normalisation: energy of memories and computation with 8 MB",
            "-",
            "Absent here: the model of energy has convolutions and fully connected layers; neither of the two has "
            "multiply-accumulates with weights, and the paper prints no figure of them.",
            scope="Pool and LRN of Table 4",
        ),
        Claim(
            "3.5",
            "four levels have strings in the order of a million; 24 hours for a layer, minutes with seeds",
            "-",
            "Strings of four blockings were not enumerated; the times are those of another machine.",
        ),
        Claim(
            "3.6",
            "one memory for several layers: common points of the ten best of each",
            "-",
            "No figure is printed. `hwgen design` does it; `docs/results.md` has a cluster designed for five layers.",
        ),
        Claim(
            "4.1",
            "counters of a processor and a simulator agree within 10 %",
            "-",
            "No hardware counters here: caches are simulated by cachegrind.",
        ),
    ]
