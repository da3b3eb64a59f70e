"""The three parameters of a DMA after Cecconi 2017, Eq. 1: T = C + s p + n t, fitted to measured transfers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

__all__ = ["CostFit", "Transfer", "fit_cost"]


class Transfer(NamedTuple):
    """A measured transfer: its runs of consecutive DRAM bytes, its bytes, its cycles."""

    runs: int
    bytes: int
    cycles: int


@dataclass(frozen=True)
class CostFit:
    """Cycles of a transfer, of each of its runs, of each of its bytes; and relative errors over what was fitted.

    Members
    -------
    transfer, run, byte : C, p and t, the latter for a byte.
    mean, percentile_95, largest : of the absolute errors.
    """

    transfer: float
    run: float
    byte: float
    mean: float
    percentile_95: float
    largest: float

    def cycles(self, transfer: Transfer) -> float:
        """What it takes by these parameters."""
        return self.transfer + self.run * transfer.runs + self.byte * transfer.bytes


def fit_cost(transfers: Sequence[Transfer]) -> CostFit:
    """Least squares of the relative errors; no parameter below 0 (one that would be is left out)."""
    if len(transfers) < 3:
        raise ValueError(f"transfers: expected at least 3, got {len(transfers)}")
    cycles = np.array([each.cycles for each in transfers], float)
    terms = np.array([(1, each.runs, each.bytes) for each in transfers], float) / cycles[:, None]
    kept = [0, 1, 2]
    while True:
        found, *_ = np.linalg.lstsq(terms[:, kept], np.ones(len(cycles)), rcond=None)
        if (found >= 0).all():
            break
        kept.pop(int(np.argmin(found)))
    values = np.zeros(3)
    values[kept] = found
    errors = np.abs(terms @ values - 1)
    return CostFit(
        transfer=float(values[0]),
        run=float(values[1]),
        byte=float(values[2]),
        mean=float(errors.mean()),
        percentile_95=float(np.percentile(errors, 95)),
        largest=float(errors.max()),
    )
