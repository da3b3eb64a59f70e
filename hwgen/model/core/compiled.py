"""Kernels that numba compiles out of several files, and the cache of their machine code."""

import hashlib
from pathlib import Path
from types import ModuleType

from numba import njit

__all__ = ["digest", "inner", "inner_unchecked"]

_FOR_KERNELS_ALONE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
inner = njit(**_FOR_KERNELS_ALONE)
"""Decorator of a function that only kernels call: without entries for Python and C it compiles a fifth faster."""
inner_unchecked = njit(error_model="numpy", **_FOR_KERNELS_ALONE)
"""The same for divisors that are never 0: divisions are not checked."""


def digest(*modules: ModuleType) -> int:
    """A number that changes with the text of any of these modules, and is not 0.

    numba keeps the machine code of a function until the function's own file changes. Functions and constants that it
    takes from other files are compiled into it and would go stale. numba also tells apart functions that close over
    different values: so a kernel whose parts are in several files closes over the digest of these files.
    """
    state = hashlib.sha256()
    for module in modules:
        assert module.__file__ is not None
        state.update(Path(module.__file__).read_bytes())
    return int.from_bytes(state.digest()[:7], "big") | 1
