"""The streams of the stages: as ports, and between parts."""

from collections.abc import Mapping

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hwgen.arch.pipeline import PipelineParameters
from hwgen.arch.pipeline.maps import stream_ports

__all__ = ["connect_pixels", "connect_queue", "stream_members"]


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


def connect_pixels(m: Module, source: stream.Interface, target: stream.Interface) -> None:
    """Connect two streams of pixels, whichever way their ports are seen."""
    m.d.comb += [target.payload.eq(source.payload), target.valid.eq(source.valid), source.ready.eq(target.ready)]


def connect_queue(m: Module, source: stream.Interface, queue: SyncFIFO) -> stream.Interface:
    """Connect a queue after a stream. Returns its output."""
    output = stream.Signature(len(source.payload)).create()
    m.d.comb += [
        queue.w_data.eq(source.payload),
        queue.w_en.eq(source.valid),
        source.ready.eq(queue.w_rdy),
        output.payload.eq(queue.r_data),
        output.valid.eq(queue.r_rdy),
        queue.r_en.eq(output.ready),
    ]
    return output
