"""The enumeration of loops around a tile in several threads, and how far it has come.

The compiled kernel releases Python's lock; each thread takes its share of the forms. The least cost and the set of
steps are the same in any division of the work. The calling thread waits, so that an interruption takes effect, and
tells how many forms are done.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

import numpy as np
from numpy.typing import NDArray

from hwgen.tools.machine import processors

__all__ = ["in_parts", "tell", "telling"]

Ints = NDArray[np.int64]
MOST_THREADS = 4
TELL_SECONDS = 0.2

_listeners: list[Callable[[float], None]] = []


@contextmanager
def telling(listener: Callable[[float], None]) -> Iterator[None]:
    """Call ``listener`` with the share that is done, 0 to 1, of each stage of a search that takes long."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def tell(share: float) -> None:
    """This share of the present stage is done; a smaller one than before begins the next stage."""
    for listener in _listeners:
        listener(share)


def in_parts(
    explored: Callable[[Ints, int, Ints], None], forms: int, ceiling: int, *, alone: bool = False
) -> int | None:
    """Run ``explored(limits, part, done)`` in as many parts as there are processors; the least limit that it found.

    Parameters
    ----------
    explored : lowers its own of the limits, and counts the forms that are done; see `outer_kernel.explore`.
    forms : how many forms there are.
    ceiling : what is sought costs at most that.
    alone : in one part, in this thread.

    Returns None where nothing costs as little as ``ceiling``.
    """
    parts = 1 if alone else _threads()
    # The last one is not a part's: an interruption sets it to 0.
    limits, done = np.full(parts + 1, ceiling + 1, np.int64), np.zeros(parts, np.int64)
    if alone:
        explored(limits, 0, done)
    else:
        _run([Thread(target=explored, args=(limits, part, done), daemon=True) for part in range(parts)], limits, done,
             forms)  # fmt: skip
    least = int(limits.min())
    return least if least <= ceiling else None


def _run(threads: list[Thread], limits: Ints, done: Ints, forms: int) -> None:
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(TELL_SECONDS)
                tell(int(done.sum()) / forms)
    except BaseException:
        limits[-1] = 0
        raise


def _threads() -> int:
    return min(MOST_THREADS, processors())
