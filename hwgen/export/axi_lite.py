# amaranth: UnusedElaboratable=no
"""The AXI4-Lite front end of a block: a second top module, in a file of its own beside the block's Verilog."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from hwgen.export.conversion import converted
from hwgen.export.joined import Instance, Port, joined, outer_ports, ports_of
from hwgen.gateware.bus.axi_lite import AxiLiteBridge

__all__ = ["FrontEnd"]


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


@lru_cache(maxsize=4)
def _bridge(module: str) -> str:
    return converted(AxiLiteBridge(), module)
