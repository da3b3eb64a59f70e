"""A memory of byte-wide banks: reads a run of consecutive bytes and writes the bytes of a word in each cycle."""

from collections.abc import Sequence

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.parameter_error import ParameterError

__all__ = ["BankWrites", "ByteMemory", "bank_layout"]


class BankWrites(wiring.Component):
    """Brings the bytes of a word to the banks of a `ByteMemory`, or of several that are written alike.

    Parameters
    ----------
    depth, banks
        Of the memory.
    writes
        Bytes of a word: at most ``banks``.
    aligned
        Words begin at multiples of ``writes``.

    Members
    -------
    address : In
        First byte; where ``enable[i]`` is set, byte ``address + i``, modulo the memory, becomes ``data[i]``.
    enable : In(writes)
    data : In
    o_banks : Out(bank_layout)
        What each bank is to write.
    """

    def __init__(self, *, depth: int, banks: int, writes: int = WORD_BYTES, aligned: bool = False) -> None:
        self._depth, self._banks, self._writes, self._aligned = depth, banks, writes, aligned
        super().__init__(
            {
                "address": In((depth * banks - 1).bit_length() + 1),
                "enable": In(writes),
                "data": In(data.ArrayLayout(8, writes)),
                "o_banks": Out(bank_layout(depth, banks)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        select = (self._banks - 1).bit_length()
        first, (line, following) = self.address[:select], _lines(m, self.address[select:], self._depth)
        turned = self._turned(m, first) if self._writes > WORD_BYTES and not self._aligned else None
        for bank, write in enumerate(self.o_banks):
            offset = Signal(select, name=f"offset_{bank}")
            m.d.comb += offset.eq(bank - first)
            # Most cycles write nothing, and a simulator skips this branch.
            with m.If(self.enable.any()):
                m.d.comb += write.line.eq(_line(bank, self._banks, first, line, following))
                if turned is not None:
                    m.d.comb += Cat(write.data, write.enable).eq(turned[bank])
                    continue
                with m.Switch(offset):
                    for i in [bank % self._writes] if self._aligned else range(self._writes):
                        with m.Case(i):
                            m.d.comb += [write.enable.eq(self.enable[i]), write.data.eq(self.data[i])]
        return m

    def _turned(self, m: Module, first: Value) -> list[Value]:
        """What each bank gets if the first byte goes to bank ``first``: a byte and its enable."""
        given = [Cat(self.data[i], self.enable[i]) for i in range(self._writes)]
        stage: list[Value] = [*given, *(C(0, 9) for _ in range(self._banks - self._writes))]
        for bit in range(len(first)):
            turned = [Signal(9, name=f"turned_{bit}_{place}") for place in range(self._banks)]
            m.d.comb += [
                one.eq(Mux(first[bit], stage[place - (1 << bit)], stage[place])) for place, one in enumerate(turned)
            ]
            stage = [*turned]
        return stage


class ByteMemory(wiring.Component):
    """``depth`` lines of ``banks`` bytes: byte e is in bank ``e % banks``, line ``e // banks``.

    A run wraps at the end of the memory. An address may be negative, down to one line before the first byte: bytes at
    negative addresses are undefined, the others are read as usual.

    Parameters
    ----------
    depth
        Lines, at least 2.
    banks
        A power of two.
    lanes
        Consecutive bytes that are read in one cycle: at most ``banks``.
    block_ram
        The banks read synchronously, as block RAM does. The bytes are rotated after them, in the cycle in which they
        are used: the answers are the same in every cycle, and there is less time for the reader.
    rotates_late
        So are they without block RAM, where the reader has the time.
    fills
        What is read may be replaced, before it is in the register; only of a single byte that is rotated before.
    gated
        It is read where it is told; else in every cycle.

    Members
    -------
    read_address : In
        First byte; ``read_data[i]`` is byte ``read_address + i`` in the next cycle.
    read_data : Out
    i_banks : In(bank_layout)
        From `BankWrites`: what each bank is to write.
    chosen : In(1)
        It does, unless this is clear.
    inside : In(1), outside : In(8)
        Where the first one is clear with the address, the second one is read. Only if it ``fills``.
    reads : In(1)
        Set with an address; where it is clear, ``read_data`` stays. Only if it is ``gated``.
    """

    def __init__(
        self,
        *,
        depth: int,
        banks: int,
        lanes: int,
        block_ram: bool = False,
        rotates_late: bool = False,
        fills: bool = False,
        gated: bool = False,
    ) -> None:
        if fills and (block_ram or rotates_late or lanes > 1):
            raise ParameterError("fills: expected one byte, which is in a register when it is read")
        self._depth, self._banks, self._lanes = depth, banks, lanes
        self._block_ram, self._rotates_late, self._fills, self._gated = block_ram, rotates_late, fills, gated
        super().__init__(
            {
                "read_address": In((depth * banks - 1).bit_length() + 1),
                "read_data": Out(data.ArrayLayout(8, lanes)),
                "i_banks": In(bank_layout(depth, banks)),
                "chosen": In(1, init=1),
                **({"inside": In(1, init=1), "outside": In(8)} if fills else {}),
                **({"reads": In(1)} if gated else {}),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        select = (self._banks - 1).bit_length()
        read_bank, (line, following) = (
            self.read_address[:select],
            _lines(m, self.read_address[select:], self._depth),
        )
        banks: list[Value] = []
        for bank in range(self._banks):
            m.submodules[f"bank_{bank}"] = memory = Memory(shape=8, depth=self._depth, init=[])
            read, write = memory.read_port(domain="sync" if self._block_ram else "comb"), memory.write_port()
            banks.append(read.data)
            if self._gated and self._block_ram:
                m.d.comb += read.en.eq(self.reads)
            m.d.comb += [
                # Of one byte only its own bank's answer is taken.
                read.addr.eq(line if self._lanes == 1 else _line(bank, self._banks, read_bank, line, following)),
                write.addr.eq(self.i_banks[bank].line),
                write.data.eq(self.i_banks[bank].data),
                write.en.eq(self.i_banks[bank].enable & self.chosen),
            ]
        # A barrel shifter, one stage for each bit of the bank number; the last stages compute only the bytes that are
        # read. The last stage is after the register, but for a single byte; the rest of that cycle is the reader's.
        late = self._block_ram or self._rotates_late
        rotated, after = banks, select if late else int(self._lanes > 1)
        for bit in reversed(range(after, select)):
            rotated = self._rotated(m, rotated, bit, read_bank[bit])
        if self._fills:
            rotated = [Mux(self.inside, rotated[0], self.outside)]
        if not self._block_ram:
            kept = min(self._banks, self._lanes + (1 << after) - 1)
            held = [Signal(8, name=f"held_{place}", reset_less=True) for place in range(kept)]
            self._keep(m, list(zip(held, rotated, strict=True)))
            rotated = [*held]
        for bit in reversed(range(after)):
            turns = Signal(name=f"turns_{bit}")
            self._keep(m, [(turns, read_bank[bit])])
            rotated = self._rotated(m, rotated, bit, turns)
        m.d.comb += self.read_data.eq(Cat(*rotated[: self._lanes]))
        return m

    def _keep(self, m: Module, values: Sequence[tuple[Signal, Value]]) -> None:
        """Registers take values as they are read."""
        taken = [register.eq(value) for register, value in values]
        if not self._gated:
            m.d.sync += taken
            return
        with m.If(self.reads):
            m.d.sync += taken

    def _rotated(self, m: Module, values: Sequence[Value], bit: int, turns: Value) -> list[Value]:
        """Rotate by ``1 << bit`` places, if ``turns``."""
        needed = min(self._banks, self._lanes + (1 << bit) - 1)
        stage: list[Value] = [Signal(8, name=f"rotated_{bit}_{place}") for place in range(needed)]
        for place, value in enumerate(stage):
            m.d.comb += value.eq(Mux(turns, values[(place + (1 << bit)) % self._banks], values[place]))
        return stage


def bank_layout(depth: int, banks: int) -> data.ArrayLayout:
    """What a bank of a `ByteMemory` is told, for all banks: whether it writes, a byte, and to which line."""
    return data.ArrayLayout(data.StructLayout({"data": 8, "enable": 1, "line": (depth - 1).bit_length()}), banks)


def _lines(m: Module, line: Value, depth: int) -> tuple[Signal, Signal]:
    """The line of the first byte of a run, and the next line, which a run that wraps to bank 0 reaches."""
    first, following = Signal(len(line), name="line"), Signal(len(line), name="next_line")
    m.d.comb += [first.eq(line), following.eq(Mux(line == depth - 1, 0, line + 1))]
    return first, following


def _line(bank: int, banks: int, first: Value, line: Signal, following: Signal) -> Value:
    """The line in ``bank`` of a run that starts in bank ``first``."""
    return line if bank == banks - 1 else Mux(bank < first, following, line)
