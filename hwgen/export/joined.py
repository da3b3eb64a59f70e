# amaranth: UnusedElaboratable=no
"""Verilog modules that join others: instances, wires between them, ports for the rest; the AXI4-Lite front end."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from amaranth.hdl import Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hwgen.export.conversion import converted, kept
from hwgen.gateware.bus.axi_lite import AxiLiteBridge

__all__ = ["FrontEnd", "Instance", "Port", "joined", "outer_ports", "ports_of", "range_of"]


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


# --- the AXI4-Lite front end ---


@dataclass(frozen=True)
class FrontEnd:
    """The module ``BLOCK_axi_lite``: what the port ``cfg`` of a block reaches, and a bridge from AXI4-Lite to it.

    Members
    -------
    block : the block's name.
    parts : the instances that the bridge reaches.
    inside : the wires between all of them.
    """

    block: str
    parts: Sequence[Instance]
    inside: Collection[str]

    @classmethod
    def of(cls, block: str, ports: Sequence[Port]) -> Self:
        """The front end of a block that is one module of that name."""
        inside = {name for name, _, _ in ports if name.startswith("cfg__")}
        return cls(block, [Instance(block, block, ports)], inside)

    @property
    def module(self) -> str:
        """Its name."""
        return f"{self.block}_axi_lite"

    @property
    def ports(self) -> list[Port]:
        """Its ports, beside clock and reset."""
        return outer_ports(self._instances, self.inside)

    @property
    def verilog(self) -> str:
        """The text of its file, which has the bridge's module as well."""
        what = f"{self.block} with an AXI4-Lite port for its registers"
        heading = f"// {self.module}: {what}; generated, do not edit.\n"
        return heading + joined(self.module, self._instances, self.inside) + _bridge(self._bridge)

    @property
    def _bridge(self) -> str:
        return f"{self.module}_bridge"

    @property
    def _instances(self) -> list[Instance]:
        return [Instance(self._bridge, "bridge", ports_of(AxiLiteBridge())), *self.parts]


def _bridge(module: str) -> str:
    return kept(["bridge", module], lambda: converted(AxiLiteBridge(), module))
