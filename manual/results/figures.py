"""The figures in the text of the page of results: sentences that are made from the kept files.

`SENTENCES` has them by the file that they are from. Whatever else looks like a figure on the page is in `SETTINGS`:
what was asked for, not what was found.
"""

from collections.abc import Callable, Sequence

from hwgen.studies.regress.goals import GOALS
from manual.results.kept import Row, count, document, percent, rows, share, tenths, total
from manual.results.paper_tables import WITHIN, on_dram, own_slower
from manual.results.tables import every_row

__all__ = ["SENTENCES", "SETTINGS"]

SETTINGS: tuple[str, ...] = (
    "have 256 of their 1,024 for inputs",
    "of which marks want 0.88, of DenseNet-121 and ZFNet-512 0.80, of ShuffleNet 0.50",
    "the pipelines make 1,280 lines of 24 pixels",
    "1,024 multipliers; counts are the model's",
    "tiles of 32,768 elements",
    "Layers of at most `--limit` predicted cycles (100,000)",
    "fails if its HWC takes more than 8,500 LUT4-equivalents",
    "the command fails below 3.6.",
    "(130 nm, 1.2 V, 25 C)",
    "before 8,192 cycles of an HWC's work were played there in place of 2,048",
)
"""What is no result."""


def goals() -> str:
    """Goals of busy HWCs."""
    each, one, wide = GOALS[16]["per-layer"], GOALS[16]["shared"], GOALS[64]
    return f"""
        The goals are at most {share(each.ratio, 2)} of the optima for each row and {share(one.ratio, 2)}
        for one HWC, and a mean utilisation of {share(each.utilisation, 2)} and {share(one.utilisation, 2)}
        at 16 multipliers, {share(wide["per-layer"].utilisation, 2)} and {share(wide["shared"].utilisation, 2)}
        at 64"""


def demo() -> str:
    """The HWC of the demo beside the ends that it is chosen from."""
    found = document("demo")
    chosen, least, fewest = (found[name] for name in ("chosen", "least_traffic", "fewest_cycles"))
    return f"""
        In all, {count(chosen["cycles"])} cycles for {count(chosen["total_bytes"])} bytes. The least traffic
        of all HWCs of 1 KiB is {count(least["total_bytes"])} bytes, in {count(least["cycles"])} cycles, and
        the fewest cycles within the same 5 % are {count(fewest["cycles"])}"""


def simulated() -> str:
    """What of the busy HWCs was simulated."""
    ran = [one for one in rows("busy_16") if one["configuration"].split()[1] == "1024"]  # of 1 KiB
    return f"with 1 KiB were simulated at full size: {total(ran, 'rows')} rows, {count(total(ran, 'cycles'))} cycles"


def printed() -> str:
    """What `hwgen regress --printed` ran."""
    cycles = total(rows("stoutchinin-2019_printed"), "cycles_measured")
    return f"68 rows each (`x`): {count(cycles)} cycles, every output"


def speedups() -> str:
    """Four HWCs against one."""
    every = rows("alexnet_cluster")
    cycles: dict[str, dict[int, int]] = {}
    for one in every:
        if one["case"].endswith(", searched"):
            cycles.setdefault(one["layer"], {})[int(one["hwcs"])] = int(one["cycles_measured"])
    found = [share(each[1] / each[4], 2) for each in cycles.values()]
    return f"are {_listed(found)} times as fast on four HWCs as on one"


def multicast() -> str:
    """Words that HWCs read with multicast."""
    words = {one["case"]: int(one["words_read"]) for one in rows("alexnet_cluster")}
    fewer = [
        1 - words[name] / words[name.removesuffix(", together")] for name in words if name.endswith(", together")
    ]
    return f"read {_listed([tenths(100 * part) for part in fewer])} % fewer words of I and W at the TCDM"


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


def four_hwcs() -> str:
    """How far the predictions of all rows on one cluster are off."""
    found = sorted(((abs(_off(one)), one["layer"]) for one in every_row()), reverse=True)
    (first, its), (second, other), (third, _), *_ = found
    return f"""
        `{its}` {percent(first, 2)} more, `{other}` {percent(second, 2)} more, all others within
        {percent(third, 2)}"""


def _off(one: Row) -> float:
    return int(one["cycles_predicted"]) / int(one["cycles_measured"]) - 1


def transfers() -> str:
    """All layers of Fig. 4 of Cecconi et al. 2017."""
    every = rows("cecconi-2017_transfers")
    naive, best = (sum(float(one["cycles"]) for one in every if one["tiles"] == tiles) for tiles in ("naive", "best"))
    linear = [float(one["linear"]) / float(one["cycles"]) for one in every]
    moved, of = total(every, "transfers"), total(every, "of")
    return f"""
        In all, {naive / 1e6:.2f} to {best / 1e6:.2f} million cycles: {naive / best:.2f} times fewer. All
        {count(moved)} transfers that were moved (of {count(of)}): data and counts at DRAM and TCDM as
        predicted. The linear formula is {min(linear):.2f} to {max(linear):.2f} times the RTL's cycles. The
        paper states 5 times; fixed beforehand, 4.5 to 5.5 count as reproduced"""


