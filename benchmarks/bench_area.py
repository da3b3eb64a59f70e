"""Area and clock of HWCs of 16, 64 and 256 lanes on an ECP5; area by block of one, of a cluster and of a pipeline.

LUT4-equivalents are LUT4, two for a carry cell and six for a memory of 16 words of 4 bits. Marks, with coordinates of
12 bits and one set of settings:

- 16 lanes at 1 KiB: at most 9,000 and at least 100 MHz, fitted to five layers of AlexNet at most 6,500;
- 64 lanes: at most 13,000, at most 72 multipliers of 18 x 18 bits, at least 95 MHz;
- 256 lanes: at most 100 for each multiplier, without the multipliers themselves;
- the HWC that ``hwgen demo`` writes, fitted to the same five layers: at most 8,500, at least 100 MHz, and no more
  time for their simulated cycles than that of the fewest cycles takes.

``python -m benchmarks area --fit`` fits the estimates of `hwgen.model.area` instead: see `fit`.

A clock without a mark is printed alone. Clocks hang on the seed of the placement: marks hold for that of `Device`,
and ``python -m benchmarks.bench_area 5`` places with five seeds, for minutes each, and prints the best and the
median, too.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.area_designs import HELD_OUT, HELD_OUT_OF_CHOOSE, TABLE, is_held_out, measure, read_rows
from benchmarks.area_fit import GROUPS, Errors, Judged, errors_of, fitted, group_of, judged
from benchmarks.kept import leave
from hwgen.api.work import Work, fitted_works, work_of
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.vector.shape import VectorShape
from hwgen.export.cached import generated
from hwgen.ir.document import json_text, write_atomically
from hwgen.ir.hardware import VECTOR_ELEMENTS
from hwgen.ir.lanes import Lanes
from hwgen.lower.hwc import compile_layer
from hwgen.model.area.estimate import COEFFICIENTS, coefficients, estimated_hwc
from hwgen.synthesis.blocks import vector_blocks
from hwgen.synthesis.cells import Area
from hwgen.synthesis.ecp5 import Device, areas, synthesise_hwc

LAYERS = "stoutchinin_2019:alexnet"
MULTIPLIERS = 72
NETWORK = {
    "format": 1,
    "kind": "network",
    "network": "two layers",
    "input": {"name": "image", "channels": 3, "height": 32, "width": 40},
    "layers": [
        {"name": "stem", "op": "conv", "inputs": ["image"], "input_channels": 3, "output_channels": 24,
         "input_height": 32, "input_width": 40, "output_height": 16, "output_width": 20, "kernel": [3, 3],
         "stride": [2, 2], "padding": [1, 1, 1, 1], "activation": "relu"},
        {"name": "expand", "op": "conv", "inputs": ["stem"], "input_channels": 24, "output_channels": 48,
         "input_height": 16, "input_width": 20, "output_height": 16, "output_width": 20, "kernel": [1, 1]},
    ],
}  # fmt: skip
"""Run depth-first by one pipeline."""


FEWEST_CYCLES_MS = 941.0
"""What the five layers take on the HWC of 1 KiB of the fewest cycles, placed: 81,309,569 cycles at 86.4 MHz."""


@dataclass(frozen=True)
class Variant:
    """An HWC, whether it is placed, and its marks: most LUT4-equivalents, least MHz, and most ms of its cycles."""

    name: str
    parameters: HwcParameters
    placed: bool = False
    most: int | None = None
    clock: float | None = None
    cycles: int | None = None
    most_ms: float | None = None


def parameters_of(hardware: str, *, fitted: bool = False) -> HwcParameters:
    """The HWC of a built-in hardware file, with the schedules of the layers."""
    works = work_of([LAYERS], buffer=None, hardware=hardware, per_layer=False, alone=True)
    return hwc_of_all(fitted_works(works) if fitted else works)


def hwc_of_all(works: list[Work]) -> HwcParameters:
    """The one HWC that all schedules run on."""
    (found,) = {compile_layer(one, work.hardware).parameters for work in works for one in work.schedules}
    return found


def demonstrated() -> Variant:
    """The HWC that ``hwgen demo`` finds and writes, and the cycles that it simulates."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        hwgen("demo", "-o", folder, "--rtl", folder / "rtl")
        document = json.loads((folder / "demo.json").read_text(encoding="utf-8"))
        works = work_of(folder / "rtl" / "schedules", buffer=None, hardware=None, per_layer=False)
        parameters = hwc_of_all(works)
    cycles = sum(entry["cycles"]["measured"] for entry in document["results"])
    return Variant(
        "hwgen demo", parameters, placed=True, most=8_500, clock=100.0, cycles=cycles, most_ms=FEWEST_CYCLES_MS
    )


