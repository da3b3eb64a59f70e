"""A memory of byte-wide banks: reads a run of consecutive bytes and writes the bytes of a word in each cycle."""

from collections.abc import Sequence

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BYTES

__all__ = ["ByteMemory"]


class ByteMemory(wiring.Component):
    """``depth`` lines of ``banks`` bytes: byte e is in bank ``e % banks``, line ``e // banks``.

    A run wraps at the end of the memory. An address may be negative, down to one line before the first byte: bytes at
    negative addresses are undefined, the others are read as usual.

    Parameters
    ----------
    depth
        Lines, at least 2.
    banks
        A power of two, at least ``writes``.
    lanes
        Consecutive bytes that are read in one cycle: at most ``banks``.
    writes
        Consecutive bytes that are written in one cycle, at most.
    aligned
        Writes begin at multiples of ``writes``.
    block_ram
        The banks read synchronously, as block RAM does. The bytes are rotated behind them, in the cycle in which they
        are used: the answers are the same in every cycle, and there is less time for the reader.

    Members
    -------
    read_address : In
        First byte; ``read_data[i]`` is byte ``read_address + i`` in the next cycle.
    read_data : Out
    write_address : In
        First byte; where ``write_enable[i]`` is set, byte ``write_address + i`` becomes ``write_data[i]``.
    write_enable : In(writes)
    write_data : In
    """

    def __init__(
        self,
        *,
        depth: int,
        banks: int,
        lanes: int,
        writes: int = WORD_BYTES,
        aligned: bool = False,
        block_ram: bool = False,
    ) -> None:
        self._depth, self._banks, self._lanes = depth, banks, lanes
        self._writes, self._aligned, self._block_ram = writes, aligned, block_ram
        address = (depth * banks - 1).bit_length() + 1
        super().__init__(
            {
                "read_address": In(address),
                "read_data": Out(data.ArrayLayout(8, lanes)),
                "write_address": In(address),
                "write_enable": In(writes),
                "write_data": In(data.ArrayLayout(8, writes)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        select = (self._banks - 1).bit_length()
        read_bank, write_bank = self.read_address[:select], self.write_address[:select]
        read_line, read_next = self._lines(m, self.read_address[select:], "read")
        write_line, write_next = self._lines(m, self.write_address[select:], "write")
        banks: list[Value] = []
        turned = self._turned_writes(m, write_bank) if self._writes > WORD_BYTES and not self._aligned else None
        for bank in range(self._banks):
            m.submodules[f"bank_{bank}"] = memory = Memory(shape=8, depth=self._depth, init=[])
            read, write = memory.read_port(domain="sync" if self._block_ram else "comb"), memory.write_port()
            banks.append(read.data)
            offset = Signal(select, name=f"offset_{bank}")
            m.d.comb += [
                read.addr.eq(self._line(bank, read_bank, read_line, read_next)),
                offset.eq(bank - write_bank),
            ]
            # Most cycles write nothing, and a simulator skips this branch.
            with m.If(self.write_enable.any()):
                m.d.comb += write.addr.eq(self._line(bank, write_bank, write_line, write_next))
                if turned is not None:
                    m.d.comb += Cat(write.data, write.en).eq(turned[bank])
                    continue
                with m.Switch(offset):
                    for i in [bank % self._writes] if self._aligned else range(self._writes):
                        with m.Case(i):
                            m.d.comb += [write.en.eq(self.write_enable[i]), write.data.eq(self.write_data[i])]
        if self._block_ram:
            begins = Signal.like(read_bank, name="begins")
            m.d.sync += begins.eq(read_bank)
            rotated = banks
            for bit in reversed(range(select)):
                rotated = self._rotated(m, rotated, bit, begins[bit])
            m.d.comb += self.read_data.eq(Cat(*rotated))
            return m
        # A barrel shifter, one stage for each bit of the bank number; the last stages compute only the bytes that are
        # read. The last stage is after the register, but for a single byte; the rest of that cycle is the reader's.
        rotated, behind = banks, int(self._lanes > 1)
        for bit in reversed(range(behind, select)):
            rotated = self._rotated(m, rotated, bit, read_bank[bit])
        kept = min(self._banks, self._lanes + behind)
        held = [Signal(8, name=f"held_{place}", reset_less=True) for place in range(kept)]
        if not behind:
            m.d.sync += held[0].eq(rotated[0])
            m.d.comb += self.read_data[0].eq(held[0])
            return m
        turned = Signal()
        m.d.sync += [turned.eq(read_bank[0]), *(byte.eq(value) for byte, value in zip(held, rotated, strict=True))]
        m.d.comb += self.read_data.eq(Cat(*self._rotated(m, held, 0, turned)))
        return m

    def _turned_writes(self, m: Module, first: Value) -> list[Value]:
        """What each bank gets if the first byte goes to bank ``first``: a byte and its enable."""
        given = [Cat(self.write_data[i], self.write_enable[i]) for i in range(self._writes)]
        stage: list[Value] = [*given, *(C(0, 9) for _ in range(self._banks - self._writes))]
        for bit in range(len(first)):
            turned = [Signal(9, name=f"turned_{bit}_{place}") for place in range(self._banks)]
            m.d.comb += [
                one.eq(Mux(first[bit], stage[place - (1 << bit)], stage[place])) for place, one in enumerate(turned)
            ]
            stage = [*turned]
        return stage

    def _rotated(self, m: Module, values: Sequence[Value], bit: int, turns: Value) -> list[Value]:
        """Rotate by ``1 << bit`` places, if ``turns``."""
        needed = min(self._banks, self._lanes + (1 << bit) - 1)
        stage: list[Value] = [Signal(8, name=f"rotated_{bit}_{place}") for place in range(needed)]
        for place, value in enumerate(stage):
            m.d.comb += value.eq(Mux(turns, values[(place + (1 << bit)) % self._banks], values[place]))
        return stage

    def _lines(self, m: Module, line: Value, name: str) -> tuple[Signal, Signal]:
        """The line of the first byte of a run, and the next line, which a run that wraps to bank 0 reaches."""
        first, following = Signal(len(line), name=f"{name}_line"), Signal(len(line), name=f"{name}_next")
        m.d.comb += [first.eq(line), following.eq(Mux(line == self._depth - 1, 0, line + 1))]
        return first, following

    def _line(self, bank: int, first: Value, line: Signal, following: Signal) -> Value:
        """The line in ``bank`` of a run that starts in bank ``first``."""
        return line if bank == self._banks - 1 else Mux(bank < first, following, line)
