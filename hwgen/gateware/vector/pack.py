"""Packing of outputs into words: bytes of a row that are in one word are written together."""

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BITS, WORD_BYTES
from hwgen.arch.registers.vector import vector_registers
from hwgen.gateware.bus.tcdm import Request
from hwgen.gateware.lib.register_bank import settings_signature
from hwgen.gateware.vector.arithmetic import OUTPUT

__all__ = ["VectorPack"]

LANE_BITS = (WORD_BYTES - 1).bit_length()


class VectorPack(wiring.Component):
    """Gathers the outputs of a row until a word is full or the row ends, then writes them.

    Parameters
    ----------
    address_bits
        Of a byte address in the TCDM.

    Members
    -------
    settings : In
    start : In(1)
    i_output : In(stream of OUTPUT)
    o_request : Out(stream of Request)
    finished : Out(1)
        The last output has been taken.
    """

    def __init__(self, address_bits: int) -> None:
        self._bits = address_bits
        super().__init__(
            {
                "settings": In(settings_signature(vector_registers(address_bits).held)),
                "start": In(1),
                "i_output": In(stream.Signature(OUTPUT)),
                "o_request": Out(stream.Signature(Request)),
                "finished": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        s, output = self.settings, self.i_output.payload
        at, row, plane = (Signal(self._bits, name=f"{name}_address") for name in ("at", "row", "plane"))
        kept, enabled, full = Signal(WORD_BITS), Signal(WORD_BYTES), Signal()
        lane = at[:LANE_BITS]
        merged, enable = Signal(WORD_BITS), Signal(WORD_BYTES)
        address = Cat(C(0, LANE_BITS), at[LANE_BITS:], C(0, WORD_BITS))[:WORD_BITS]
        m.d.comb += [
            full.eq((lane == WORD_BYTES - 1) | output.ends_row),
            self.o_request.valid.eq(self.i_output.valid & full),
            self.i_output.ready.eq(~full | self.o_request.ready),
            merged.eq(kept),
            merged.word_select(lane, 8).eq(output.value),
            enable.eq(enabled | (1 << lane)),
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
                at.eq(at + 1),
                self.finished.eq(output.ends),
            ]
            with m.If(output.ends_row):
                m.d.sync += [at.eq(next_row), row.eq(next_row)]
            with m.If(output.ends_plane):
                m.d.sync += [at.eq(next_plane), row.eq(next_plane), plane.eq(next_plane)]
        return m
