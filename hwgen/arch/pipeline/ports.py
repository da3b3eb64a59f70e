"""The streams of bytes to and from the stages of a pipeline."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hwgen.arch.pipeline.parameters import PipelineParameters

__all__ = ["StreamPort", "stream_ports"]


@dataclass(frozen=True)
class StreamPort:
    """A stream of a pipeline.

    Members
    -------
    name : as in the Verilog, without ``__payload`` and so on.
    reads : into the pipeline; else out of it.
    bytes : of a beat.
    keep : whether it has a port that marks the used bytes of a beat; else all bytes are used.
    apart : the port that marks beats to be counted apart; None: no such port.
    """

    name: str
    reads: bool
    bytes: int
    keep: bool = True
    apart: str | None = None


def stream_ports(parameters: "PipelineParameters") -> tuple[StreamPort, ...]:
    """All streams of a pipeline: first those that it reads, then those that it writes."""
    maps = parameters.maps
    reads = [StreamPort(f"i_map{number}", True, maps[number].beat) for number in parameters.sources]
    for index, place in parameters.skips():
        reads.append(StreamPort(f"i_skip{index}_{place}", True, parameters.operand(index, place).beat))
    if parameters.loads_weights:
        reads.append(StreamPort("i_weights", True, parameters.weight_beat, apart="weights_bias"))
    writes = [StreamPort(f"o_map{number}", False, maps[number].beat) for number in parameters.written]
    if any(one.overlap_in for one in maps):
        reads.append(StreamPort("i_overlap", True, parameters.overlap_beat))
        reads.append(StreamPort("i_overlap_in_order", True, 1, keep=False))
    if any(one.overlap_out for one in maps):
        reads.append(StreamPort("i_overlap_out_order", True, 1, keep=False))
        writes.append(StreamPort("o_overlap", False, parameters.overlap_beat))
    return (*reads, *writes)
