"""A memory with one write port and several read ports; a single word is a register."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["PixelMemory"]


class PixelMemory(wiring.Component):
    """``depth`` words of ``width`` bits. A read in the cycle of a write to the same word gives the old word.

    Parameters
    ----------
    width
        Bits of a word.
    depth
        Words, at least 1.
    readers
        Read ports.

    Members
    -------
    write_enable, write_address, write_data : In
    read_enable_{n}, read_address_{n} : In
    read_data_{n} : Out
        The word that was read. Valid from the next cycle to the next read.
    """

    def __init__(self, *, width: int, depth: int, readers: int) -> None:
        self._width, self._depth, self._readers = width, depth, readers
        address = max((depth - 1).bit_length(), 1)
        ports = {"write_enable": In(1), "write_address": In(address), "write_data": In(width)}
        for n in range(readers):
            ports |= {f"read_enable_{n}": In(1), f"read_address_{n}": In(address), f"read_data_{n}": Out(width)}
        super().__init__(ports)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        if self._depth == 1:
            word = Signal(self._width, reset_less=True)  # like a memory
            with m.If(self.write_enable):
                m.d.sync += word.eq(self.write_data)
            for n in range(self._readers):
                with m.If(getattr(self, f"read_enable_{n}")):
                    m.d.sync += getattr(self, f"read_data_{n}").eq(word)
            return m
        m.submodules.words = memory = Memory(shape=self._width, depth=self._depth, init=[])
        write = memory.write_port()
        m.d.comb += [
            write.en.eq(self.write_enable),
            write.addr.eq(self.write_address),
            write.data.eq(self.write_data),
        ]
        for n in range(self._readers):
            read = memory.read_port()
            m.d.comb += [
                read.en.eq(getattr(self, f"read_enable_{n}")),
                read.addr.eq(getattr(self, f"read_address_{n}")),
                getattr(self, f"read_data_{n}").eq(read.data),
            ]
        return m
