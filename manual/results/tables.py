"""The tables of the page of results, each from the files that a command left.

`manual.results.sources` has all of them, by the name that stands in a comment before the table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean

from manual.results.kept import Row, count, document, off, percent, rows, share, tenths, total

__all__ = ["Cells", "Table", "every_row", "of_width"]

Cells = list[list[str]]


@dataclass(frozen=True)
class Table:
    """A table of the page.

    Members
    -------
    files : names of files in `manual.results.files`, or one of the project's own.
    columns : the head, a colon at the end of those that are aligned to the right.
    cells : the rows, made of the files.
    """

    files: str
    columns: str
    cells: Callable[[], Cells]

    @property
    def lines(self) -> list[str]:
        """The table in Markdown."""
        columns = self.columns.split(" | ")
        rule = ["---:" if column.endswith(":") else "---" for column in columns]
        rows = [[column.removesuffix(":") for column in columns], *self.cells()]
        first, *others = [f"| {' | '.join(row)} |" for row in rows]
        return [first, f"|{'|'.join(rule)}|", *others]


def demo() -> Cells:
    """Layers on the HWC of `make demo`."""
    return [
        [one["layer"], count(one["macs"]), count(one["total_bytes"]), count(one["cycles"]["measured"]),
         share(one["utilisation"]), _yes(one["equal"]), _yes(one["output_exact"])]
        for one in document("demo")["results"]
    ]  # fmt: skip


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def busy() -> Cells:
    """Busy HWCs over all rows."""
    found = []
    for multipliers in (16, 64, 256):
        for one in rows(f"model_{multipliers}"):
            goal = {"nearest": "traffic out of reach"}.get(one["verdict"], one["verdict"])
            found.append([
                one["multipliers"], f"{int(one['buffer_bytes']) >> 10} KiB",
                "one for all" if one["kind"] == "shared" else one["hwcs"], share(one["of_the_optima"]),
                share(one["utilisation"]), goal, count(one["cycles"]),
            ])  # fmt: skip
    return found


def nests() -> Cells:
    """Readings of the nest of Fig. 8 of Stoutchinin et al. 2019."""
    return [
        [
            one["nest"] + ("" if one["nest"] in PRINTED else ", not as printed"),
            one["division"].replace("layer", "row"), ", ".join(one["memories"].split()[1::2]), count(one["bytes"]),
            share(one["of_the_optima"]), count(one["cycles"]), share(one["utilisation"]),
        ]
        for one in rows("stoutchinin-2019_fig8")
    ]  # fmt: skip


PRINTED = {"I above LSY, W above LOF": "MYX[O]C[I]YK[W]ML", "I and W above LOF": "MYX[O]CYK[IW]ML"}
"""The nests with W as printed, and their loops as `hwgen regress` calls them."""


WIDTHS = {8: "alexnet_cluster", 16: "alexnet_16bit"}
CLOCK_MHZ = 500
"""Of Stoutchinin et al. 2019."""


def of_width(bits: int) -> list[Row]:
    """The rows of AlexNet at full rate on four HWCs."""
    return [one for one in rows(WIDTHS[bits]) if one["case"] == one["layer"]]


def widths() -> Cells:
    """AlexNet on four HWCs of 8 and of 16 bits."""
    return [cells for bits in WIDTHS for cells in _of_width(bits)]


def _of_width(bits: int) -> Cells:
    ran = of_width(bits)
    cells = [
        [str(bits), one["layer"], count(one["cycles_measured"]), off(one["cycles_predicted"], one["cycles_measured"]),
         share(one["utilisation"]), *_rates(int(one["macs"]), int(one["cycles_measured"]))]
        for one in ran
    ]  # fmt: skip
    macs, cycles, predicted = (total(ran, name) for name in ("macs", "cycles_measured", "cycles_predicted"))
    busy = macs / cycles / (64 if bits == 8 else 32)
    return [
        *cells,
        [str(bits), f"all {len(ran)}", count(cycles), off(predicted, cycles), share(busy), *_rates(macs, cycles)],
    ]


def _rates(macs: int, cycles: int) -> list[str]:
    """Multiply-accumulates in a cycle, and thousands of millions in a second."""
    return [f"{macs / cycles:.1f}", f"{macs * CLOCK_MHZ / cycles / 1000:.1f}"]


NETWORKS = {"alexnet": "AlexNet", "zfnet": "ZFNet", "vgg": "VGG", "inception": "Inception", "resnet": "ResNet"}


def every_row() -> list[Row]:
    """All rows of Stoutchinin et al. 2019 at full rate on one cluster."""
    return [one for one in rows("stoutchinin-2019_four_hwcs") if one["stalled"] == "no"]


def four_hwcs() -> Cells:
    """All rows on one cluster of four HWCs, by network."""
    every = every_row()
    groups = {
        text: [one for one in every if one["layer"].startswith(f"{name}_")] for name, text in NETWORKS.items()
    } | {"all": every}
    found = []
    for text, group in groups.items():
        macs, cycles, predicted = (total(group, name) for name in ("macs", "cycles_measured", "cycles_predicted"))
        busy = [float(one["utilisation"]) for one in group]
        found.append([
            f"{text}, {len(group)}", count(cycles), count(predicted),
            *(share(one) for one in (mean(busy), min(busy), max(busy))), _rates(macs, cycles)[1],
        ])  # fmt: skip
    return found


def designed() -> Cells:
    """AlexNet on a cluster that is designed for the least energy."""
    found = document("designed")["results"]
    cells = [
        [one["layer"], tenths(one["energy"]["measured"]["total"] / 1e6), count(one["cycles"]["measured"]),
         share(one["utilisation"])]
        for one in found
    ]  # fmt: skip
    energy = sum(one["energy"]["measured"]["total"] for one in found)
    return [*cells, ["all five", tenths(energy / 1e6), count(sum(one["cycles"]["measured"] for one in found)), ""]]


def cut_down() -> Cells:
    """The stacks that `hwgen regress-stacks` runs, the sizes of each once."""
    found: dict[str, list[str]] = {}
    worst: dict[str, float] = {}
    for one in rows("stacks"):
        name = one["stack"].rpartition("_x")[0]
        same = one["input"] == one["input_published"] and one["macs"] == one["macs_published"]
        published = ["the same"] * 2 if same else [one["input_published"], _millions(one["macs_published"])]
        tiles = f"{found[name][1]}, {one['tiles']}" if name in found else one["tiles"]
        worst[name] = max(worst.get(name, 0.0), abs(float(one["off_pace"])))
        sizes = [one["input"], published[0], one["channels"], _millions(one["macs"]), published[1]]
        found[name] = [f"`{name}`", tiles, *sizes, percent(worst[name]), percent(one["may_be_off"])]
    return list(found.values())


def _millions(value: str) -> str:
    return f"{int(value) / 1e6:,.0f} M"


def all_channels() -> Cells:
    """SRGAN and DMCNN-VD with all channels on a strip."""
    return [
        [f"`{one['stack'].removesuffix('_channels')}`", one["tiles"],
         *(count(one[name]) for name in ("rings", "traffic", "overlap", "cycles"))]
        for one in rows("goetschalckx-2019_rtl")
        if one["stack"].endswith("_channels")
    ]  # fmt: skip


def full_size() -> Cells:
    """VGG-E's first five layers as published."""
    names = ("dram_bytes", "overlap", "axi_bursts", "row_misses", "cycles_predicted", "cycles_measured")
    return [[one["tiles"], *(count(one[name]) for name in names)] for one in rows("stacks_full_size")]


