"""The check of derived settings against each other, while a layer starts."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.hwc import HwcParameters
from hwgen.gateware.hwc.settings import settings_signature

__all__ = ["SettingChecks"]


class SettingChecks(wiring.Component):
    """Finds settings that contradict each other or the HWC, which would give wrong outputs.

    The phases of a line are in order and inside the line, a line is inside a slab, a phase is below the stride, and
    all slabs together are inside the memory. Addresses of words wider than 32 bits are multiples of them. The columns
    of the kernel that are one iteration are those of the window. The product for the slabs takes a cycle for each bit
    of their number.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    start : In(1)
    contradicts : Out(1)
        From some cycles after the start on; of the layer before until then.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        super().__init__({"settings": In(settings_signature(parameters)), "start": In(1), "contradicts": Out(1)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, settings = self.parameters, self.settings
        inside = [*(getattr(settings, f"input_phase_{phase}") for phase in (1, 2, 3)), settings.input_line]
        wrong: list[Value] = [
            low > high for low, high in zip(inside, [*inside[1:], settings.input_slab], strict=True)
        ]
        phases = (getattr(settings, f"input_phase_step_{j}") for j in p.inside(p.input_marker, "l"))
        wrong += [phase >= settings.stride_x for phase in phases]
        wrong += [getattr(settings, name)[: (word - 1).bit_length()].any() for name, word in p.word_addresses.items()]
        if p.column_window:
            of_columns = {dim: f"step_{j}_{dim}" for j, dim in enumerate(p.loops)}.get("l", "extent_l")
            wrong.append(getattr(settings, of_columns) > settings.window)
        slabs, slab, memory = settings.input_slabs, settings.input_slab, p.input_elements
        # Bits of the number of slabs that are still to come, from the highest one on, and a one after the last.
        rest, exceeds = Signal(len(slabs) + 1), Signal()
        product, following = Signal(range(memory + 1)), Signal(range(3 * memory + 1))
        m.d.comb += following.eq((product << 1) + Mux(rest[-1], slab, 0))
        with m.If(self.start):
            m.d.sync += [rest.eq(Cat(1, slabs)), product.eq(0), exceeds.eq(0)]
        with m.Elif((rest[:-1] != 0) & ~exceeds):
            m.d.sync += [rest.eq(rest << 1), product.eq(following), exceeds.eq(following > memory)]
        m.d.sync += self.contradicts.eq((exceeds | Cat(wrong).any()) & ~self.start)
        return m
