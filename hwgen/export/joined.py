"""A Verilog module that joins others: instances, the wires between them, and its own ports for the rest."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from amaranth.hdl import Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import In

__all__ = ["Instance", "Port", "joined", "outer_ports", "ports_of", "range_of"]

Port = tuple[str, bool, int]
"""Name, whether it is an input, and width."""


def ports_of(component: wiring.Component) -> list[Port]:
    """The ports of a component, as Amaranth names them, beside its clock and reset."""
    return list(_ports(component))


def _ports(component: wiring.Component) -> Iterator[Port]:
    for path, member, _ in component.signature.flatten(component):
        yield "__".join(map(str, path)), member.flow is In, Shape.cast(member.shape).width


@dataclass(frozen=True)
class Instance:
    """One module in the module that joins.

    Members
    -------
    module, name : of the module, and of its instance.
    ports : what it has beside clock and reset.
    wires : of ports that are connected to a wire of another name: that name.
    clocked : it has a clock and a reset.
    parameters : of the module.
    """

    module: str
    name: str
    ports: Sequence[Port]
    wires: Mapping[str, str] = field(default_factory=dict)
    clocked: bool = True
    parameters: Mapping[str, int] = field(default_factory=dict)

    def connected(self) -> Iterator[Port]:
        """The wires at its ports, with the direction and the width of the port."""
        for port, is_input, width in self.ports:
            yield self.wires.get(port, port), is_input, width

    def lines(self) -> list[str]:
        """The instance in Verilog."""
        every = {"clk": "clk", "rst": "rst"} if self.clocked else {}
        every |= {port: self.wires.get(port, port) for port, _, _ in self.ports}
        connected = ",\n".join(f"    .{port}({wire})" for port, wire in every.items())
        values = ", ".join(f".{name}({value})" for name, value in self.parameters.items())
        module = f"{self.module} #({values})" if values else self.module
        return [f"  {module} {self.name} (", connected, "  );"]


def outer_ports(instances: Sequence[Instance], inside: Collection[str]) -> list[Port]:
    """What of the wires does not stay inside: the ports of the module that joins, beside its clock and reset."""
    ports = {wire: (wire, is_input, width) for one in instances for wire, is_input, width in one.connected()}
    return [port for wire, port in ports.items() if wire not in inside]


def joined(module: str, instances: Sequence[Instance], inside: Collection[str]) -> str:
    """The module in Verilog; ``inside`` are the wires that are no ports of it."""
    outer = outer_ports(instances, inside)
    widths = {wire: width for one in instances for wire, _, width in one.connected()}
    lines = [f"module {module}({', '.join(['clk', 'rst', *(name for name, _, _ in outer)])});", "  input clk;"]
    lines += ["  input rst;"]
    lines += [f"  {'input' if is_input else 'output'} {range_of(width)}{name};" for name, is_input, width in outer]
    lines += [f"  wire {range_of(width)}{name};" for name, width in widths.items()]
    lines += [line for one in instances for line in one.lines()]
    return "\n".join([*lines, "endmodule", "", ""])


def range_of(width: int) -> str:
    """The range of a declaration of ``width`` bits."""
    return f"[{width - 1}:0] " if width > 1 else ""
