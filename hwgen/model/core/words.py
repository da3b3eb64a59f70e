"""Words of a port: how many accesses some bytes take."""

from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

__all__ = ["weight_words", "words_of"]

Ints = NDArray[np.int64]


def weight_words(tiles: Sequence[Ints], size: int, word: int) -> int:
    """Words of all tiles, the products of one extent of each dimension, each starting on a word.

    ``size`` is the number of bytes of an element, ``word`` that of a word.
    """
    words = 0
    for combination in product(*(Counter(sizes.tolist()).items() for sizes in tiles)):
        volume, number = size, 1
        for extent, occurrences in combination:
            volume, number = volume * extent, number * occurrences
        words += number * -(-volume // word)
    return words


def words_of(start: Ints, stop: Ints, size: int, word: int) -> int:
    """Aligned words of ``word`` bytes in all of these ranges of elements of ``size`` bytes, each by itself."""
    return int(((stop * size - 1) // word - start * size // word + 1).sum())
