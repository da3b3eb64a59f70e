"""Tiles of a task: parts of its maps that have room in the TCDM, and the jobs that compute them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from hwgen.arch.vector.job import COLUMN_BITS, EXTENT_BITS, IDENTITY_SCALE, VectorJob
from hwgen.arch.vector.shape import VectorShape
from hwgen.ir.document import InputError
from hwgen.ir.requantisation import TABLE_ENTRIES
from hwgen.lower.vector.maps import FeatureMap, Part
from hwgen.lower.vector.tasks import ELEMENT, Region, Task
from hwgen.model.vector.cycles import vector_steps

__all__ = [
    "Place",
    "Tile",
    "aligned",
    "jobs_of",
    "place_of",
    "source_bytes",
    "source_pitch",
    "strip_bytes",
    "target_bytes",
    "tiles_of",
]

TILES, WIDE_TILES = 4, 16
"""The least number of tiles, unless they would be tiny: while one is computed others are moved.

A unit that takes several elements in a cycle is not much slower than what moves them: there the first load and the
last store count, which nothing is beside.
"""
TINY, WIDE_TINY = 1 << 10, 1 << 11
"""Bytes of a tile."""


BETWEEN = 24
"""Bytes between the parts of a tile, twice that after the output, where a unit takes several elements in a cycle: its
streams then do not go through the banks of the TCDM in step, where whoever meets the DMA once meets it again."""


@dataclass(frozen=True)
class Place:
    """Where a part of a map is in the TCDM: address of its first element, bytes from row to row, to channel."""

    address: int
    pitch: int
    plane: int


@dataclass(frozen=True)
class Tile:
    """A part of the target, and what it needs of the sources.

    Members
    -------
    target : the part of the target.
    sources : the part of each source.
    """

    target: Part
    sources: tuple[Part, ...]


def tiles_of(task: Task, room: int, shape: VectorShape, where: str, strips: int = 0) -> list[Tile]:
    """The tiles of a task; two of them fit into ``room`` bytes, unless there is only one.

    ``shape`` : of the unit; each part of a map begins with a word of it. ``strips`` : all channels are in each tile,
    which are strips of rows: this number of them, more if there is no room.

    Raises `InputError` where not even a row fits.
    """
    target = task.target
    whole = _tile(task, Part((0, target.channels), (0, target.rows), (0, target.columns)))
    need = _tile_bytes(task, whole, shape)
    if need == 0:
        return list(_cut(task, 1 << EXTENT_BITS, 1 << EXTENT_BITS, 1 << COLUMN_BITS))
    half = room // 2 // shape.word_bytes * shape.word_bytes
    if strips:
        extents = strip_of(task, half, shape, strips)
        if extents is None:
            raise InputError(f"{where}: {room} bytes of the TCDM hold no two strips of a row")
        return list(_cut(task, *extents))
    tiles, tiny = (WIDE_TILES, WIDE_TINY) if shape.wide else (TILES, TINY)
    wanted = min(half, max(need // tiles, tiny))
    for budget in (wanted, half):
        extents = _extents(task, budget, shape)
        if extents is not None:
            return list(_cut(task, *extents))
    if need <= room:
        return [whole]
    raise InputError(f"{where}: {room} bytes of the TCDM hold no two tiles of a row")


def strip_of(task: Task, budget: int, shape: VectorShape, strips: int) -> tuple[int, int, int] | None:
    """Channels, rows and columns of strips within the budget, this number of them or more; None: there are none."""
    target = task.target
    least = -(-target.rows // strips)
    rows = _largest(least, lambda n: strip_bytes(task, n, shape) <= budget)
    return (target.channels, _even(target.rows, rows), target.columns) if rows else None


def strip_bytes(task: Task, rows: int, shape: VectorShape) -> int:
    """Bytes of a tile of this number of rows, with all channels."""
    return _need(task, (task.target.channels, rows, task.target.columns), shape)


def _extents(task: Task, budget: int, shape: VectorShape) -> tuple[int, int, int] | None:
    """Channels, rows and columns of the largest tile within the budget; None: there is none."""
    target = task.target
    channels = _largest(target.channels, lambda n: _need(task, (n, target.rows, target.columns), shape) <= budget)
    if channels:
        return _even(target.channels, channels), target.rows, target.columns
    rows = _largest(target.rows, lambda n: _need(task, (1, n, target.columns), shape) <= budget)
    if rows:
        return 1, _even(target.rows, rows), target.columns
    if task.window != ELEMENT:
        return None
    columns = _largest(target.columns, lambda n: _need(task, (1, 1, n), shape) <= budget)
    columns -= columns % shape.word_bytes if columns < target.columns else 0
    return (1, 1, columns) if columns else None


def _largest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to ``most`` that fits, 0 if 1 does not."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _even(total: int, most: int) -> int:
    """About equal parts of at most so many."""
    return -(-total // -(-total // most))


def _need(task: Task, extents: tuple[int, int, int], shape: VectorShape) -> int:
    """Bytes of a tile of these extents, at most."""
    (channels, rows, columns), window = extents, task.window
    span = (rows - 1) * window.stride[0] + (window.kernel[0] - 1) * window.dilation[0] + 1
    down = min(task.sources[0].rows, span)
    across = columns if task.window == ELEMENT else task.sources[0].columns
    pitch = source_pitch(task, across, shape)
    loaded = sum(_with_gap(channels * down * pitch, shape) for one in task.sources if not one.resident)
    return (
        loaded
        + (0 if task.target.resident else _with_gap(channels * rows * columns, shape, 2))
        + _table_bytes(task, channels)
    )


def _tile_bytes(task: Task, tile: Tile, shape: VectorShape) -> int:
    """Bytes that a tile takes in the TCDM."""
    loaded = sum(
        source_bytes(task, part, shape)
        for source, part in zip(task.sources, tile.sources, strict=True)
        if not source.resident
    )
    return loaded + target_bytes(task, tile, shape) + _table_bytes(task, tile.target.extents[0])


def source_bytes(task: Task, part: Part, shape: VectorShape) -> int:
    """Bytes that a part of a source takes, to where the next one begins."""
    channels, rows, columns = part.extents
    return _with_gap(channels * rows * source_pitch(task, columns, shape), shape)


def source_pitch(task: Task, columns: int, shape: VectorShape) -> int:
    """Bytes from row to row of a part of a source: whole words where windows may be in strips, else no gaps."""
    rows, across = task.window.kernel
    strips = shape.has_strips and across > 1
    if task.arithmetic.mode == "average":  # that of a whole map without gaps is one line
        source = task.sources[0]
        strips &= shape.may_sum(rows, across) and (rows, across) != (source.rows, source.columns)
    elif task.arithmetic.mode == "add":
        strips = False
    return aligned(columns, shape.word_bytes) if strips else columns


def target_bytes(task: Task, tile: Tile, shape: VectorShape) -> int:
    """Those of them that are for the output, to where the sources begin."""
    return 0 if task.target.resident else _with_gap(tile.target.elements, shape, 2)


def _with_gap(size: int, shape: VectorShape, times: int = 1) -> int:
    """The bytes of a part in whole words, and those after it; see `BETWEEN`."""
    return aligned(size, shape.word_bytes) + times * BETWEEN * shape.wide


def _table_bytes(task: Task, channels: int) -> int:
    """Bytes of the tables that come with the channels of a tile."""
    return TABLE_ENTRIES * channels if len(task.tables) > 1 else 0


def aligned(size: int, word: int) -> int:
    """Bytes, rounded up to whole words."""
    return -(-size // word) * word


def _cut(task: Task, channels: int, rows: int, columns: int) -> Iterator[Tile]:
    target = task.target
    for c in range(0, target.channels, channels):
        for y in range(0, target.rows, rows):
            for x in range(0, target.columns, columns):
                part = Part(
                    (c, min(c + channels, target.channels)),
                    (y, min(y + rows, target.rows)),
                    (x, min(x + columns, target.columns)),
                )
                yield _tile(task, part)


def _tile(task: Task, target: Part) -> Tile:
    """A tile, with what the windows of a part of the target visit."""
    window = task.window
    parts = []
    for source in task.sources:
        if window == ELEMENT:
            parts.append(target)
            continue
        low = target.rows[0] * window.stride[0] - window.padding[0]
        high = (target.rows[1] - 1) * window.stride[0] - window.padding[0]
        high += (window.kernel[0] - 1) * window.dilation[0] + 1
        low = min(max(low, 0), source.rows - 1)
        parts.append(Part(target.channels, (low, max(min(high, source.rows), low + 1)), (0, source.columns)))
    return Tile(target, tuple(parts))


def jobs_of(
    task: Task, tile: Tile, sources: list[Place], target: Place, tables: list[int], shape: VectorShape
) -> Iterator[VectorJob]:
    """The jobs of a tile whose parts are at these places; ``tables``: where those of its channels are, or the one for
    all of them if it is to be read, else none."""
    for region in task.regions:
        rows = _overlap(region.rows, tile.target.rows)
        columns = _overlap(region.columns, tile.target.columns)
        if rows[0] < rows[1] and columns[0] < columns[1]:
            job = _job(task, tile, replace(region, rows=rows, columns=columns), sources, target)
            for one in _with_tables(task, _consistent(job, sources), tables):
                yield _of_fewest_steps(one, shape) if shape.wide else one


def _with_tables(task: Task, jobs: Iterator[VectorJob], tables: list[int]) -> Iterator[VectorJob]:
    """The jobs, of which each may be one row, with their tables: several of them are one for each channel."""
    if not task.tables:
        yield from map(_joined, jobs)
    elif len(task.tables) == 1:
        for job in jobs:
            yield _joined(replace(job, table=True, table_from=tables.pop() if tables else None))
    else:
        for job in jobs:
            first = _joined(replace(_channel(job, 0), table=True))
            for channel, table in enumerate(tables):
                yield first.at(job.input + channel * job.input_plane, job.output + channel * job.output_plane, table)


def _consistent(job: VectorJob, sources: list[Place]) -> Iterator[VectorJob]:
    """The job, or one for each channel or row if the operands of an addition are spaced otherwise."""
    if job.mode != "add":
        yield job
        return
    first, second = sources
    if (job.channels == 1 or first.plane == second.plane) and (job.rows == 1 or first.pitch == second.pitch):
        yield job
        return
    for channel in range(job.channels):
        one = replace(_channel(job, channel), second=job.second + channel * second.plane)
        if job.rows == 1 or first.pitch == second.pitch:
            yield one
            continue
        for row in range(job.rows):
            yield replace(
                one,
                rows=1,
                height=1,
                input=one.input + row * first.pitch,
                second=one.second + row * second.pitch,
                output=one.output + row * job.output_pitch,
            )


def _joined(job: VectorJob) -> VectorJob:
    """The same with rows, and channels, that follow each other without a gap as one row: fewer words."""
    window = (job.kernel, job.stride, job.padding)
    whole = window == ((1, 1), (1, 1), (0, 0)) and (job.rows, job.columns) == (job.height, job.width)
    size, channels = job.rows * job.columns, job.channels
    if not whole or not (job.rows == 1 or job.input_pitch == job.output_pitch == job.columns):
        return job
    if channels > 1 and job.input_plane == job.output_plane == size:
        size, channels = channels * size, 1
    if size >= 1 << COLUMN_BITS or (job.rows, job.channels) == (1, channels):
        return job
    return replace(job, channels=channels, rows=1, height=1, columns=size, width=size)


def _of_fewest_steps(job: VectorJob, shape: VectorShape) -> VectorJob:
    """The same in one line, or in strips, where that takes fewer steps."""
    ways = [_one_line(job)]
    if shape.has_strips and not job.by_element:
        ways.append(replace(job, strips=True))
    ways = [one for one in ways if one is not job and shape.takes(one)]
    return min((job, *ways), key=lambda one: vector_steps(one, shape)) if ways else job


def _one_line(job: VectorJob) -> VectorJob:
    """The same, with a window that is the whole of a map without gaps as one line."""
    size = job.height * job.width
    whole = (job.rows, job.columns, job.kernel, job.padding) == (1, 1, (job.height, job.width), (0, 0))
    if not whole or job.dilation != (1, 1) or job.input_pitch != job.width:
        return job
    return replace(job, kernel=(1, size), height=1, width=size)


def _channel(job: VectorJob, channel: int) -> VectorJob:
    """One channel of a job."""
    return replace(
        job, channels=1, input=job.input + channel * job.input_plane, output=job.output + channel * job.output_plane
    )


def _job(task: Task, tile: Tile, region: Region, sources: list[Place], target: Place) -> VectorJob:
    """The job of a region inside a tile."""
    window, arithmetic, part = task.window, region.arithmetic, tile.sources[0]
    scales = arithmetic.scales
    multipliers = [scale.multiplier for scale in scales] or [IDENTITY_SCALE[0]]
    channels, height, width = part.extents
    padding = (
        part.rows[0] - (region.rows[0] * window.stride[0] - window.padding[0]),
        part.columns[0] - (region.columns[0] * window.stride[1] - window.padding[1]),
    )
    begins = (region.rows[0] - tile.target.rows[0]) * target.pitch + region.columns[0] - tile.target.columns[0]
    return VectorJob(
        mode=arithmetic.mode,
        channels=channels,
        rows=region.rows[1] - region.rows[0],
        columns=region.columns[1] - region.columns[0],
        input=sources[0].address,
        input_pitch=sources[0].pitch,
        input_plane=sources[0].plane,
        height=height,
        width=width,
        output=target.address + begins,
        output_pitch=target.pitch,
        output_plane=target.plane,
        kernel=window.kernel,
        stride=window.stride,
        dilation=window.dilation,
        padding=padding,
        second=sources[1].address if len(sources) > 1 else sources[0].address,
        zeros=(arithmetic.zeros[0], arithmetic.zeros[-1]),
        multipliers=(multipliers[0], multipliers[-1] if len(scales) > 1 else 0),
        shift=scales[0].shift if scales else IDENTITY_SCALE[1],
        zero_out=arithmetic.zero_out,
        low=arithmetic.low,
        high=arithmetic.high,
    )


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return max(one[0], other[0]), min(one[1], other[1])


def place_of(source: FeatureMap, part: Part) -> Place:
    """Where a part of a map is that is in the TCDM anyway."""
    return Place(source.at(part), source.pitch, source.plane)
