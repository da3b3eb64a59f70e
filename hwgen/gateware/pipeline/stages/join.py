"""A join of several maps pixel by pixel: their sum, requantised, or their concatenation."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.pipeline import JoinStage, MapParameters, PipelineParameters
from hwgen.gateware.lib.requantise import Requantise, clip_ports, connected_clip
from hwgen.gateware.pipeline.collect import Collect
from hwgen.gateware.pipeline.stage import StageComponent

__all__ = ["Join"]


class Join(StageComponent):
    """Waits for a pixel of every operand. A sum takes ``lanes`` channels a cycle, a concatenation one cycle.

    Parameters
    ----------
    stage
        The join.
    channels
        Of each operand.
    made
        The map that it makes.

    Members
    -------
    shift, relu, ceiling : In
        Of a sum, as `Requantise` has them.
    i_pixel_{n} : In(stream)
    o_pixel : Out(stream)
    moved : Out(1)
        A step is done in this cycle.
    """

    builds = JoinStage

    @classmethod
    def of(cls, parameters: PipelineParameters, number: int) -> "Join":
        """The hardware of a pipeline's stage."""
        stage = parameters.stages[number]
        assert isinstance(stage, JoinStage)
        channels = tuple(parameters.maps[read].channels for read in stage.reads_of_all)
        return cls(stage=stage, channels=channels, made=parameters.maps[stage.makes])

    def __init__(self, *, stage: JoinStage, channels: tuple[int, ...], made: MapParameters) -> None:
        self._stage, self._channels, self._made = stage, channels, made
        super().__init__(
            {
                **({"shift": In(5), **clip_ports()} if stage.kind == "add" else {}),
                **{f"i_pixel_{n}": In(stream.Signature(8 * each)) for n, each in enumerate(channels)},
                "o_pixel": Out(stream.Signature(8 * made.channels)),
                "moved": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        stage = self._stage
        operands = [getattr(self, f"i_pixel_{n}") for n in range(len(self._channels))]
        lanes = stage.lanes if stage.kind == "add" else self._made.channels
        blocks = self._made.channels // lanes
        m.submodules.collect = collect = Collect(channels=self._made.channels, lanes=lanes, depth=self._made.queue)
        connect(m, flipped(self.o_pixel), collect.o_pixel)
        block, last, all_valid = Signal(range(max(blocks, 2))), Signal(), Signal()
        m.d.comb += [
            all_valid.eq(Cat(*(operand.valid for operand in operands)).all()),
            last.eq(block == blocks - 1),
            collect.write.eq(all_valid),
            self.moved.eq(all_valid & collect.go),
        ]
        for operand in operands:
            m.d.comb += operand.ready.eq(self.moved & last)
        with m.If(self.moved):
            m.d.sync += block.eq(Mux(last, 0, block + 1))
        if stage.kind == "concat":
            m.d.comb += collect.block.eq(Cat(*(operand.payload for operand in operands)))
            return m
        values = []
        for lane in range(lanes):
            m.submodules[f"requantise_{lane}"] = unit = Requantise()
            terms = (
                operand.payload.word_select(block, 8 * lanes).word_select(lane, 8).as_signed() for operand in operands
            )
            m.d.comb += [
                unit.enable.eq(all_valid),
                unit.sum.eq(sum(terms)),
                unit.shift.eq(self.shift),
                *connected_clip(unit, self),
            ]
            values.append(unit.value)
        m.d.comb += collect.block.eq(Cat(*values))
        return m
