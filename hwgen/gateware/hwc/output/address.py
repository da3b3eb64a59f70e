"""Where the rows of the output begin in the shared memory."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.latency import ROW_ADDRESS
from hwgen.arch.registers.hwc import address_bits
from hwgen.gateware.hwc.settings import FACTOR_BITS, settings_signature

__all__ = ["RowAddress"]


class RowAddress(wiring.Component):
    """The address of a row of one channel, by one multiplier: the channel's product first, then the row's.

    What is multiplied, and the product, stand in registers.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    moves : In(1)
        ``channel`` is that of another row, and ``row`` from the next cycle on; it takes `ROW_ADDRESS` from here.
    partial : In(1)
        The address is wanted among the partial sums. It stands for `ROW_ADDRESS` cycles.
    channel, row : In
    address : Out
        Byte address of the row's first element.
    will_be_placed : Out(1)
        It will be right in the next cycle.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        bits = parameters.position_bits
        super().__init__(
            {
                "settings": In(settings_signature(parameters)),
                "moves": In(1),
                "partial": In(1),
                "channel": In(bits),
                "row": In(bits),
                "address": Out(address_bits(parameters)),
                "will_be_placed": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        settings, partial = self.settings, self.partial
        step = Signal(ROW_ADDRESS - 1)
        plane = Mux(partial, settings.partial_plane, settings.output_plane)
        # Of a product the part by the lower bits, and the one by those above.
        factor, product, above = Signal.like(self.row), Signal(32), Signal(32 - FACTOR_BITS)
        pitch = Signal(max(len(plane), len(settings.partial_pitch), len(settings.output_pitch)))
        m.d.sync += [
            step.eq(Mux(self.moves, 1, Cat(0, step[:-1]))),
            factor.eq(Mux(self.moves, self.channel, self.row)),
            pitch.eq(Mux(self.moves, plane, Mux(partial, settings.partial_pitch, settings.output_pitch))),
            product.eq(factor * pitch[:FACTOR_BITS]),
            above.eq(factor * pitch[FACTOR_BITS:]),
        ]
        base = Mux(partial, settings.partial_base, settings.output_base)
        with m.If(step[-2:].any()):
            so_far = Mux(step[-2], base, self.address)
            m.d.sync += self.address.eq(so_far + product + (above << FACTOR_BITS))
        placed = Signal()
        m.d.comb += self.will_be_placed.eq((placed | step[-1]) & ~self.moves)
        m.d.sync += placed.eq(self.will_be_placed)
        return m
