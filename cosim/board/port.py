"""A serial port whose other end is a simulated design: what pyserial is to the host program on a board."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hwgen.tools.toolchain import ToolError

__all__ = ["BIT_CYCLES", "SimulatedLine", "SimulatedPort"]

BIT_CYCLES = 4
"""Cycles of the clock in a bit of the simulated line: the fewest that there may be; a board has more."""
SILENCE = 1_000_000
"""Cycles in which a byte comes, or none does."""
BREAK_BITS = 20


class SimulatedLine(Protocol):
    """What a port needs of the harness; see `SimulatedLibrary`."""

    def set(self, **values: int) -> None: ...

    def get(self, name: str, scope: str = "harness") -> int: ...

    def run(self, cycles: int, *, until_finished: bool = False) -> int: ...

    def bytes_of(self, scope: str, name: str) -> NDArray[np.uint8]: ...


class SimulatedPort:
    """The port. What is written goes over the line with the next read, byte by byte; then the answer is awaited.

    Members
    -------
    cycles : of the clock, all that have run.
    """

    def __init__(self, line: SimulatedLine) -> None:
        self._line = line
        self._go = 0
        self._waits = b""
        self.cycles = 0

    def write(self, data: bytes) -> int:
        """Keep the bytes for the next read."""
        self._waits += data
        return len(data)

    def read(self, size: int) -> bytes:
        """Send what waits, and take this number of bytes; fewer where no more come for a long time."""
        line, room = self._line, len(self._line.bytes_of("harness", "outgoing"))
        if max(size, len(self._waits)) > room:
            raise ToolError(f"the simulated line takes at most {room} bytes at a time")
        line.bytes_of("harness", "outgoing")[: len(self._waits)] = np.frombuffer(self._waits, np.uint8)
        self._go = 1 - self._go
        line.set(go=self._go, to_send=len(self._waits), to_receive=size)
        self._run(3)
        bits = 10 * BIT_CYCLES * (len(self._waits) + size + 1)
        self._waits = b""
        self.cycles += line.run(2 * bits + SILENCE, until_finished=True)
        came = min(size, line.get("received"))
        return line.bytes_of("harness", "incoming")[:came].tobytes()

    def send_break(self, duration: float) -> None:
        """Hold the line low for longer than a byte, however long that is."""
        self._waits = b""
        for low, cycles in ((1, BREAK_BITS * BIT_CYCLES), (0, 4 * BREAK_BITS * BIT_CYCLES)):
            self._line.set(low=low)
            self._run(cycles)

    def reset_input_buffer(self) -> None:
        """Forget what has come: nothing is kept between reads."""

    def _run(self, cycles: int) -> None:
        self.cycles += self._line.run(cycles)