def variants() -> Iterator[Variant]:
    """The rows of the table."""
    yield demonstrated()
    general = parameters_of("m4c4_1KiB")
    rows = replace(general, lanes=Lanes(m=4, x=4))
    yield Variant("m4 c4", general, placed=True, most=9_000, clock=100.0)
    yield Variant("m4 c4, fitted", parameters_of("m4c4_1KiB", fitted=True), placed=True, most=6_500)
    yield Variant("m4 c4, second settings", replace(general, second_settings=True))
    yield Variant("m4 c4, settings that can be read", replace(general, read_back=True))
    yield Variant("m4 c4, no biases kept", replace(general, bias_words=0))
    yield Variant("m4 c4, coordinates of 16 bits", replace(general, position_bits=16))
    yield Variant("m4 c4, scaled sums", replace(general, scaled=True), placed=True)
    yield Variant("m4 c4, operands of 16 bits", replace(general, operand_bits=16))
    yield Variant("m4 x4", rows)
    for number in (4, 2, 1):
        scaled = replace(rows, scaled=True, most_requantisers=number)
        yield Variant(f"m4 x4, scaled sums, {number} a cycle", scaled)
    yield Variant("m4 x4, operands of 16 bits", replace(rows, operand_bits=16))
    yield Variant("x16, coordinates of 16 bits", parameters_of("alexnet_1KiB"), placed=True)
    yield Variant("m8 c8, 4 KiB", parameters_of("m8c8_4KiB"), placed=True, most=13_000, clock=95.0)
    yield Variant("m16 c16, 16 KiB", parameters_of("m16c16_16KiB"), most=256 * 100)


Table = list[list[object]]
COLUMNS = ("design", "lut4_equivalents", "flip_flops", "dsps", "block_rams", "mhz")


def measured(variant: Variant, seeds: int, table: Table) -> bool:
    """Print a row, its clock with so many seeds; whether its marks are met, which hold for the first seed."""
    clocks: list[float] = []
    if variant.placed:
        first = Device()
        devices = [replace(first, seed=first.seed + number) for number in range(seeds)]
        found = [synthesise_hwc(variant.parameters, device) for device in devices]
        area, clocks = found[0].total, [one.clock_mhz for one in found]
    else:
        area = sum(areas(generated(variant.parameters), "hwc").values(), Area())
    met = variant.most is None or area.lut4_equivalents <= variant.most
    met = met and (variant.parameters.lanes.product != 64 or area.dsps <= MULTIPLIERS)
    met = met and (variant.clock is None or clocks[0] >= variant.clock)
    marks = f"at most {variant.most:,}" if variant.most else ""
    marks += f", {variant.clock:g} MHz" if variant.clock else ""
    if variant.cycles and variant.most_ms:
        time = 1e-3 * variant.cycles / clocks[0]
        met = met and time <= variant.most_ms
        marks += f", {variant.most_ms:g} ms of {variant.cycles:,} cycles, {time:.1f} found"
    told = "" if not marks else marks + (": met" if met else ": missed")
    if len(clocks) > 1:
        told += f"  best {max(clocks):.1f}, median {median(clocks):.1f} of {seeds} seeds"
    frequency = f"{clocks[0]:.1f}" if clocks else ""
    figures = f"{area.lut4_equivalents:8,}{area.ffs:8,}{area.dsps:6}{area.block_rams:6}"
    print(f"{variant.name:34}{figures}{frequency:>8}  {told}", flush=True)
    table.append([variant.name, *area_cells(area), round(clocks[0], 1) if clocks else ""])
    return met


def area_cells(area: Area) -> list[object]:
    """The cells of `COLUMNS` that an area fills."""
    return [area.lut4_equivalents, area.ffs, area.dsps, area.block_rams]


def hwgen(*arguments: object, shown: bool = True) -> str:
    """A command; what it prints is shown, or returned."""
    command = [sys.executable, "-c", "import sys; from hwgen.cli.main import main; sys.exit(main())"]
    output = None if shown else subprocess.PIPE
    environment = {**os.environ, "COLUMNS": "120"}
    done = subprocess.run([*command, *map(str, arguments)], check=True, env=environment, stdout=output, text=True)
    return done.stdout or ""


def by_block(design: str, *arguments: object) -> Table:
    """Print the area of a design by block; the whole and its blocks as rows of the table."""
    hwgen("synth", *arguments, "--blocks")
    (found,) = json.loads(hwgen("synth", *arguments, "--blocks", "--json", shown=False))["hardware"]
    blocks = {
        name: Area(**{one.name: block[one.name] for one in fields(Area)}) for name, block in found["blocks"].items()
    }
    return block_rows(design, blocks)


