"""Tiles of the weights: when each one arrives."""

from numba import njit

from hwgen.arch.latency import FREED, REQUEST_TO_ANSWER, WEIGHT_ADVANCE, WEIGHT_TOKEN

__all__ = ["weight_tile"]


@njit(error_model="numpy")
def weight_tile(stream, block, size_steps, fetches, words):  # type: ignore[no-untyped-def]
    """The first cycle for an operation on the next box of W."""
    offered = stream.announced + 1 + size_steps + (0 if stream.first else WEIGHT_ADVANCE)
    announced = max(offered, stream.asked if fetches else stream.asked + 1, stream.begun_1 + 1)
    drop = stream.live if fetches and not stream.first else 0
    drop_at = max(stream.released, announced) + FREED
    asked, free, earlier = announced, stream.free, stream.drop
    if fetches:
        left = words
        for step in range(3):
            number = min(left, free)
            asked += number
            left -= number
            free -= number
            if left and step == 0 and earlier:
                free += earlier
                earlier = 0
                asked = max(asked, stream.drop_at - 1)
            elif left and drop:
                free += drop
                drop = 0
                asked = max(asked, drop_at - 1)
        stream.live = words
        stream.written = asked + REQUEST_TO_ANSWER
    else:
        stream.written = max(announced, stream.written) + 1
    stream.free = free + earlier
    stream.drop, stream.drop_at = drop, drop_at
    stream.announced, stream.asked, stream.first = announced, asked, 0
    return stream.written + WEIGHT_TOKEN
