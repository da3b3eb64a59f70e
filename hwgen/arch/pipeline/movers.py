"""The movers of a pipeline: what carries its streams from and to a DRAM at one AXI4 port."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from hwgen.arch.bus import AXI_WIDTHS, ID_BITS, beat_bytes, burst_window
from hwgen.arch.dram import BLOCK_BYTES
from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.pipeline.maps import check_range, stream_ports

if TYPE_CHECKING:
    from hwgen.arch.pipeline.parameters import PipelineParameters

__all__ = ["MOST_MOVERS", "ORDERS_AHEAD", "Mover", "MoverParameters", "RunSettings", "id_bits", "movers_of"]

MOST_MOVERS = 16
"""Movers in each direction."""
ORDERS_AHEAD = 16
"""Lines of overlap whose turn at the overlap port the movers know ahead."""


@dataclass(frozen=True)
class MoverParameters:
    """Generation-time parameters of the movers; raises `ParameterError`.

    Parameters
    ----------
    axi_bits
        Width of the AXI port's data: 32, 64 or 128.
    burst_bytes
        Bursts end at multiples of it: a power of two, of two beats at least.
    bursts_ahead
        Bursts of ``burst_bytes`` that each mover has room for.
    outstanding
        Bursts of a mover that may be unanswered at a time.
    """

    axi_bits: int = 64
    burst_bytes: int = BLOCK_BYTES
    bursts_ahead: int = 4
    outstanding: int = 16

    def __post_init__(self) -> None:
        if self.axi_bits not in AXI_WIDTHS:
            raise ParameterError(f"axi_bits: expected 32, 64 or 128, got {self.axi_bits}")
        check_range("burst_bytes", self.burst_bytes, 2 * self.beat_bytes, burst_window(self.axi_bits))
        if self.burst_bytes & (self.burst_bytes - 1):
            raise ParameterError(f"burst_bytes: expected a power of two, got {self.burst_bytes}")
        check_range("bursts_ahead", self.bursts_ahead, 2, 64)
        check_range("outstanding", self.outstanding, 2, 64)

    @property
    def beat_bytes(self) -> int:
        """Bytes of an AXI beat."""
        return beat_bytes(self.axi_bits)

    @property
    def burst_beats(self) -> int:
        """Beats of the longest burst."""
        return self.burst_bytes // self.beat_bytes

    @property
    def queue(self) -> int:
        """Beats that a mover has room for."""
        return self.bursts_ahead * self.burst_beats


class RunSettings(NamedTuple):
    """The settings of equal runs of bytes, at equal distances: the prefix of their names, and which there are.

    Members
    -------
    name : prefix of the registers ``{name}_address``, ``{name}_bytes``, ``{name}_pitch`` and ``{name}_lines``.
    pitched : there is a distance from run to run, ``pitch``; else there is one run.
    counted : there is a number of runs, ``lines``; else there is one run.
    """

    name: str
    pitched: bool
    counted: bool


@dataclass(frozen=True)
class Mover:
    """What moves the bytes of one stream, densely: the pipeline's ``keep`` says how many bytes a beat has.

    Members
    -------
    stream : the port of the stages.
    reads : from the DRAM.
    beat : bytes of a beat of the stream, at most.
    number : among the movers of its direction.
    maps : of the overlap port: the maps with overlap, whose runs come in the order of ``order``; else none.
    order : the stream of map numbers.
    after : the writing mover whose lines have to be in the DRAM before this one reads the same lines; None: no such.
    follows : of the overlap port, for each map that the pipeline makes: the writing mover whose lines in the tile
        before have to be in the DRAM before this one reads the same lines.
    """

    stream: str
    reads: bool
    beat: int
    number: int
    maps: tuple[int, ...] = ()
    order: str | None = None
    after: str | None = None
    follows: Mapping[int, str] = field(default_factory=dict)

    @property
    def id(self) -> int:
        """The AXI ID of its bursts: even for reads, odd for writes."""
        return 2 * self.number + (not self.reads)

    @property
    def runs(self) -> tuple[RunSettings, ...]:
        """The settings of its runs."""
        if self.maps:
            return tuple(RunSettings(f"{self.stream}_map{number}", True, True) for number in self.maps)
        plain = self.stream == "i_weights" or self.stream.endswith("_order")
        return (RunSettings(self.stream, not plain, not plain),)


def movers_of(parameters: "PipelineParameters") -> tuple[Mover, ...]:
    """All movers of a pipeline: those that read, then those that write."""
    return tuple(_movers(parameters))


def id_bits(parameters: "PipelineParameters") -> int:
    """Width of the AXI port's IDs."""
    return max(max(mover.id for mover in movers_of(parameters)).bit_length(), ID_BITS)


def _movers(parameters: "PipelineParameters") -> Iterator[Mover]:
    numbers = {True: 0, False: 0}
    after = {
        f"i_skip{index}_{place}": f"o_map{parameters.operand(index, place).reads}"
        for index, place in parameters.skips()
        if not parameters.maps[parameters.operand(index, place).reads].source
    }
    for port in stream_ports(parameters):
        kind = {"i_overlap": "in", "o_overlap": "out"}.get(port.name)
        maps = tuple(n for n, one in enumerate(parameters.maps) if kind and getattr(one, f"overlap_{kind}"))
        order = f"i_overlap_{kind}_order" if kind else None
        follows = {n: _writer(parameters, n) for n in maps if kind == "in" and not parameters.maps[n].source}
        yield Mover(
            port.name, port.reads, port.bytes, numbers[port.reads], maps, order, after.get(port.name), follows
        )
        numbers[port.reads] += 1
        if numbers[port.reads] > MOST_MOVERS:
            raise ParameterError(f"movers: expected at most {MOST_MOVERS} streams in each direction")


def _writer(parameters: "PipelineParameters", number: int) -> str:
    """The mover that writes what later tiles read of a map again."""
    return f"o_map{number}" if parameters.maps[number].written else "o_overlap"
