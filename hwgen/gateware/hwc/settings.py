"""The settings of an HWC as ports, and what blocks compute from them."""

from collections.abc import Collection, Sequence

from amaranth.hdl import Const, Module, Mux, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.registers.hwc import ADDRESS_BITS, same_outside, setting_widths
from hwgen.gateware.hwc.widths import covered_bits
from hwgen.gateware.lib.nest import LoopNest

__all__ = ["FACTOR_BITS", "bytes_in_ring", "in_bytes", "in_ring", "nest_of", "output_capacity", "settings_signature"]

FACTOR_BITS = 18
"""A product of wider operands is added up from several multipliers, which takes longer than a cycle has."""


def nest_of(
    m: Module,
    parameters: HwcParameters,
    settings: wiring.PureInterface,
    order: Sequence[int],
    sized: Collection[str] = (),
    *,
    of_columns: bool = False,
) -> tuple[LoopNest, dict[str, Value]]:
    """A nest of some loops, by their indices, that counts as the settings say; and what an iteration of its innermost
    loops covers of some dimensions, or the extent where there is no loop over one.

    ``of_columns`` : the innermost loop of all goes over the columns that pass through a window, where there is one.
    """
    loops = [parameters.loops[j] for j in order]
    innermost = {dim: at for at, dim in enumerate(loops)}
    sizes = {innermost[dim]: covered_bits(parameters, order, dim) for dim in sized if dim in innermost}
    columns = len(parameters.loops) - 1 if of_columns and parameters.column_window else None
    repeats = [_repeats(parameters, settings, j, "columns" if j == columns else f"repeats_{j}") for j in order]
    bits = [max(len(one) for one in entries) for entries in repeats]
    nest = LoopNest(loops=loops, bits=bits, sized=sizes)
    for at, j in enumerate(order):
        m.d.comb += [to.eq(value) for to, value in zip(nest.repeats(at), repeats[at], strict=True)]
        if at in sizes:
            m.d.comb += getattr(nest, f"step_{at}").eq(getattr(settings, f"step_{j}_{loops[at]}"))
            m.d.comb += [
                rest.eq(getattr(settings, f"rest_{j}_{i}")) for i, rest in enumerate(getattr(nest, f"rest_{at}"))
            ]
    covered = {
        dim: getattr(nest, f"size_{innermost[dim]}") if dim in innermost else getattr(settings, f"extent_{dim}")
        for dim in sized
    }
    return nest, covered


def _repeats(parameters: HwcParameters, settings: wiring.PureInterface, index: int, called: str) -> list[Value]:
    """The entries of a loop's count, each as wide as it may get."""
    constants = dict(parameters.constants)
    names = (f"{called}_{i}" for i in range(len(same_outside(parameters.loops, index)) + 1))
    return [Const(constants[name]) if name in constants else getattr(settings, name) for name in names]


def in_ring(settings: wiring.PureInterface, port: str, address: Value) -> Value:
    """The address of an access to a ring buffer: from the ring's end on it wraps, at most once."""
    end, size = getattr(settings, f"ring_{port}_end"), getattr(settings, f"ring_{port}_size")
    return Mux(address < end, address, address - size)[:ADDRESS_BITS]


def in_bytes(parameters: HwcParameters, settings: wiring.PureInterface, elements: Value) -> Value:
    """A number of elements in bytes: 2 each where operands have 16 bits, else 1."""
    return Mux(settings.wide, elements << 1, elements) if parameters.wide else elements


def bytes_in_ring(parameters: HwcParameters, settings: wiring.PureInterface, elements: Value) -> Value:
    """The same in the input's memory of a lane along c, of which 16-bit operands take two."""
    return elements if parameters.byte_planes else in_bytes(parameters, settings, elements)


def output_capacity(parameters: HwcParameters, settings: wiring.PureInterface) -> Value | int:
    """Vectors that the output memory holds: a vector takes a line, or half of one with 16-bit operands."""
    depth = parameters.output_depth
    return Mux(settings.wide, 2 * depth, depth) if parameters.wide_halves else depth


def settings_signature(parameters: HwcParameters) -> wiring.Signature:
    """The settings as ports, one each, seen from the register bank."""
    return wiring.Signature({name: Out(width) for name, width in setting_widths(parameters).items()})
