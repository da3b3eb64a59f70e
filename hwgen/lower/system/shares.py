"""A layer shared out to several clusters: which outputs each of them computes, as a layer of its own.

The three ways are those of Sousa et al. 2022, Algorithm 2: the filters (KS), the output rows (OFM), or both. Shares
differ by one filter or row at most. Neighbours by rows both read the rows of the input that both need.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from hwgen.ir.document import InputError
from hwgen.ir.layer import Layer

__all__ = ["PARTITIONS", "Partition", "Share", "shares_of"]

Partition = Literal["KS", "KS&OFM", "OFM"]
PARTITIONS: tuple[Partition, ...] = ("KS", "KS&OFM", "OFM")


@dataclass(frozen=True)
class Share:
    """What one cluster computes.

    Members
    -------
    layer : its outputs as a layer, with the filters and the window of the input that they need.
    outputs, rows : first output channel and first output row.
    inputs, input_rows : first input channel and first row of the input.
    """

    layer: Layer
    outputs: int
    rows: int
    inputs: int
    input_rows: int


def shares_of(layer: Layer, clusters: int, partition: Partition) -> tuple[Share, ...]:
    """The share of each cluster; fewer than ``clusters`` where there are not as many filters or rows.

    Raises `InputError` where groups, or the number of clusters, cannot be shared out so.
    """
    by_filters, by_rows = _split_both(layer, clusters) if partition == "KS&OFM" else (clusters, clusters)
    filters = [(0, layer.output_channels)] if partition == "OFM" else _filters(layer, by_filters)
    rows = [(0, layer.output_height)] if partition == "KS" else _evenly(layer.output_height, by_rows)
    return tuple(_share(layer, some, lines) for some in filters for lines in rows)


def _split_both(layer: Layer, clusters: int) -> tuple[int, int]:
    """The numbers of parts into which filters and rows are cut: as near to each other as the number of clusters
    allows."""
    parts = max((n for n in range(1, clusters + 1) if clusters % n == 0 and n * n <= clusters), default=1)
    if parts == 1:
        raise InputError(f"{layer.name}: partition: KS&OFM: expected a number of clusters such as 4, got {clusters}")
    return parts, clusters // parts


def _evenly(number: int, parts: int) -> list[tuple[int, int]]:
    """Ranges of almost the same size, none of them empty."""
    parts = min(parts, number)
    bounds = [number * i // parts for i in range(parts + 1)]
    return list(pairwise(bounds))


def _filters(layer: Layer, parts: int) -> list[tuple[int, int]]:
    """Ranges of output channels: whole groups, or parts of one group."""
    size, groups = layer.outputs_per_group, layer.groups
    if groups >= parts:
        return [(size * first, size * end) for first, end in _evenly(groups, parts)]
    if parts % groups:
        raise InputError(
            f"{layer.name}: partition: expected a number of parts that {groups} groups divide, or at most as many, "
            f"got {parts}"
        )
    within = _evenly(size, parts // groups)
    return [(size * group + first, size * group + end) for group in range(groups) for first, end in within]


def _share(layer: Layer, filters: tuple[int, int], rows: tuple[int, int]) -> Share:
    first_group, last_group = (channel // layer.outputs_per_group for channel in (filters[0], filters[1] - 1))
    groups, of_group = last_group - first_group + 1, layer.channels_per_group
    stride, (top, left, _, right) = layer.stride[0], layer.padding
    # Rows of the padded input, from the first to the one after the last that is needed.
    begin, end = rows[0] * stride - top, (rows[1] - 1) * stride - top + layer.kernel[0]
    low, high = max(begin, 0), min(end, layer.input_height)
    if low >= high:
        raise InputError(
            f"{layer.name}: partition: output rows {rows[0]} to {rows[1] - 1} are of padding alone; "
            "expected fewer clusters, or KS"
        )
    part = layer.model_copy(
        update={
            "input_channels": groups * of_group,
            "output_channels": filters[1] - filters[0],
            "input_height": high - low,
            "output_height": rows[1] - rows[0],
            "padding": (low - begin, left, end - high, right),
            "groups": groups,
        }
    )
    share = Layer.model_validate(part.model_dump()).run_as(layer)
    return Share(share, filters[0], rows[0], first_group * of_group, low)