def borders() -> Cells:
    """What a border between its tiles costs."""
    tiles = {one["stack"]: one["tiles"] for one in rows("stacks_full_size")}
    return [
        [tiles[one["stack"]], str(int(one["tile"]) + 1), count(one["slowest_stage"]), count(one["output"]),
         percent(one["lost"], 2)]
        for one in rows("borders")
        if int(one["tile"])
    ]  # fmt: skip


def ways() -> Cells:
    """Networks depth-first and layer by layer."""
    found = []
    for one, other in zip(rows("ways")[::2], rows("ways")[1::2], strict=True):
        ratio = int(one["dram_bytes"]) / int(other["dram_bytes"])
        moved = [count(each["dram_bytes"]) for each in (one, other)]
        found.append([f"`{one['network']}`", count(other["on_chip_bytes"]), *moved, f"{ratio:.1f}"])
    return found


QUANTISERS = ("quantise", "dequantise")


def networks() -> Cells:
    """Quantised networks beside ONNX Runtime."""
    return [
        [
            _network(one), count(one["million_macs"]),
            percent(one["hardware_macs"], 2), percent(one["hardware_bytes"]), count(one["elements"]),
            percent(one["equal"], 4), count(one["ties"]), share(one["largest_difference"], 4),
            ", ".join(name for name in one["host"].split() if name not in QUANTISERS) or "none",
        ]
        for one in rows("networks")
    ]  # fmt: skip


def _network(one: Row) -> str:
    return one["network"].removeprefix("light_").removeprefix("bvlc_")


def planned() -> Cells:
    """The same networks on a cluster of 64 multipliers."""
    return [
        [
            _network(one), percent(one["macs"], 2), percent(one["bytes"]),
            one["programs"], share(one["million_cycles"], 2), share(one["roofline"]), share(one["utilisation"]),
            f"{count(one['room'])} ({count(one['least_room'])})", one["dram_megabytes"], count(one["microjoules"]),
        ]
        for one in rows("networks_planned")
    ]  # fmt: skip


def network_runs() -> Cells:
    """Whole networks in the RTL of the cluster that is taken where none is named."""
    return [
        [
            _network(one), one["nodes"], one["programs"], count(one["predicted_cycles"]), count(one["cycles"]),
            off(one["predicted_cycles"], one["cycles"]), share(one["utilisation"]), count(one["dram_bytes"]),
        ]
        for one in rows("network_runs")
    ]  # fmt: skip


def hierarchy() -> Cells:
    """Schedules of least energy on two hierarchies."""
    return [
        [{"diannao": "DianNao", "four": "four levels"}[one["memories"]], one["layer"],
         tenths(float(one["picojoules"]) / 1e9, 2), percent(one["gap"], 2), tenths(one["seconds"], 0),
         *(share(one[name]) for name in ("level_by_level", "all_short_strings", "packed"))]
        for one in rows("hierarchy")
    ]  # fmt: skip
