"""Row misses of a stream of runs: each bank keeps the row open that was used last."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["row_misses"]

Ints = NDArray[np.int64]


def row_misses(first: Ints, last: Ints, open_rows: Ints) -> tuple[Ints, Ints]:
    """Row misses of each run, which extends from one row to another; and the rows open after it."""
    banks = len(open_rows)
    numbers = last - first + 1
    run = np.repeat(np.arange(len(first)), numbers)
    row = np.arange(len(run)) - np.repeat(np.cumsum(numbers) - numbers, numbers) + first[run]
    turns = np.append(True, row[1:] != row[:-1])
    run, row = run[turns], row[turns]
    opened = np.flatnonzero(open_rows >= 0)
    bank = np.concatenate([opened, row % banks])
    row, run = np.concatenate([open_rows[opened], row]), np.concatenate([np.full(len(opened), -1), run])
    order = np.argsort(bank, kind="stable")
    bank, row, run = bank[order], row[order], run[order]
    begins = np.append(True, bank[1:] != bank[:-1])
    missed = (begins | np.append(True, row[1:] != row[:-1])) & (run >= 0)
    left = open_rows.copy()
    left[bank] = row  # the last row of each bank stays open
    misses: Ints = np.bincount(run[missed], minlength=len(first))
    return misses, left
