"""``hwgen paper goetschalckx-2019 --rtl``: stacks of the paper as pipelines in the simulator."""

from pathlib import Path
from typing import Any

import typer

from hwgen.api.arguments import claim_folder
from hwgen.api.depth_first import dram_port
from hwgen.cli.console import note, printable, progress
from hwgen.papers.answer import answer_rtl
from hwgen.papers.goetschalckx.pipelines import PipelineRow, pipeline_claims, pipeline_lines
from hwgen.papers.own_cluster_rtl import DEFAULT
from hwgen.studies.regress.pipeline import StackRegression
from hwgen.studies.regress.pipeline_cases import PipelineCase, all_channels_cases, full_size_cases, small_cases

__all__ = ["goetschalckx_measured"]


def goetschalckx_measured(output: Path, results: Path, *, small: bool, as_json: bool) -> int:
    """VGG-E's first five layers (Fig. 7) as published, on a DRAM, and stacks of SRGAN and DMCNN-VD with all channels;
    ``small``: small stacks. 1 if the RTL differs.

    What ``hwgen regress-stacks`` left in ``results``, with --full-size and --all-channels, is not simulated again.
    """
    claim_folder(output)
    cases = _cases(small=small)
    note(f"{len(cases)} depth-first stacks; each pipeline's first run builds its simulator")
    with progress(len(cases), "simulating") as step:
        found = StackRegression(cases, output if small else results).run(lambda result: step())
    rows = [_row(case, result) for case, result in zip(cases, found, strict=True)]
    stated = pipeline_claims(rows)
    for failure in (f"{result['stack']}: {line}" for result in found for line in result["failures"]):
        typer.echo(printable(failure), err=True)
    sections = {"# Goetschalckx, Verhelst 2019: stacks in the RTL": [], "## Stacks": pipeline_lines(rows)}
    answer_rtl(output, "goetschalckx-2019", sections, stated, rows, ("traffic",), as_json=as_json)
    return 0 if all(row.equal for row in rows) else 1


def _cases(*, small: bool) -> tuple[PipelineCase, ...]:
    """The small stacks without a second way of their skips."""
    if small:
        return tuple(case for case in small_cases() if "_dram_" not in case.name)
    port = dram_port(DEFAULT)
    assert port is not None
    return (*full_size_cases(port), *all_channels_cases())


def _row(case: PipelineCase, result: dict[str, Any]) -> PipelineRow:
    moved = result["measured"]
    return PipelineRow(
        case.name.rpartition("_x")[0],
        result["factor"],
        size="" if case.size is None else case.size.text,
        rings=result["rings"],
        features=moved["input"] + moved["output"],
        overlap=moved["overlap_in"] + moved["overlap_out"],
        skips=moved["skip_in"] + moved["skip_out"],
        weights=moved["weights"],
        equal=result["equal"] and result["output_exact"] and not result["failures"],
        cycles=result["cycles"]["measured"],
    )
