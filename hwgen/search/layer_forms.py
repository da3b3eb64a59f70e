"""The form in which a layer takes the fewest cycles on given lanes: groups that are run at once, taps as channels.

A form has a bound: the cycles in which the lanes do all its iterations and give all its outputs away. Forms are
searched in the order of their iterations, and one whose bound is above the fewest cycles that were found is left out,
which is exact.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from hwgen.ir.document import InputError
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import AS_IT_IS, TAPS, Form, Layer
from hwgen.model.cycle_bound import least_busy, least_iterations, windowed

__all__ = ["forms_of", "in_best_form"]

MOST_CHANNELS = 2
"""Input channels, in lanes along c, from which on no input is laid out: most lanes are busy then, and it is large."""

T = TypeVar("T")


def forms_of(layer: Layer, lanes: Lanes, *, laid_out: bool = False, window: bool = False) -> list[Layer]:
    """The layer as it is, and in forms of fewer iterations, those of the fewest first.

    Of forms with equally many iterations that of the fewest weights and inputs is there. A layer that is in a form
    already stays in it. ``laid_out`` : the input may be laid out for the layer, with taps as channels. ``window`` :
    the hardware has a window for columns.
    """
    if layer.form != AS_IT_IS or lanes.along("c") == 1:
        return [layer]
    forms = [Form(groups_at_once=n) for n in range(2, min(layer.groups, lanes.product) + 1) if layer.groups % n == 0]
    if laid_out and layer.groups == 1 and layer.input_channels < MOST_CHANNELS * lanes.along("c"):
        forms += [Form(taps_as_channels=taps) for taps in TAPS]
    others = [layer.in_form(form) for form in forms]
    if window:
        others += windowed(layer, lanes)
    found, least = [layer], least_iterations(layer, lanes)
    for one in sorted(others, key=lambda one: (one.weight_elements, one.input_elements)):
        iterations = least_iterations(one, lanes)
        if iterations < least:
            least = iterations
            found.append(one)
    return found[::-1]


def in_best_form(
    forms: Sequence[Layer], lanes: Lanes, search: Callable[[Layer], T], cycles: Callable[[T], float], hwcs: int = 1
) -> T:
    """What a search finds for the form of the fewest cycles.

    Parameters
    ----------
    forms : as `forms_of` has them.
    lanes, hwcs : the lanes of an HWC, and how many of them share the layer.
    search : finds a schedule of a layer; raises `InputError` where there is none.
    cycles : of what it found.

    Raises `InputError`, that of the layer as it is, where no form has a schedule.
    """
    best: tuple[float, T] | None = None
    refused: InputError | None = None
    for one in forms:
        if best is not None and best[0] <= least_busy(one, lanes) / hwcs:
            continue
        try:
            found = search(one)
        except InputError as error:
            refused = error
            continue
        took = cycles(found)
        if best is None or took < best[0]:
            best = took, found
    if best is None:
        assert refused is not None
        raise refused
    return best[1]
