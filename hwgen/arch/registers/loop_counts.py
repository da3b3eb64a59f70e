"""How a loop nest is told to hardware that only counts: iterations of every loop, and the size of its last one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["LoopCounts", "loop_counts", "same_outside"]


@dataclass(frozen=True)
class LoopCounts:
    """One loop, for each size that the iteration of the next outer loop over its dimension may have.

    Entry i holds where exactly the next i outer loops over the same dimension are in their last iterations. What is
    outside of all of them is the whole dimension, which counts as no loop: a loop with d others around it has d + 1
    entries.

    Members
    -------
    repeats : iterations, less one.
    rests : what the last iteration covers; every other one covers the loop's step.
    """

    repeats: tuple[int, ...]
    rests: tuple[int, ...]


def same_outside(loops: Sequence[str], index: int) -> list[int]:
    """Indices of the outer loops over the dimension of a loop, innermost first."""
    return [j for j in range(index - 1, -1, -1) if loops[j] == loops[index]]


def loop_counts(loops: Sequence[str], steps: Sequence[int], extents: Mapping[str, int]) -> list[LoopCounts]:
    """The counts of every loop of a nest, outermost first."""
    found: list[LoopCounts] = []
    for j, (dim, step) in enumerate(zip(loops, steps, strict=True)):
        outside = same_outside(loops, j)
        covered = (steps[outside[0]], *found[outside[0]].rests) if outside else (extents[dim],)
        repeats = tuple((size - 1) // step for size in covered)
        rests = tuple(size - times * step for size, times in zip(covered, repeats, strict=True))
        found.append(LoopCounts(repeats, rests))
    return found
