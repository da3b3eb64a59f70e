"""The tables of the page of results that stand beside publications."""

import re
from collections.abc import Sequence

from hwgen.papers.sousa.rows import MODELS
from hwgen.papers.yang.caches import cache_rows, measured_layers
from manual.results.kept import DOCS, Row, count, off, percent, rows, share, tenths, total
from manual.results.tables import Cells

__all__ = [
    "bursts",
    "bursts_by_network",
    "caches",
    "connected",
    "designed_layers",
    "fig3",
    "fig3_rtl",
    "four_clusters",
    "on_dram",
    "own_by_network",
    "own_rtl",
    "own_slower",
    "transfers",
]

GAINS = {"lenet": "16.1 %", "mobilenet_v2": "10.3 %", "squeezenet": "9.7 %", "yolo_fvlpd": "7.4 %",
         "resnet50_tfslim": "11.5 %", "inception_v3": "21.7 %"}  # fmt: skip
"""Of Sousa et al. 2022, Fig. 5, by the names of our tables of layers."""
WITHIN = 1.01
"""Layers whose cycles differ by less count as alike."""


def transfers() -> Cells:
    """Cecconi et al. 2017, Fig. 4: transfers alone, in the RTL."""
    cases = {(one["layer"], one["tiles"]): one for one in rows("cecconi-2017_transfers")}
    found = []
    for layer in dict.fromkeys(layer for layer, _ in cases):
        pair = [cases[layer, tiles] for tiles in ("naive", "best")]
        cycles = [float(one["cycles"]) for one in pair]
        found.append([
            layer, *(one["tile"] for one in pair), *(f"{one / 1e6:,.2f}" for one in cycles),
            f"{cycles[0] / cycles[1]:.2f}", *(share(one["bytes_a_cycle"], 2) for one in pair),
            *(count(one["transfers"]) for one in pair),
        ])  # fmt: skip
    return found


WAYS = (("none", "single"), ("naive", "single"), ("naive", "halves"), ("best", "single"), ("best", "halves"))


def fig3() -> Cells:
    """Cecconi et al. 2017, Fig. 3, by the cycle model."""
    cases = {(one["layer"], one["tiles"], one["way"]): one for one in rows("cecconi-2017_fig3")}
    return [
        [layer, *(cases[layer, tiles, "halves"]["tile"] for tiles in ("naive", "best")),
         *(tenths(float(cases[layer, *way]["cycles"]) / 1e6, 2) for way in WAYS)]
        for layer in dict.fromkeys(layer for layer, _, _ in cases)
    ]  # fmt: skip


def fig3_rtl() -> Cells:
    """What of it ran in the RTL."""
    ran = rows("cecconi-2017_rtl")
    found = []
    for layer in dict.fromkeys(one["layer"] for one in ran):
        alone, *others = (one for one in ran if one["layer"] == layer)
        most = max(others, key=lambda one: abs(int(one["predicted"]) / int(one["cycles"]) - 1))
        found.append([
            layer, count(alone["predicted"]), count(alone["cycles"]), count(total(others, "cycles")),
            off(most["predicted"], most["cycles"]),
        ])  # fmt: skip
    return found


def on_dram(hardware: str) -> list[Row]:
    """The layers of Sousa et al. 2022 on one of the two DRAMs."""
    return [one for one in rows("sousa-2022_system") if one["hardware"] == hardware]


def bursts() -> Cells:
    """Sousa et al. 2022 on the DRAM of Eq. 6: the layers that ran in the RTL."""
    found = []
    for one in on_dram("sousa_2022_bursts"):
        if one["bursts_measured"]:
            (network,) = _networks(one)
            cycles = [int(one[f"{way}_{what}"]) for way in ("bursts", "bytes") for what in ("predicted", "measured")]
            found.append([
                f"`{one['layer']}`", MODELS[network], *map(count, cycles), percent(cycles[3] / cycles[1] - 1)
            ])  # fmt: skip
    return sorted(found, key=lambda cells: (list(MODELS.values()).index(cells[1]), cells[0]))


def bursts_by_network() -> Cells:
    """All layers on that DRAM, by network."""
    return by_network(on_dram("sousa_2022_bursts"))


def own_by_network() -> Cells:
    """All layers on our own DRAM, by network, and how many ran in the RTL."""
    every = on_dram("sousa_2022")
    ran = {
        network: sum(network in _networks(one) and bool(one["bursts_measured"]) for one in every) for network in GAINS
    }
    return [
        [*cells[:2], str(ran[network]), *cells[2:]]
        for network, cells in zip(_present(every), by_network(every), strict=True)
    ]


