"""The input memory: one byte-wide bank per lane, so that any run of consecutive elements is read in one cycle."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["InputMemory"]

WRITES = 4


class InputMemory(wiring.Component):
    """``depth`` lines of ``lanes`` bytes: element e lies in bank ``e % lanes``, line ``e // lanes``.

    Parameters
    ----------
    depth
        Lines, at least 2.
    lanes
        Banks: a power of two.

    Members
    -------
    read_address : In
        First element; ``read_data[i]`` is element ``read_address + i`` in the next cycle. What lies outside the
        memory is undefined.
    read_data : Out
    write_address : In
        First element; where ``write_enable[i]`` is set, element ``write_address + i`` becomes ``write_data[i]``.
    write_enable : In(4)
    write_data : In
    """

    def __init__(self, *, depth: int, lanes: int) -> None:
        self._depth, self._lanes = depth, lanes
        address = (depth * lanes - 1).bit_length() + 1
        super().__init__(
            {
                "read_address": In(address),
                "read_data": Out(data.ArrayLayout(8, lanes)),
                "write_address": In(address),
                "write_enable": In(WRITES),
                "write_data": In(data.ArrayLayout(8, WRITES)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        select = (self._lanes - 1).bit_length()
        read_line, read_bank = self.read_address[select:], self.read_address[:select]
        write_line, write_bank = self.write_address[select:], self.write_address[:select]
        turned = Signal(select)
        m.d.sync += turned.eq(read_bank)
        banks = []
        for bank in range(self._lanes):
            m.submodules[f"bank_{bank}"] = memory = Memory(shape=8, depth=self._depth, init=[])
            read, write = memory.read_port(), memory.write_port()
            banks.append(read.data)
            offset = Signal(select, name=f"offset_{bank}")
            m.d.comb += [
                read.addr.eq(read_line + self._wraps(bank, read_bank)),
                offset.eq(bank - write_bank),
            ]
            # Most cycles write nothing: a simulator passes over the rest then.
            with m.If(self.write_enable.any()):
                m.d.comb += write.addr.eq(write_line + self._wraps(bank, write_bank))
                with m.Switch(offset):
                    for i in range(WRITES):
                        with m.Case(i):
                            m.d.comb += [write.en.eq(self.write_enable[i]), write.data.eq(self.write_data[i])]
        # Rotate by one bit of the bank number at a time.
        rotated = list(banks)
        for bit in range(select):
            stage = [Signal(8, name=f"rotated_{bit}_{lane}") for lane in range(self._lanes)]
            for lane in range(self._lanes):
                m.d.comb += stage[lane].eq(
                    Mux(turned[bit], rotated[(lane + (1 << bit)) % self._lanes], rotated[lane])
                )
            rotated = stage
        m.d.comb += self.read_data.eq(Cat(*rotated))
        return m

    def _wraps(self, bank: int, first: Value) -> ValueLike:
        """Whether a run that begins in bank ``first`` reaches ``bank`` in the next line."""
        return 0 if bank == self._lanes - 1 else bank < first
