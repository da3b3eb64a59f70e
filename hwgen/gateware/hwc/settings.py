"""The settings of an HWC as ports, and what blocks compute from them."""

from amaranth.hdl import Mux, Value
from amaranth.lib import wiring

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.registers.hwc import ADDRESS_BITS, hwc_registers
from hwgen.gateware.lib import register_bank

__all__ = ["in_bytes", "in_ring", "output_capacity", "settings_signature"]


def in_ring(settings: wiring.PureInterface, port: str, address: Value) -> Value:
    """The address of an access to a ring buffer: from the ring's end on it wraps, at most once."""
    end, size = getattr(settings, f"ring_{port}_end"), getattr(settings, f"ring_{port}_size")
    return Mux(address < end, address, address - size)[:ADDRESS_BITS]


def in_bytes(parameters: HwcParameters, settings: wiring.PureInterface, elements: Value) -> Value:
    """A number of elements in bytes: 2 each where operands have 16 bits, else 1."""
    return Mux(settings.wide, elements << 1, elements) if parameters.wide else elements


def output_capacity(parameters: HwcParameters, settings: wiring.PureInterface) -> Value | int:
    """Vectors that the output memory holds: a vector takes a line, or half of one with 16-bit operands."""
    depth = parameters.output_depth
    return Mux(settings.wide, 2 * depth, depth) if parameters.wide else depth


def settings_signature(parameters: HwcParameters) -> wiring.Signature:
    """The settings as ports, one each, seen from the register bank."""
    return register_bank.settings_signature(hwc_registers(parameters).held)
