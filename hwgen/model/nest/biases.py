"""Where in the nest an HWC keeps its biases: within which loops each one is fetched only once."""

from hwgen.ir.layer import IMAGE
from hwgen.ir.schedule import Schedule

__all__ = ["bias_depth", "bias_uses", "biases_kept"]


def bias_depth(schedule: Schedule, outermost: int = 0) -> int:
    """The number of loops around the part of the nest in which each bias is fetched once; 0: the whole layer.

    The part is the outermost one from ``outermost`` loops on with at most ``bias_words`` output channels. Without
    one it is an iteration at O's marker: what is drained at a time.
    """
    marked = schedule.marked_loop("O")
    innermost = len(schedule.loops) if marked is None else marked + 1
    for depth in range(outermost, innermost):
        if schedule.iteration_size(depth)["m"] <= schedule.bias_words:
            return depth
    return innermost


def bias_uses(schedule: Schedule) -> int:
    """How many tiles of O, about, use what was fetched of a bias at once."""
    marked, depth = schedule.marked_loop("O"), bias_depth(schedule)
    innermost = len(schedule.loops) if marked is None else marked + 1
    uses = 1
    for place in range(depth, innermost):
        loop = schedule.loops[place]
        if loop.dim in (IMAGE, "y", "x"):
            uses *= -(-schedule.iteration_size(place)[loop.dim] // loop.step)
    return uses


def biases_kept(schedule: Schedule) -> int:
    """Biases that the store holds at a time, at most; 0 where none is used again."""
    marked, depth = schedule.marked_loop("O"), bias_depth(schedule)
    innermost = len(schedule.loops) if marked is None else marked + 1
    again = any(loop.dim in (IMAGE, "y", "x") for loop in schedule.loops[depth:innermost])
    return schedule.iteration_size(depth)["m"] if again else 0
