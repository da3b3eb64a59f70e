"""Packing of outputs into words: bytes of a row that are in one word are written together."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BITS, WORD_BYTES
from hwgen.arch.registers.vector import vector_registers
from hwgen.arch.vector.shape import NARROW, VectorShape
from hwgen.gateware.bus.tcdm import request_layout
from hwgen.gateware.lib.register_bank import settings_signature
from hwgen.gateware.vector.arithmetic import OUTPUT
from hwgen.gateware.vector.wide_arithmetic import wide_output

__all__ = ["VectorPack", "WidePack"]

LANE_BITS = (WORD_BYTES - 1).bit_length()
Word = tuple[Signal, Signal]
"""Its bytes, and which of them there are."""


class VectorPack(wiring.Component):
    """Gathers the outputs of a row until a word is full or the row ends, then writes them.

    Parameters
    ----------
    address_bits
        Of a byte address in the TCDM.
    shape
        How wide the unit is.

    Members
    -------
    settings : In
    start : In(1)
    i_output : In(stream of `output_layout`)
    o_request : Out(stream)
    finished : Out(1)
        The last output has been taken.
    """

    def __init__(self, address_bits: int, shape: VectorShape = NARROW) -> None:
        self._bits, self._shape = address_bits, shape
        super().__init__(
            {
                "settings": In(settings_signature(vector_registers(address_bits, shape).held)),
                "start": In(1),
                "i_output": In(stream.Signature(self.output_layout(shape))),
                "o_request": Out(stream.Signature(request_layout(8 * shape.word_bytes))),
                "finished": Out(1),
            }
        )

    @staticmethod
    def output_layout(shape: VectorShape) -> data.StructLayout:
        """What comes in a cycle."""
        return OUTPUT

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        s, output = self.settings, self.i_output.payload
        at, row, plane = (Signal(self._bits, name=f"{name}_address") for name in ("at", "row", "plane"))
        size = self._shape.word_bytes
        kept, enabled, full = Signal(8 * size), Signal(size), Signal()
        lane_bits = (size - 1).bit_length()
        merged, enable = Signal(8 * size), Signal(size)
        address = Cat(C(0, lane_bits), at[lane_bits:], C(0, WORD_BITS))[:WORD_BITS]
        fills, following, merging = self._merge(at, (kept, enabled), (merged, enable))
        m.d.comb += [
            full.eq(fills | output.ends_row),
            self.o_request.valid.eq(self.i_output.valid & full),
            self.i_output.ready.eq(~full | self.o_request.ready),
            *merging,
            # The whole payload, so that no part of it is a constant of its own.
            self.o_request.payload.eq(Cat(address, C(1, 1), enable, merged)),
        ]
        next_row, next_plane = row + s.output_pitch, plane + s.output_plane
        with m.If(self.start):
            m.d.sync += [*(one.eq(s.output_base) for one in (at, row, plane)), enabled.eq(0), self.finished.eq(0)]
        with m.Elif(self.i_output.valid & self.i_output.ready):
            m.d.sync += [
                enabled.eq(Mux(full, 0, enable)),
                kept.eq(merged),
                at.eq(following),
                self.finished.eq(output.ends),
            ]
            with m.If(output.ends_row):
                m.d.sync += [at.eq(next_row), row.eq(next_row)]
            with m.If(output.ends_plane):
                m.d.sync += [at.eq(next_plane), row.eq(next_plane), plane.eq(next_plane)]
        return m

    def _merge(self, at: Signal, kept: Word, merged: Word) -> tuple[Value, Value, list[Value]]:
        """Whether what comes fills the word, the address of what comes next, and what makes ``merged`` of both."""
        lane = at[:LANE_BITS]
        merging = [
            merged[0].eq(kept[0]),
            merged[0].word_select(lane, 8).eq(self.i_output.payload.value),
            merged[1].eq(kept[1] | (1 << lane)),
        ]
        return lane == WORD_BYTES - 1, at + 1, merging


class WidePack(VectorPack):
    """The same of outputs of which several come in a cycle: those of half a word, each at its place."""

    @staticmethod
    def output_layout(shape: VectorShape) -> data.StructLayout:
        """What comes in a cycle."""
        return wide_output(shape)

    def _merge(self, at: Signal, kept: Word, merged: Word) -> tuple[Value, Value, list[Value]]:
        output, number = self.i_output.payload, self._shape.outputs
        bits = (number - 1).bit_length()
        upper, ends_half, merging = at[bits], output.outputs[-1], []
        for place in range(self._shape.word_bytes):
            lane = place % number
            comes = output.outputs[lane] & (upper == place // number)
            value, before = output.bytes.word_select(lane, 8), kept[0].word_select(place, 8)
            merging += [
                merged[0].word_select(place, 8).eq(Mux(comes, value, before)),
                merged[1][place].eq(kept[1][place] | comes),
            ]
        return ends_half & upper, Cat(at[:bits], at[bits:] + ends_half), merging
