"""The tables of the page of results on area and clock."""

from hwgen.model.area.estimate import coefficients
from manual.results.kept import Row, count, percent, rows
from manual.results.tables import Cells

__all__ = ["COLUMNS", "errors", "hwcs", "vector_units"]

HWCS = {
    "m4 c4": ("`m4c4_1KiB`: 16 lanes, one set of settings, 64 biases kept", "9,000, 100 MHz"),
    "m4 c4, fitted": ("the same, fitted to the five AlexNet layers", "6,500"),
    "m4 c4, second settings": ("the same, with second settings", ""),
    "m4 c4, settings that can be read": ("the same, with settings that can be read", ""),
    "m4 c4, no biases kept": ("the same, without a store of biases", ""),
    "m4 c4, coordinates of 16 bits": ("the same, coordinates of 16 bits", ""),
    "m4 c4, scaled sums": ("the same, with scaled sums", ""),
    "m4 c4, operands of 16 bits": ("the same, operands of 16 bits", ""),
    "m4 x4": ("lanes `{m: 4, x: 4}` in place of `{m: 4, c: 4}`", ""),
    "m4 x4, scaled sums, 4 a cycle": ("the same, scaled sums, four outputs a cycle", ""),
    "m4 x4, scaled sums, 2 a cycle": ("the same, two", ""),
    "m4 x4, scaled sums, 1 a cycle": ("the same, one", ""),
    "m4 x4, operands of 16 bits": ("lanes `{m: 4, x: 4}`, operands of 16 bits", ""),
    "x16, coordinates of 16 bits": ("lanes `{x: 16}`, coordinates of 16 bits", ""),
    "m8 c8, 4 KiB": ("`m8c8_4KiB`: 64 lanes", "13,000, 95 MHz"),
    "m16 c16, 16 KiB": ("`m16c16_16KiB`: 256 lanes", "25,600"),
    "hwgen demo": ("that of `make demo`, fitted to its five rows", "8,500, 100 MHz"),
}
"""Texts and marks of the designs that `benchmarks.bench_area` has."""
UNIT = "vector unit, elements a cycle: "


def hwcs() -> Cells:
    """HWCs on an ECP5."""
    found = {one["design"]: one for one in rows("area")}
    return [[text, *_cells(found[name]), found[name]["mhz"], mark] for name, (text, mark) in HWCS.items()]


def vector_units() -> Cells:
    """The vector unit of a cluster by its elements in a cycle."""
    return [
        [one["design"].removeprefix(UNIT), *_cells(one)]
        for one in rows("area")
        if one["design"].startswith(UNIT) and one["design"].removeprefix(UNIT).isdigit()
    ]


def _cells(one: Row) -> list[str]:
    return [count(one[name]) for name in ("lut4_equivalents", "flip_flops", "dsps", "block_rams")]


KINDS = {
    "hwc": "HWCs",
    "cluster": "clusters without their HWCs",
    "vector": "vector units",
    "dma": "DMAs",
    "hwc of choose": "HWCs of `choose`",
    "cluster of choose": "clusters of `choose` without their HWCs",
}
PARTS = {"fitted": "fitted to", "held_out": "held out"}
COLUMNS = ("designs", "lut4_median", "lut4_worst", "flip_flops_median", "flip_flops_worst", "placed", "mhz_median",
           "mhz_worst", "dsps_equal", "block_rams_equal")  # fmt: skip
"""Of `benchmarks.area_fit.Errors`, in the order of the table."""


def errors() -> Cells:
    """The errors of the estimates of area, which are kept beside their coefficients."""
    return [
        [f"{KINDS[kind]}, {text}", *(_error(name, found[name]) for name in COLUMNS)]
        for part, text in PARTS.items()
        for kind, found in coefficients()["errors"][part].items()
    ]


def _error(name: str, value: float | None) -> str:
    if value is None:
        return ""
    return percent(value) if name.endswith(("median", "worst")) else str(value)
