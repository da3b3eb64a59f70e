"""Schedules that this process has found for layers of networks, so that it searches each once.

A script that forecasts a network, runs it and generates its files has the same layers on the same hardware each time.
"""

import json
from collections import OrderedDict

from hwgen.ir.hardware import Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule

__all__ = ["KNOWN", "KnownSchedules"]

MOST = 2000
"""Schedules that are kept; those that were asked for longest ago are dropped."""


class KnownSchedules:
    """What was found for a layer of any name on some hardware: its schedule, or why it has none."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._found: OrderedDict[str, Schedule | str] = OrderedDict()

    def of(self, layer: Layer, laid_out: bool, hardware: Hardware, beside: int = 0) -> Schedule | str | None:
        """What was found; None if no search is known.

        ``laid_out`` : the input may be laid out for the layer, see `hwgen.search.layer_forms.forms_of`. ``beside`` :
        cycles of a node beside it, see `hwgen.lower.network.followed.work_beside`.
        """
        key = _key(layer, laid_out, hardware, beside)
        if key not in self._found:
            return None
        self._found.move_to_end(key)
        return self._found[key]

    def keep(self, layer: Layer, laid_out: bool, hardware: Hardware, found: Schedule | str, beside: int = 0) -> None:
        """Keep what a search found, as `of` has it."""
        self._found[_key(layer, laid_out, hardware, beside)] = found
        if len(self._found) > self._most:
            self._found.popitem(last=False)

    def forget(self) -> None:
        """Search everything anew."""
        self._found.clear()


def _key(layer: Layer, laid_out: bool, hardware: Hardware, beside: int) -> str:
    return json.dumps([layer.shape_data, laid_out, beside, repr(hardware)], sort_keys=True)


KNOWN = KnownSchedules()
"""Those of this process."""
