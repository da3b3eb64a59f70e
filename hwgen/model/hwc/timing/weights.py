"""Tiles of the weights: when each one arrives."""

from hwgen.arch.latency import FREED, REQUEST_TO_ANSWER, WEIGHT_ADVANCE, WEIGHT_TOKEN
from hwgen.model.compiled import inner_unchecked
from hwgen.model.hwc.timing.requests import note, note_words
from hwgen.model.hwc.timing.waits import waits_of

__all__ = ["weight_tile"]


@inner_unchecked
def weight_tile(stream, block, low, size_steps, fetches, words, records, waits):  # type: ignore[no-untyped-def]
    """The first cycle in which an operation can use the next tile of W."""
    offered = stream.pushed + 1 + size_steps + (0 if stream.first else WEIGHT_ADVANCE)
    earliest = max(offered, stream.begun_1 + 1)
    pushed = max(earliest, stream.requested if fetches else stream.requested + 1)
    drop = stream.live if fetches and not stream.first else 0
    drop_at = max(stream.released, pushed) + FREED
    requested, free, earlier = pushed, stream.free, stream.drop
    if fetches:
        left = words
        note(records, low[0], low[1], low[4], low[5], words, 0, 0, 0, 0, 0)
        for step in range(3):
            number = min(left, free)
            note_words(records, earliest + 1, number)
            requested += number + waits_of(stream, number, block.waits_w, waits)
            left -= number
            free -= number
            if left and step == 0 and earlier:
                free += earlier
                earlier = 0
                earliest, requested = stream.drop_at - 1, max(requested, stream.drop_at - 1)
            elif left and drop:
                free += drop
                drop = 0
                earliest, requested = drop_at - 1, max(requested, drop_at - 1)
        stream.live = words
        stream.written = requested + REQUEST_TO_ANSWER
    else:
        stream.written = max(pushed, stream.written) + 1
    stream.free = free + earlier
    stream.drop, stream.drop_at = drop, drop_at
    stream.pushed, stream.requested, stream.first = pushed, requested, 0
    return stream.written + WEIGHT_TOKEN
