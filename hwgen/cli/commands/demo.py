"""``hwgen demo``: the main job, from the published AlexNet rows to RTL whose every access was predicted."""

from pathlib import Path
from typing import Annotated

import typer

from cosim.device.result import LayerResult
from hwgen.api.cosimulation import run_work as run
from hwgen.api.generation.folders import write_made
from hwgen.api.generation.hwcs import make_hardware
from hwgen.api.work import SHARED_SLACK, Work, balance_data, fitted_works, one_for_all, time_and_area
from hwgen.cli.commands.cosim import Jobs
from hwgen.cli.console import Json, print_json, print_table
from hwgen.cli.printers.cosimulations import print_comparison, print_failures
from hwgen.cli.workload import tell_balance
from hwgen.ir.document import json_text, write_atomically
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Marker
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.core.optimal import search
from hwgen.search.hwc.shared import Shared

__all__ = ["demo"]

SET = "stoutchinin_2019:alexnet"
BUDGET = 1024

Results = Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for demo.json.")]
Rtl = Annotated[Path, typer.Option("--rtl", metavar="DIR", help="Folder for the generated hardware.")]


def demo(
    *, output: Results = Path("results"), rtl: Rtl = Path("rtl_out/demo"), jobs: Jobs = 2, as_json: Json = False
) -> int:
    """Schedule, generate and simulate the five AlexNet rows of Stoutchinin et al. 2019 at full size, on one HWC."""
    layers = load_layer_set(SET).convolutions()
    shared = one_for_all(tuple(layers), BUDGET, SHARED_SLACK, name="demo")
    (work,) = fitted_works([Work(tuple(result.schedule for result in shared.results), shared.hardware)])
    (generated,) = made = make_hardware([work], rtl)
    write_made([work], rtl, made)
    results = run(work, jobs=jobs)
    document = {"results": [result.as_json() for result in results], **balance_data(shared.balance)}
    write_atomically(output / "demo.json", json_text(document))
    if as_json:
        print_json(document)
    else:
        _print_hardware(shared, generated.memories, rtl)
        print_comparison(results)
        _print_layers(shared, results)
        print_failures(results)
        tell_balance(shared.balance, time_and_area(shared.balance, work.hardware))
        typer.echo(_verdict(results))
    return 0 if all(result.passed for result in results) else 1


def _print_hardware(shared: Shared, memories: dict[str, int], rtl: Path) -> None:
    order = shared.hardware.order or ()
    nest = " ".join(f"[{','.join(item.arrays)}]" if isinstance(item, Marker) else item for item in order)
    columns = ["loops, [buffers] above them", "I bytes", "W bytes", "O bytes", "together", "Verilog"]
    row = [nest, *(memories[operand] for operand in "IWO"), sum(memories.values()), str(rtl / "hwc.v")]
    print_table(
        f"One HWC for all rows: {shared.covered:,} schedules covered in {shared.seconds:.1f} s", columns, [row]
    )


def _print_layers(shared: Shared, results: list[LayerResult]) -> None:
    """The result of each row, and its traffic relative to its own best HWC and to the pure model."""
    own = Hardware(name="own", budget=BUDGET)
    rows = []
    for found, result in zip(shared.results, results, strict=True):
        layer = found.schedule.layer
        of_its_own = search(layer, [BUDGET], own)[0].total_bytes
        pure = search(layer, [BUDGET])[0].total_bytes
        rows.append([
            layer.name, layer.macs, result.measured.total_bytes(), result.measured.total_with_bias(),
            found.total_bytes / of_its_own,
            found.total_bytes / pure, result.equal, result.output_exact, result.cycles, result.utilisation,
            result.seconds,
        ])  # fmt: skip
    columns = ["layer", "MACs", "I+W+O bytes", "with bias", "ratio to own HWC", "ratio to pure optimum",
               "counts equal", "output exact", "cycles", "MAC utilisation", "seconds"]  # fmt: skip
    wide = ["MACs", "MAC utilisation", "cycles", "with bias", "seconds"]
    print_table("Rows at full size", columns, rows, wide=wide)


def _verdict(results: list[LayerResult]) -> str:
    if all(result.passed for result in results):
        accesses = sum(result.measured.total_words() for result in results)
        return (
            f"All {len(results)} rows: predicted = measured for every operand and direction, in bytes and in words "
            f"({accesses:,} accesses of I, W and O); every output is bit-exact."
        )
    wrong = ", ".join(result.layer for result in results if not result.passed)
    return f"NOT EQUAL: {wrong}"
