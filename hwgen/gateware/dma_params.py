"""What a DMA is generated for, its settings at run time, and why it stops."""

from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal, Value, ValueLike
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import Out

from hwgen.gateware.params import WORD_BYTES, ParameterError

__all__ = ["DmaError", "DmaParameters", "DmaSettings", "StreamId", "wrapped"]

SCATTERED_BYTES = 2
"""Bytes of a scattered run that are written in one cycle, at most: a port each."""


class DmaError(enum.Enum, shape=8):
    """Why a channel of the DMA stopped; the address that goes with it is a descriptor's, a beat's or an access'."""

    NONE = 0
    DESCRIPTOR = 48
    DRAM_WINDOW = 49
    TCDM_WINDOW = 50
    AXI_SLAVE = 51
    AXI_DECODE = 52
    TCDM_BUS = 53


class StreamId(enum.Enum, shape=2):
    """AXI IDs: whose bursts they are."""

    LOAD = 0
    STORE = 1
    PROGRAM = 2


@dataclass(frozen=True)
class DmaParameters:
    """Generation-time parameters of a DMA.

    Parameters
    ----------
    axi_bits
        Width of the AXI port's data: 32, 64 or 128. There is a TCDM port for each 32 bits, per channel.
    tcdm_address_bits
        Width of a TCDM byte address.
    outstanding
        Bursts of a channel that may be unanswered at a time.
    beats_ahead
        The load channel asks for no further burst while so many beats are still to come: what another ID asks for in
        between does not wait for longer than these and one burst more.
    """

    axi_bits: int = 64
    tcdm_address_bits: int = 20
    outstanding: int = 16
    beats_ahead: int = 128

    def __post_init__(self) -> None:
        if self.axi_bits not in (32, 64, 128):
            raise ParameterError(f"axi_bits: expected 32, 64 or 128, got {self.axi_bits}")
        if not 10 <= self.tcdm_address_bits <= 31:
            raise ParameterError(f"tcdm_address_bits: expected 10 to 31, got {self.tcdm_address_bits}")
        if not 2 <= self.outstanding <= 64:
            raise ParameterError(f"outstanding: expected 2 to 64, got {self.outstanding}")
        if not 1 <= self.beats_ahead <= 4096:
            raise ParameterError(f"beats_ahead: expected 1 to 4096, got {self.beats_ahead}")

    @property
    def beat_bytes(self) -> int:
        """Bytes of an AXI beat."""
        return self.axi_bits // 8

    @property
    def ports(self) -> int:
        """TCDM ports of one channel."""
        return self.beat_bytes // WORD_BYTES

    @property
    def scattered_bytes(self) -> int:
        """Bytes of a scattered run that are written in one cycle, at most."""
        return min(self.ports, SCATTERED_BYTES)


class DmaSettings(wiring.Signature):
    """Run-time settings, constant while anything is moved; ends are the first address behind.

    Members
    -------
    dram_base, dram_end : Out(32)
        What descriptors may touch in DRAM.
    tcdm_base, tcdm_end : Out
        What they may touch in the TCDM; the rings lie inside.
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
    """The address, or ``size`` less from ``end`` on."""
    exact = Signal(len(Value.cast(address)), name=f"{name}_exact")
    m.d.comb += exact.eq(address)
    return Mux(exact >= end, exact - size, exact)[: len(end)]