def fig3() -> str:
    """What the columns of Fig. 3 come to."""
    sums: dict[tuple[str, str], float] = {}
    for one in rows("cecconi-2017_fig3"):
        key = one["tiles"], one["way"]
        sums[key] = sums.get(key, 0) + float(one["cycles"])
    none, single, halves = (sums[key] / 1e6 for key in (("none", "single"), ("best", "single"), ("best", "halves")))
    naive = sums["naive", "halves"] / 1e6
    return f"""
        In all, two halves with the best tiles take {tenths(halves, 2)} million cycles, {percent(1 - halves / none)}
        less than without buffering ({tenths(none, 2)}), {percent(1 - halves / single)} less than a single
        buffer ({tenths(single, 2)}) and {percent(1 - halves / naive)} less than two halves with naive tiles
        ({tenths(naive, 2)})"""


def fig3_rtl() -> str:
    """What of Fig. 3 ran in the RTL."""
    return f"in all seven ways, {total(rows('cecconi-2017_rtl'), 'cycles') / 1e6:,.0f} million cycles"


def bursts() -> str:
    """The layers for which counting bursts is right under its own premise."""
    every = on_dram("sousa_2022_bursts")
    slower = sum(_cycles(one, "bursts") > WITHIN * _cycles(one, "bytes") for one in every)
    return f"chooses the better mapping, or one alike, in {len(every) - slower} of {len(every)} layers"


def _cycles(one: Row, way: str) -> int:
    return int(one[f"{way}_measured"] or one[f"{way}_predicted"])


def own() -> str:
    """How many layers win and lose on our own DRAM."""
    every = on_dram("sousa_2022")
    lose = len(own_slower())
    win = sum(_cycles(one, "bytes") > WITHIN * _cycles(one, "bursts") for one in every)
    return f"bursts in view win in {win} of {len(every)} layers, tie in {len(every) - win - lose} and lose in {lose}"


def own_off() -> str:
    """How far the predictions of its runs are off."""
    runs = [
        abs(int(one[f"{way}_predicted"]) / int(one[f"{way}_measured"]) - 1)
        for one in on_dram("sousa_2022")
        for way in ("bursts", "bytes")
        if one[f"{way}_measured"]
    ]
    mean = percent(sum(runs) / len(runs), 2)
    return f"Its {len(runs)} runs are {mean} off in the mean and {percent(max(runs), 2)} at most"


def four_clusters() -> str:
    """How far the predictions of four clusters are off."""
    most = max(abs(_off(one)) for one in rows("four_clusters") if one["stalled"] == "no")
    return f"cycles predicted within {percent(most, 2)}"


def blocks() -> str:
    """The areas of what is more than an HWC."""
    found = {one["design"]: one for one in rows("area")}
    cluster, pipeline = found["alexnet_cluster"], found["pipeline of two layers"]
    return f"""
        The cluster `alexnet_cluster` of four HWCs takes {count(cluster["lut4_equivalents"])}
        LUT4-equivalents and {cluster["block_rams"]} block RAMs, the pipeline of two layers (README's
        `net.yaml`) {count(pipeline["lut4_equivalents"])}."""


def cells() -> str:
    """An HWC in standard cells."""
    found = document("cells")
    registers = sum(one["flip_flops"] for one in found["blocks"])
    return f"""
        takes {share(found["area_um2"] / 1e6)} mm2 of cells, {count(registers)} flip-flops among them, with
        a longest path for {share(found["clock_mhz"], 0)} MHz"""


SENTENCES: dict[str, tuple[Callable[[], str], ...]] = {
    "hwgen/studies/regress/goals.py": (goals,),
    "demo.json": (demo,),
    "busy_16.csv": (simulated,),
    "stoutchinin-2019_printed.csv": (printed,),
    "alexnet_cluster.csv": (speedups, multicast),
    "stoutchinin-2019_four_hwcs.csv": (four_hwcs,),
    "cecconi-2017_transfers.csv": (transfers,),
    "cecconi-2017_fig3.csv": (fig3,),
    "cecconi-2017_rtl.csv": (fig3_rtl,),
    "sousa-2022_system.csv": (bursts, own, own_off),
    "four_clusters.csv": (four_clusters,),
    "area.csv": (blocks,),
    "cells.json": (cells,),
}
"""The sentences by the file that has their figures."""
