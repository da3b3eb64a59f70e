# amaranth: UnusedElaboratable=no
"""The AXI4-Lite front end of a block: a second top module, in a file of its own beside the block's Verilog."""

from functools import lru_cache

from hwgen.export.conversion import converted
from hwgen.export.joined import Instance, Port, joined, ports_of
from hwgen.gateware.bus.axi_lite import AxiLiteBridge

__all__ = ["axi_lite_top", "bridge_instance", "front_end_name", "with_axi_lite"]

CFG = "cfg__"


def front_end_name(block: str) -> str:
    """The module that has the block's ports, with AXI4-Lite in the place of its configuration port."""
    return f"{block}_axi_lite"


def bridge_instance(block: str) -> Instance:
    """The bridge in front of a block's configuration port."""
    return Instance(f"{front_end_name(block)}_bridge", "bridge", ports_of(AxiLiteBridge()))


def axi_lite_top(block: str, top: str) -> str:
    """The text of the file: the bridge's module and that of the top.

    ``top`` : the module `front_end_name` of the block, with an instance of `bridge_instance`.
    """
    heading = (
        f"// {front_end_name(block)}: {block} with an AXI4-Lite port for its registers; generated, do not edit.\n"
    )
    return heading + top + _bridge(bridge_instance(block).module)


def with_axi_lite(block: str, ports: list[Port]) -> str:
    """The front end of a block that is one module with a port ``cfg``."""
    inside = {name for name, _, _ in ports if name.startswith(CFG)}
    return axi_lite_top(
        block, joined(front_end_name(block), [bridge_instance(block), Instance(block, block, ports)], inside)
    )


@lru_cache(maxsize=4)
def _bridge(module: str) -> str:
    return converted(AxiLiteBridge(), module)