def block_rows(design: str, blocks: dict[str, Area]) -> Table:
    """The whole and its blocks as rows of the table."""
    every = {design: sum(blocks.values(), Area())}
    every |= {f"{design}: {name or 'itself'}": area for name, area in blocks.items()}
    return [[name, *area_cells(area), ""] for name, area in every.items()]


def main(seeds: int = 1) -> bool:
    """Everything; whether all marks are met."""
    print(f"{'HWC':34}{'LUT4-eq':>8}{'FF':>8}{'DSP':>6}{'BRAM':>6}{'MHz':>8}", flush=True)
    table: Table = []
    met = [measured(variant, seeds, table) for variant in variants()]
    table += by_block("m4c4_1KiB", LAYERS, "--hardware", "m4c4_1KiB")
    cluster = Path(__file__).parent.parent / "schedules" / "alexnet_cluster" / "alexnet_1.yaml"
    table += by_block("alexnet_cluster", cluster, "--hardware", "alexnet_cluster")
    with TemporaryDirectory() as name:
        net, solution = Path(name) / "net.yaml", Path(name) / "deep"
        net.write_text(json.dumps(NETWORK), encoding="utf-8")
        hwgen("depth-first", net, "--memory", "8KiB", "-o", solution)
        table += by_block("pipeline of two layers", solution)
    for elements in VECTOR_ELEMENTS:
        table += unit(18, VectorShape(elements))
    leave("area", COLUMNS, table)
    return all(met)


def unit(address_bits: int, shape: VectorShape) -> Table:
    """The vector unit of a cluster, which is in the cluster above only if its hardware file says so."""
    blocks = {name: block.area for name, block in vector_blocks(address_bits, shape).items()}
    rows = block_rows(f"vector unit, elements a cycle: {shape.elements}", blocks)
    for name, *figures, _ in rows:
        print(f"{name:34}" + "".join(f"{figure:>8,}" for figure in figures), flush=True)
    return rows


OPTIONS = ("--fit", "--refit")
"""What ``python -m benchmarks area`` takes beside its name."""
AIMS = (("lut4_median", 0.05), ("lut4_worst", 0.15), ("mhz_median", 0.10))
"""Errors of designs that are held out, of all kinds together: at most these parts."""


def fit() -> bool:
    """Fit the coefficients of `hwgen.model.area` to random designs, and print the errors; whether its aims are met.

    Designs are drawn, synthesised for hours, and kept in `TABLE`, which is written whenever one is done: a fit that
    was killed goes on. ``coefficients.json`` is written from those that are there.
    """
    rows = measure(TABLE)
    return fit_rows(list(rows.values()))


def refit() -> bool:
    """Fit to the designs in `TABLE` as they are, in seconds: where terms have changed."""
    return fit_rows(list(read_rows(TABLE).values()))


def fit_rows(rows: list[dict[str, Any]]) -> bool:
    """Write the coefficients of some designs, and the errors."""
    document = fitted(rows)
    write_atomically(COEFFICIENTS, json_text(document))
    coefficients.cache_clear()
    estimated_hwc.cache_clear()
    found = [judged(row) for row in rows]
    errors: dict[str, dict[str, Errors]] = {}
    for held_out, part in ((False, "fitted"), (True, "held_out")):
        for group in GROUPS:
            those = [one for one in found if group_of(one.row) == group and is_held_out(one.row) == held_out]
            if those:
                errors.setdefault(part, {})[group] = one = errors_of(those)
                print(f"{part:9}{group:18}{one}", flush=True)
    document["errors"] = {part: {group: asdict(one) for group, one in of.items()} for part, of in errors.items()}
    write_atomically(COEFFICIENTS, json_text(document))
    return _aims_are_met([one for one in found if is_held_out(one.row)])


def _aims_are_met(held_out: list[Judged]) -> bool:
    """Print the errors of designs that are held out; whether all of them are there, with errors as wanted."""
    wanted = sum(HELD_OUT.values()) + sum(HELD_OUT_OF_CHOOSE.values())
    print(f"designs that are held out: {len(held_out)} of {wanted}")
    judge = errors_of(held_out) if held_out else None
    met = len(held_out) == wanted
    for name, most in AIMS if judge else ():
        part = getattr(judge, name)
        reached = part is not None and part <= most
        told = "not known" if part is None else f"{100 * part:.1f} %"
        print(f"{name} of them: {told}, at most {100 * most:g} %: {'met' if reached else 'missed'}")
        met = met and reached
    return met


if __name__ == "__main__":
    raise SystemExit(0 if main(int(sys.argv[1]) if len(sys.argv) > 1 else 1) else 1)
