# amaranth: UnusedElaboratable=no
"""The ports of the generated tops, from the signatures of their components, which are made for that alone."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In

from hwgen.export.cluster import cluster_ports
from hwgen.gateware.bus.apb import ApbBridge, ApbSignature
from hwgen.gateware.bus.axi import AxiSignature
from hwgen.gateware.bus.tcdm import TcdmSignature
from hwgen.gateware.cluster.cluster import ClusterCore
from hwgen.gateware.dma.dma import Dma
from hwgen.gateware.hwc.hwc import Hwc
from hwgen.gateware.pipeline.pipeline import Pipeline
from manual.designs import cluster, hwc, pipeline
from manual.members import members_of

__all__ = ["CLOCK", "RESET", "TOPS", "Interface", "Port", "Top", "interfaces_of", "signature_of", "top"]

CLOCK = "clk"
RESET = "rst"


@dataclass(frozen=True)
class Port:
    """One port of a module: its name in the Verilog, direction and width in bits."""

    name: str
    is_input: bool
    width: int

    @property
    def direction(self) -> str:
        """As Verilog names it."""
        return "input" if self.is_input else "output"


@dataclass(frozen=True)
class Interface:
    """Ports that belong together: a bus, a stream, or one signal."""

    name: str
    protocol: str
    meaning: str
    ports: tuple[Port, ...]


@dataclass(frozen=True)
class Top:
    """A generated module: its interfaces beside clock and reset."""

    name: str
    interfaces: tuple[Interface, ...]

    @property
    def ports(self) -> tuple[Port, ...]:
        """All of them, clock and reset first, in the order of the Verilog's header."""
        every = [port for interface in self.interfaces for port in interface.ports]
        return (Port(CLOCK, True, 1), Port(RESET, True, 1), *every)


TOPS = ("hwc", "cluster", "pipeline", "dma")
"""The modules that the manual describes; the DMA is inside the cluster."""


@cache
def top(name: str) -> Top:
    """One of `TOPS`."""
    match name:
        case "hwc":
            return Top(name, tuple(interfaces_of(Hwc(hwc()))))
        case "pipeline":
            return Top(name, tuple(interfaces_of(Pipeline(pipeline()))))
        case "dma":
            return Top(name, tuple(interfaces_of(Dma(cluster().dma))))
    core, apb = ClusterCore(cluster()), ApbBridge()
    outer = {name for name, _, _ in cluster_ports(core, apb)}
    parts = (*interfaces_of(apb), *interfaces_of(core))
    return Top(name, tuple(one for one in parts if one.ports[0].name in outer))


def signature_of(component: Callable[[Any], wiring.Component], parameters: object) -> wiring.Signature:
    """The ports of a component that is made with these parameters."""
    return component(parameters).signature


def interfaces_of(component: wiring.Component) -> Iterator[Interface]:
    """Its interfaces in order, each with what the component's documentation says about it."""
    for name, member in component.signature.members.items():
        ports = tuple(
            Port("__".join(map(str, path)), one.flow is In, Shape.cast(one.shape).width)
            for path, one, _ in component.signature.flatten(component)
            if path[0] == name
        )
        yield Interface(name, _protocol(name, member), _meaning(component, name), ports)


def _protocol(name: str, member: Any) -> str:
    if member.is_port:
        return (
            "interrupt"
            if name == "irq"
            else f"with `{name[: -len('_keep')]}`"
            if name.endswith("_keep")
            else "signal"
        )
    match member.signature:
        case TcdmSignature():
            return "TCDM"
        case ApbSignature():
            return "APB4"
        case AxiSignature():
            return "AXI4"
        case stream.Signature():
            return "stream"
    return "signals"


def _meaning(component: wiring.Component, name: str) -> str:
    """What the section *Members* of the class says about a member; nothing if it says no more than its type."""
    members = members_of(type(component).__doc__)
    return next((one.meaning for one in members if one.covers(name)), "")
