"""The streams of the stages as ports."""

from collections.abc import Mapping

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.pipeline import PipelineParameters
from hwgen.arch.pipeline.ports import stream_ports

__all__ = ["stream_members"]


def stream_members(parameters: PipelineParameters) -> Mapping[str, wiring.Member]:
    """The streams of the stages, and what goes with them."""
    found: dict[str, wiring.Member] = {}
    for port in stream_ports(parameters):
        beats = stream.Signature(8 * port.bytes)
        found[port.name] = In(beats) if port.reads else Out(beats)
        if port.keep:
            found[f"{port.name}_keep"] = Out(port.bytes)
        if port.apart is not None:
            found[port.apart] = Out(1)
    return found
