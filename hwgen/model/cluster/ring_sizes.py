"""The bytes that the operands of a schedule of a cluster take in the TCDM, without their contents.

The rules are those of `hwgen.model.cluster.placement`, which lists every tile; a search asks for sizes alone.
"""

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.layout import LEAST_RING, aligned
from hwgen.arch.requantisation import record_bytes
from hwgen.arch.weights import PackedWeights
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ArrayName, Schedule
from hwgen.model.cluster.input_ring import input_ring
from hwgen.model.cluster.placement import LEAST_HALF, OutputRow, channel_plane, place, spills_from_local
from hwgen.model.cluster.tile_order import TILE_DIMS, TileWalk

__all__ = ["bytes_needed", "ring_bytes"]

M, C, Y, X, K, L, N = range(len(TILE_DIMS))


def bytes_needed(schedule: Schedule, most: int) -> int:
    """`TcdmPlacement.size`, in a fraction of the time; if that is more than ``most``, a value between the two."""
    walk = TileWalk(schedule)
    bias = aligned(record_bytes(schedule.requantisation) * schedule.layer.output_channels)
    weights, outputs = _weight_ring(schedule, walk), _output_ring(schedule, walk)
    least = aligned(aligned(bias + LEAST_RING) + weights) + outputs
    if least > most:
        return least
    inputs = input_ring(schedule) or place(schedule).I.size
    return aligned(aligned(bias + inputs) + weights) + outputs


def ring_bytes(schedule: Schedule, array: ArrayName) -> int:
    """The bytes of one operand's ring, channels not spread: the places of other markers do not matter."""
    match array:
        case "I":
            return input_ring(schedule) or place(schedule).I.size
        case "W":
            return _weight_ring(schedule, TileWalk(schedule))
        case "O":
            return _output_ring(schedule, TileWalk(schedule))


def _ranges_of(
    walk: TileWalk, array: ArrayName, dims: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and end [iteration, dimension] along these dimensions of tiles that are resident one after another."""
    iterations = walk.of(array)
    execution, first, end = (
        iterations.executions(walk.marked(array)),
        iterations.start[:, dims],
        iterations.stop[:, dims],
    )
    differs = (first[1:] != first[:-1]).any(axis=1) | (end[1:] != end[:-1]).any(axis=1)
    begins = np.append(True, differs | (execution[1:] != execution[:-1]))
    return first[begins], end[begins]


def _weight_ring(schedule: Schedule, walk: TileWalk) -> int:
    marked = schedule.marked_loop("W", TCDM)
    assert marked is not None
    packed = PackedWeights(schedule, marked + 1)
    first, end = _ranges_of(walk, "W", (M, C, K, L))
    shapes, number = np.unique(end - first, axis=0, return_inverse=True)
    sizes = np.array([packed.size((m, c, k, l)) for m, c, k, l in shapes.tolist()])  # noqa: E741
    return _ring_of(sizes[number.reshape(-1)], halves=schedule.in_halves("W"))


def _output_ring(schedule: Schedule, walk: TileWalk) -> int:
    first, end = _ranges_of(walk, "O", (M, Y, X, N))
    channels, rows, _, images = (end - first).T
    spills, word = spills_from_local(schedule), schedule.ports.map_bytes
    columns = zip(first[:, 2].tolist(), end[:, 2].tolist(), strict=True)
    row = np.array([OutputRow.of(each, spills, word, schedule.bits.O // 8).size for each in columns])
    pitch = int(row.max())
    plane = channel_plane(int(rows.max()), pitch, word, spread=spills)
    sizes = (images * channels - 1) * plane + (rows - 1) * pitch + row
    return _ring_of(sizes, halves=schedule.in_halves("O"))


def _ring_of(sizes: NDArray[np.int64], *, halves: bool) -> int:
    """The size of a ring for consecutive tiles, or of two halves."""
    if halves:
        return 2 * max(int(sizes.max()), LEAST_HALF)
    two = sizes[:-1] + sizes[1:]
    return max(int(sizes.max()), int(two.max(initial=0)), LEAST_RING)
