"""Which HWCs read I and W together: the leaders that a program sets before each wave of slices."""

from collections.abc import Iterator, Sequence

from hwgen.arch.commands import Command, multicast
from hwgen.ir.layer import DIMS
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.tiles import Slice
from hwgen.model.cluster.levels import spread_side_by_side

__all__ = ["Leaders", "leaders_of"]

M, Y = DIMS.index("m"), DIMS.index("y")


class Leaders:
    """The leaders of a cluster's HWCs as the program has set them; at its start each HWC is its own.

    The rule is that of `hwgen.model.cluster.shares`: of the slices of a wave, those that have the same extents and
    the same y read the same I if the groups of their m are the same, and those of the same m read the same W.
    """

    def __init__(self, schedule: Schedule, hwcs: int) -> None:
        self._group = schedule.layer.outputs_per_group
        self._applies = spread_side_by_side(schedule)
        self._inputs = self._weights = tuple(range(hwcs))

    def before(self, wave: Sequence[Slice]) -> Iterator[Command]:
        """What sets the leaders for a wave. HWCs without a slice in it follow nobody: they would never ask.

        Leaders change while all HWCs of the wave rest: one that is still at work must not wait for others.
        """
        if not self._applies:
            return
        inputs, weights = leaders_of(wave, self._group, len(self._inputs))
        changed = {
            hwc
            for held, wanted in ((self._inputs, inputs), (self._weights, weights))
            for hwc, (one, other) in enumerate(zip(held, wanted, strict=True))
            if one != other
        }
        if changed:
            self._inputs, self._weights = inputs, weights
            yield multicast(sum(1 << hwc for hwc in changed | {part.hwc for part in wave}), inputs, weights)


def leaders_of(wave: Sequence[Slice], group: int, hwcs: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The leader of each of ``hwcs`` HWCs for I, and for W; ``group`` : output channels of a group of the layer."""
    inputs = [(part.hwc, _input_read(part, group)) for part in wave]
    return _led(inputs, hwcs), _led([(part.hwc, (_extents(part), part.ranges[M])) for part in wave], hwcs)


def _led(reads: Sequence[tuple[int, object]], hwcs: int) -> tuple[int, ...]:
    """The leader of each HWC: the first one of the wave that reads the same."""
    leaders, first = list(range(hwcs)), dict[object, int]()
    for hwc, what in reads:
        leaders[hwc] = first.setdefault(what, hwc)
    return tuple(leaders)


def _input_read(part: Slice, group: int) -> object:
    """What a slice reads of I, of the slices of a tile; ``group`` : output channels of a group."""
    low, high = part.ranges[M]
    return _extents(part), part.ranges[Y], low // group, (high - 1) // group


def _extents(part: Slice) -> tuple[int, ...]:
    return tuple(high - low for low, high in part.ranges)
