"""Run-time settings of a DMA."""

from amaranth.hdl import Module, Mux, Signal, Value, ValueLike
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import Out

from hwgen.arch.bus import ID_BITS
from hwgen.arch.dma import DmaParameters

__all__ = ["DmaSettings", "StreamId", "wrapped"]


class StreamId(enum.Enum, shape=ID_BITS):
    """AXI IDs of the three initiators."""

    LOAD = 0
    STORE = 1
    PROGRAM = 2


class DmaSettings(wiring.Signature):
    """Run-time settings, constant during transfers. Ends are exclusive.

    Members
    -------
    dram_base, dram_end : Out(32)
        The DRAM addresses that descriptors may access.
    tcdm_base, tcdm_end : Out
        The TCDM addresses that they may access; the rings are inside.
    ring_i_end, ring_i_size, ring_w_end, ring_w_size, ring_o_end, ring_o_size : Out
        Bytes, multiples of 4; a ring holds two lines (of an AXI beat's width) at least.
    """

    def __init__(self, parameters: DmaParameters) -> None:
        rings = [f"ring_{name}_{what}" for name in "iwo" for what in ("end", "size")]
        narrow = ("tcdm_base", "tcdm_end", *rings)
        super().__init__(
            {"dram_base": Out(32), "dram_end": Out(32)}
            | {name: Out(parameters.tcdm_address_bits + 1) for name in narrow}
        )


def wrapped(m: Module, address: ValueLike, end: Value, size: Value, name: str) -> Value:
    """The address wrapped into its ring: from ``end`` on, reduced by ``size``."""
    exact = Signal(len(Value.cast(address)), name=f"{name}_exact")
    m.d.comb += exact.eq(address)
    return Mux(exact >= end, exact - size, exact)[: len(end)]
