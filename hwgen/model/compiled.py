"""Kernels that numba compiles, also out of several files, and the cache of their machine code.

Whoever has kernels takes ``njit`` from here: what numba keeps is then checked by a digest whenever it is used. numba
itself runs what it finds, and raises the error of whatever part of it it cannot read, at every call.
"""

import atexit
import fcntl
import hashlib
import logging
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numba.core.caching
from numba import njit
from numba.core.caching import CompileResultCacheImpl, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps

__all__ = ["borrowing", "digest", "inner", "inner_borrowing", "inner_unchecked", "njit"]


_log = logging.getLogger("hwgen.kernels")
"""Hears that a kernel is compiled, all of which takes up to a minute; an empty text when that is done."""
_log.setLevel(logging.INFO)
_COMPILING = "compiling kernels for this processor, kept for later calls: up to a minute, once"


class _CheckedFile(IndexDataCacheFile):  # type: ignore[misc]
    """The kept machine code of one function: what is damaged counts as not there, with a line on standard error."""

    def __init__(self, cache_path: str, filename_base: str, source_stamp: Any) -> None:
        super().__init__(cache_path, filename_base, source_stamp)
        self._place, self._function = cache_path, filename_base

    def save(self, key: Any, data: Any) -> None:
        """Keep machine code."""
        payload = dumps(data)
        super().save(key, (self._digest(payload), payload))
        _log.info("")

    def load(self, key: Any) -> Any:
        """The machine code for a key; None if there is none, or none that is whole."""
        try:
            found = super().load(key)
        except Exception:  # pickle raises what it likes
            self._tell()
            with suppress(OSError):
                self.flush()
            return None
        if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], bytes)):
            _log.info(_COMPILING)
            return None  # none, or of numba alone
        kept, payload = found
        if kept != self._digest(payload):
            self._tell()
            return None
        return pickle.loads(payload)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """A time in which no other process compiles this function; where files cannot be locked, it begins at once.

        A function is compiled while the locks of its callers are held. Calls make no cycle, so no two processes wait
        for each other.
        """
        place = Path(self._place) / f"{self._function}.lock"
        if place in _held:
            yield
            return
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            file = place.open("w")
        except OSError:
            yield
            return
        with file:
            with suppress(OSError):
                _lock(file.fileno())
            _held.add(place)
            try:
                yield
            finally:
                _held.remove(place)

    def _digest(self, payload: bytes) -> bytes:
        return hashlib.sha256(self._function.encode() + payload).digest()

    def _tell(self) -> None:
        sys.stderr.write(f"hwgen: {Path(self._place) / self._function}: damaged: compiled anew\n")


_held: set[Path] = set()
"""Locks that this process has, of functions that it compiles."""


def _lock(descriptor: int) -> None:
    """Have a file locked; who listens hears of it if another process has the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _log.info(_COMPILING)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        _log.info("")


numba.core.caching.IndexDataCacheFile = _CheckedFile
_compile: Any = Dispatcher.compile


def _compile_in_turn(dispatcher: Any, signature: Any) -> Any:
    """Compile a function that is kept while no other process does; what that one has kept is then taken.

    numba's own lock comes first, so no two threads wait for each other.
    """
    file = getattr(dispatcher._cache, "_cache_file", None)
    if not isinstance(file, _CheckedFile):
        return _compile(dispatcher, signature)
    with global_compiler_lock, file.alone():
        return _compile(dispatcher, signature)


Dispatcher.compile = _compile_in_turn  # type: ignore[assignment, method-assign]


_PLACES: list[Any] = CompileResultCacheImpl._locator_classes
_InTree: Any = next(one for one in _PLACES if one.__name__.strip("_") == "InTreeCacheLocator")


class _OwnFolder(_InTree):  # type: ignore[misc]
    """Where machine code is kept if neither the folder of the sources nor the user's cache can be written to.

    In ``HWGEN_CACHE``; where that cannot be written to either, in a folder that ends with the process.
    """

    def __init__(self, py_func: Any, py_file: str) -> None:
        super().__init__(py_func, py_file)
        self._cache_path = str(_writable() / self.get_suitable_cache_subpath(py_file))


@cache
def _writable() -> Path:
    own = os.environ.get("HWGEN_CACHE")
    if own:
        folder = Path(own) / "numba"
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
    folder = Path(tempfile.mkdtemp(prefix="hwgen-numba-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


_PLACES.append(_OwnFolder)


class _Linked(JITCodeLibrary):  # type: ignore[misc]
    """Code that is only linked into kernels: of itself it is neither optimised nor assembled, since each kernel is.

    It is never called, so that it has no address, and no environment to set there.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """No address."""
        return 0

    @property
    def codegen(self) -> "_Linked":
        """What is told the environment of a function that is ready."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Not needed."""


class _CompilerOfParts(Compiler):  # type: ignore[misc]
    """Compiles a function as code to link."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        self.state.library = _Linked(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


_FOR_KERNELS_ALONE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": _CompilerOfParts}
inner = njit(**_FOR_KERNELS_ALONE)
"""Decorator of a function that only kernels call: it has no entries for Python and C and no machine code of its own.

Kernels with many such functions compile in two thirds of the time."""
inner_unchecked = njit(error_model="numpy", **_FOR_KERNELS_ALONE)
"""The same for divisors that are never 0: divisions are not checked."""
borrowing = njit(cache=True, _nrt=False)
"""Decorator of a function that makes no arrays and keeps none: numba does not count who has those that it is given.

The count is atomic, and of a tuple of arrays it took seven eighths of the time of the small functions that look into
it at every turn of a search. A function that does make an array does not compile."""
inner_borrowing = njit(error_model="numpy", _nrt=False, forceinline=True, **_FOR_KERNELS_ALONE)
"""The same of a function that only such kernels call; its divisors are never 0.

It becomes part of each that calls it: an array is seven arguments, and where a cycle of a model is a dozen of calls
with a dozen of arrays each, calls took three quarters of its time."""


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
