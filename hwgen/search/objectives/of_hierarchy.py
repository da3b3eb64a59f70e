"""What an objective pays for a byte, by operand, by the level that serves it and by the level that receives it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.document import InputError
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS

__all__ = ["Goal", "goal_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Goal:
    """An objective on one hierarchy.

    Members
    -------
    name : ``energy`` or the name of a level.
    serves : [level, operand], what a byte costs that the level serves, reads and writes.
    fills : [level, operand], what a byte costs on top that the level receives on its way inward.
    mac : what a multiply-accumulate costs.
    """

    name: str
    serves: Floats
    fills: Floats
    mac: float


def goal_of(hierarchy: Hierarchy, objective: str, *, fills: bool) -> Goal:
    """The objective of that name; raises `InputError` for a name that is neither ``energy`` nor a level's."""
    names = [level.name for level in hierarchy.levels]
    shape = (len(names), len(ARRAYS))
    if objective != "energy" and objective in names:
        serves = np.zeros(shape)
        serves[names.index(objective)] = 1.0
        return Goal(objective, serves, np.zeros(shape), 0.0)
    if objective != "energy":
        raise InputError(f"--objective: expected energy or a level ({', '.join(names)}), got {objective}")
    prices = np.array([[hierarchy.energy_per_byte(one, array) for array in ARRAYS] for one in hierarchy.levels])
    return Goal("energy", prices, prices if fills else np.zeros(shape), hierarchy.mac_energy)