def _networks(row: Row) -> dict[str, int]:
    return {network: int(number) for network, _, number in (one.partition(":") for one in row["networks"].split())}


def _cycles(row: Row) -> tuple[int, int]:
    """Of the mapping with bursts in view and of the one counting bytes: measured, or else predicted."""
    first, second = (int(row[f"{way}_measured"] or row[f"{way}_predicted"]) for way in ("bursts", "bytes"))
    return first, second


def _present(every: Sequence[Row]) -> list[str]:
    return [network for network in GAINS if any(network in _networks(one) for one in every)]


def by_network(every: Sequence[Row]) -> Cells:
    """Layers that are faster with bursts in view, alike and slower, and what all layers together gain."""
    found = []
    for network in _present(every):
        pairs = [(*_cycles(one), _networks(one)[network]) for one in every if network in _networks(one)]
        faster = sum(before > WITHIN * after for after, before, _ in pairs)
        slower = sum(after > WITHIN * before for after, before, _ in pairs)
        after, before = (sum(pair[place] * pair[2] for pair in pairs) for place in (0, 1))
        found.append([
            MODELS[network], str(len(pairs)), str(faster), str(len(pairs) - faster - slower), str(slower),
            percent(before / after - 1), GAINS[network],
        ])  # fmt: skip
    return found


def own_slower() -> Cells:
    """Layers that bursts in view make slower on our own DRAM, with the reason; in brackets by the cycle model."""
    found = []
    for one in on_dram("sousa_2022"):
        after, before = _cycles(one)
        if after > WITHIN * before:
            cells = [
                count(ran) if (ran := one[f"{way}_measured"]) else f"({count(one[f'{way}_predicted'])})"
                for way in ("bursts", "bytes")
            ]
            networks = ", ".join(MODELS[network] for network in _networks(one))
            found.append([f"`{one['layer']}`", networks, *cells, percent(before / after - 1), _why(one)])
    return found


def _why(one: Row) -> str:
    """The reason without what follows it of mappings that have no program."""
    return re.split(r"; (?=bursts in view, |counting bytes, )", one["reason"])[0]


def own_rtl() -> Cells:
    """The layers that ran in the RTL on our own DRAM."""
    found = []
    for one in on_dram("sousa_2022"):
        if one["bursts_measured"]:
            cells = [f"`{one['layer']}`"]
            for way in ("bursts", "bytes"):
                pair = one[f"{way}_predicted"], one[f"{way}_measured"]
                cells += [*map(count, pair), off(*pair)]
            found.append(cells)
    return found


def four_clusters() -> Cells:
    """Layers shared out to four clusters of one HWC."""
    found = []
    for one in rows("four_clusters"):
        stalled = one["stalled"] == "yes"
        found.append([
            one["case"], count(one["cycles_measured"]), "" if stalled else count(one["cycles_predicted"]),
            percent(one["utilisation"]), *(count(one[f"longest_wait_{channel}"]) for channel in ("read", "write")),
        ])  # fmt: skip
    return found


def connected() -> Cells:
    """The fully connected layer of Yang et al. 2016 with one image and with 64."""
    return [
        [one["images"], count(one["dram_bytes"]), count(int(one["dram_bytes"]) // int(one["images"])),
         count(one["tcdm_bytes"]), count(one["lane_vectors"]), count(one["predicted"]), count(one["cycles"])]
        for one in rows("yang-2016_rtl")
        if one["layer"].startswith("FC1")
    ]  # fmt: skip


def designed_layers() -> Cells:
    """Convolutions of Yang et al. 2016 on the cluster that is designed for them."""
    return [
        [one["layer"], *(count(one[name]) for name in ("dram_bytes", "tcdm_bytes", "lane_vectors")),
         *(tenths(float(one[name]) / 1e6) for name in ("dram", "tcdm", "local", "mac")),
         count(one["predicted"]), count(one["cycles"])]
        for one in rows("yang-2016_rtl")
        if not one["layer"].startswith("FC1")
    ]  # fmt: skip


PROGRAMS = ("blocked", "ATLAS", "MKL", "MKL, AVX2", "OpenBLAS")


def caches() -> Cells:
    """Accesses of the caches of a processor, in thousands."""
    found = []
    for one in measured_layers(cache_rows(DOCS / "papers" / "cpu_accesses.csv"), "kept"):
        part = "all" if one.share == 1 else percent(one.share, 3 if one.share < 1e-3 else 1)
        cells = [one.layer, part]
        for level in ("l2", "l3"):
            cells += [count(getattr(one.counts[program], level) // 1000) for program in PROGRAMS]
        found.append(cells)
    return found
