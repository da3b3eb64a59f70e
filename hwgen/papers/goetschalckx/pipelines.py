"""Stacks of Goetschalckx and Verhelst 2019 as pipelines in the RTL: what was counted, and what the paper states."""

from collections.abc import Sequence
from dataclasses import dataclass

from hwgen.papers.claims import Claim, cases
from hwgen.papers.goetschalckx.claims import fused_layer_gain
from hwgen.papers.goetschalckx.rows import FUSED_LAYER_BYTES

__all__ = ["PipelineRow", "pipeline_claims", "pipeline_lines"]


@dataclass(frozen=True)
class PipelineRow:
    """One stack in some tiles on its pipeline; an element is a byte.

    Members
    -------
    stack, tiles : its name without the tiles, and how many there are.
    size : what of the paper's network it is (`hwgen.studies.regress.pipeline_cases.CaseSize.text`).
    rings : bytes of the line buffers of its pipeline.
    features, overlap, skips, weights : bytes to and from the DRAM, as counted in the RTL: inputs and outputs; columns
        between tiles; operands of joins that take this way; weights.
    equal : every count is the predicted one, and the output is right.
    cycles : of all tiles.
    """

    stack: str
    tiles: int
    size: str
    rings: int
    features: int
    overlap: int
    skips: int
    weights: int
    equal: bool
    cycles: int

    @property
    def as_published(self) -> bool:
        """Whether it has the channels and the maps of the paper's network."""
        return self.size == "as published"

    @property
    def traffic(self) -> int:
        """Bytes of features to and from the DRAM."""
        return self.features + self.overlap + self.skips


def pipeline_claims(rows: Sequence[PipelineRow]) -> list[Claim]:
    """What the paper says of such stacks, judged by what was counted."""
    return [_counted(rows), _tiles(rows), *_fused_layer(rows)]


def _scope(rows: Sequence[PipelineRow]) -> str:
    whole, strips = sum(row.as_published for row in rows), sum("all channels" in row.size for row in rows)
    return (
        f"{len(rows)} runs, {whole} at the published size, {strips} with all channels on some of the rows, the "
        "others with fewer channels on smaller maps"
    )


def _counted(rows: Sequence[PipelineRow]) -> Claim:
    return Claim(
        "3, Eq. 1 to 3, in the RTL",
        "a stack reads its inputs and writes its outputs once; tiles add the overlap of their lines",
        f"{sum(row.equal for row in rows)} of {len(rows)} runs move what the model counts, to the byte",
        "Bytes at the DRAM by kind; the model is exact at edges and for strides, where the equations are not. "
        "PReLU and leaky ReLU run as ReLU; sums are not scaled.",
        scope=_scope(rows),
        parts=cases("runs", (row.equal for row in rows)),
    )


def _tiles(rows: Sequence[PipelineRow]) -> Claim:
    pairs = [
        (whole, row)
        for whole in rows
        if whole.tiles == 1
        for row in rows
        if row.stack == whole.stack and row.tiles > 1
    ]
    return Claim(
        "4, in the RTL",
        "tiles make line buffers shorter and cost traffic of the overlap",
        "; ".join(
            f"{row.stack} in {row.tiles}: {whole.rings / row.rings:.2f} times less in line buffers, "
            f"{row.traffic / whole.traffic:.2f} times the traffic of features"
            for whole, row in pairs
        )
        or "not run",
        "Against one tile: both, in every run." if pairs else "No stack ran in several tiles.",
        scope=_scope(rows),
        parts=cases("runs", (row.rings < whole.rings and row.traffic > whole.traffic for whole, row in pairs)),
    )


def _fused_layer(rows: Sequence[PipelineRow]) -> list[Claim]:
    chip, _ = FUSED_LAYER_BYTES
    whole = [row for row in rows if row.as_published and row.tiles == 1]
    return [
        Claim(
            "7, Fig. 7(a), in the RTL",
            "VGG-E, first five convolutions: up to about 3 times less memory than fused layers (Alwani et al. "
            "2016) at equal traffic",
            "; ".join(
                f"{row.rings:,} bytes of line buffers, {row.traffic:,} bytes of features moved: "
                f"{size / row.rings:.2f} times less"
                for row in whole
            )
            or "not run at the published size",
            "A feature is a byte in the RTL. The paper prints no figures of fused layers; 362 KB is that of Alwani "
            "et al. 2016.",
            scope="the five convolutions in one tile",
            parts=tuple(fused_layer_gain(size / row.rings) for row in whole),
            reading=reading,
        )
        for size, reading in ((chip, "362 KB are as many elements"), (chip // 4, "362 KB are features of 4 bytes"))
    ]


def pipeline_lines(rows: Sequence[PipelineRow]) -> list[str]:
    """The rows as a table in Markdown."""
    return [
        "Bytes; a pipeline's line buffers as they are generated for this stack in these tiles alone. Runs of a stack",
        "share one pipeline, with the longest lines of all.",
        "",
        "| stack | tiles | size | line buffers | features | overlap | skips | weights | as predicted | cycles |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(
            f"| {row.stack} | {row.tiles} | {row.size} | {row.rings:,} | "
            f"{row.features:,} | {row.overlap:,} | {row.skips:,} | {row.weights:,} | "
            f"{'yes' if row.equal else 'NO'} | {row.cycles:,} |"
            for row in rows
        ),
    ]
