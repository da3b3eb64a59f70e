"""What accesses of a port wait at the banks of a shared memory."""

from hwgen.model.compiled import inner_unchecked
from hwgen.model.hwc.timing.state import PARTS

__all__ = ["GONE", "waits_of"]

GONE = 0
"""Where the waits of the first accesses of a port are: how many of these there have been; the waits follow."""


@inner_unchecked
def waits_of(stream, number, parts, first):  # type: ignore[no-untyped-def]
    """Whole cycles that ``number`` accesses wait.

    ``first`` : of the first accesses, see `GONE`; all others wait ``parts`` of a cycle on average, of which what is
    no whole cycle is kept for the next ones.
    """
    gone = first[GONE]
    known = max(0, min(number, len(first) - 1 - gone))
    cycles = 0
    for i in range(gone + 1, gone + known + 1):
        cycles += first[i]
    first[GONE] = gone + known
    rest = (number - known) * parts + stream.waited
    stream.waited = rest % PARTS
    return cycles + rest // PARTS
