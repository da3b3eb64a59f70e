"""The link from the pads of a serial line to the memory and the registers of a design."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.serial import DIVISOR_BITS
from hwgen.gateware.board.bridge import Bridge
from hwgen.gateware.board.uart import UartReceiver, UartTransmitter
from hwgen.gateware.bus.tcdm import TcdmSignature

__all__ = ["Link"]


class Link(wiring.Component):
    """A serial line with its `Bridge`.

    Parameters
    ----------
    digest, memory_bytes
        As `Bridge` has them.

    Members
    -------
    divisor : In
        Cycles of a bit of the line.
    rx : In(1)
        What the host sends.
    tx : Out(1)
        What it gets.
    memory, cfg : Out(TcdmSignature)
        As `Bridge` has them.
    busy : Out(1)
        A request is under way.
    """

    divisor: In(DIVISOR_BITS)
    rx: In(1)
    tx: Out(1, init=1)
    memory: Out(TcdmSignature())
    cfg: Out(TcdmSignature())
    busy: Out(1)

    def __init__(self, *, digest: int, memory_bytes: int) -> None:
        super().__init__()
        self._bridge = Bridge(digest=digest, memory_bytes=memory_bytes)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.bridge = bridge = self._bridge
        m.submodules.receiver = receiver = UartReceiver()
        m.submodules.transmitter = transmitter = UartTransmitter()
        m.d.comb += [
            receiver.divisor.eq(self.divisor),
            transmitter.divisor.eq(self.divisor),
            receiver.line.eq(self.rx),
            self.tx.eq(transmitter.line),
            bridge.broken.eq(receiver.broken),
            self.busy.eq(bridge.busy),
        ]
        connect(m, receiver.o_byte, bridge.i_byte)
        connect(m, bridge.o_byte, transmitter.i_byte)
        connect(m, bridge.memory, flipped(self.memory))
        connect(m, bridge.cfg, flipped(self.cfg))
        return m
