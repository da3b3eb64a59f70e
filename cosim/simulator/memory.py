"""A test bench's way into the memory of a harness in HDL. Runs inside the simulator, with cocotb."""

import ctypes
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from cocotb.triggers import Timer

__all__ = ["FileMemory", "MappedMemory", "Memory"]

UNKNOWN = frozenset("xXzZ")


class Memory(Protocol):
    """The test bench's way into the harness' memory."""

    unknown: int

    async def write(self, words: np.ndarray) -> None:
        """Put ``words`` at address 0."""

    async def read(self, count: int) -> np.ndarray:
        """The first ``count`` words; what is unknown (Icarus) becomes 0 and is counted in `unknown`."""


class MappedMemory:
    """Verilator: a view of the simulator's own array."""

    unknown = 0

    def __init__(self, library: ctypes.CDLL) -> None:
        library.harness_memory.restype = ctypes.POINTER(ctypes.c_uint32)
        count = ctypes.c_size_t()
        pointer = library.harness_memory(ctypes.byref(count))
        if not pointer:
            raise RuntimeError("the simulator has no harness")
        self._words = np.ctypeslib.as_array(pointer, shape=(count.value,))

    async def write(self, words: np.ndarray) -> None:
        self._words[: len(words)] = words

    async def read(self, count: int) -> np.ndarray:
        return self._words[:count].copy()


class FileMemory:
    """Icarus: through files that a part of the harness reads and writes, see `memory_files.sv`."""

    def __init__(self, files: Any) -> None:
        self._files = files
        self.unknown = 0

    async def write(self, words: np.ndarray) -> None:
        Path("load.hex").write_text("\n".join(map("{:08x}".format, words.tolist())) + "\n")
        await self._transfer(self._files.load, len(words))

    async def read(self, count: int) -> np.ndarray:
        await self._transfer(self._files.store, count)
        words = [line for line in Path("store.hex").read_text().splitlines() if not line.startswith("//")]
        known = [word if UNKNOWN.isdisjoint(word) else "0" for word in words]
        self.unknown = sum(word is not line for word, line in zip(known, words, strict=True))
        return np.array([int(word, 16) for word in known], dtype=np.uint32)

    async def _transfer(self, trigger: Any, count: int) -> None:
        self._files.file_first.value = 0
        self._files.file_last.value = count - 1
        await Timer(1, unit="ns")
        trigger.value = 1
        await Timer(1, unit="ns")
        trigger.value = 0
        await Timer(1, unit="ns")
