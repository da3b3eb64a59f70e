"""A join of several maps pixel by pixel: their sum, requantised, or their concatenation."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, connect, flipped

from hwgen.arch.pipeline import JoinStage
from hwgen.arch.requantisation import CHANNEL_SHIFT_BITS, MULTIPLIER_BITS
from hwgen.gateware.lib.requantise import Requantise, clip_ports, connected_clip
from hwgen.gateware.lib.rounding import RoundingShift, beyond
from hwgen.gateware.lib.scaling import LOW_BITS, ZeroClip
from hwgen.gateware.pipeline.scaled import delayed
from hwgen.gateware.pipeline.stage import StageComponent

__all__ = ["Join"]


class Join(StageComponent):
    """Waits for a pixel of every operand. A sum takes ``lanes`` channels a cycle, a concatenation one cycle.

    A scaled sum passes four registers on its way: products, their sum, the shift, the output.

    Members
    -------
    shift, relu, ceiling : In
        Of a sum, as `Requantise` has them.
    multiplier_{n}, zero_{n}, shift, zero_out, low, high : In
        Of a scaled sum, instead.
    i_pixel_{n} : In(stream)
    o_pixel : Out(stream)
    moved : Out(1)
        A step is done in this cycle.
    """

    builds = JoinStage
    _stage: JoinStage

    def _members(self) -> dict[str, wiring.Member]:
        operands = (self._maps[read].channels for read in self._stage.reads_of_all)
        pixels = {f"i_pixel_{n}": In(stream.Signature(8 * channels)) for n, channels in enumerate(operands)}
        return {**self._settings(self._stage), **pixels}

    @staticmethod
    def _settings(stage: JoinStage) -> dict[str, wiring.Member]:
        if stage.kind != "add":
            return {}
        if not stage.scales:
            return {"shift": In(5), **clip_ports()}
        places = range(len(stage.operands))
        return {
            **{f"multiplier_{place}": In(MULTIPLIER_BITS) for place in places},
            **{name: In(8) for name in (*(f"zero_{place}" for place in places), "zero_out", "low", "high")},
            "shift": In(CHANNEL_SHIFT_BITS),
        }

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        stage = self._stage
        operands = [getattr(self, f"i_pixel_{n}") for n in range(len(stage.operands))]
        lanes = stage.lanes if stage.kind == "add" else self._made.channels
        blocks = self._made.channels // lanes
        collect = self._collect(m, lanes)
        connect(m, flipped(self.o_pixel), collect.o_pixel)
        block, last, all_valid = Signal(range(max(blocks, 2))), Signal(), Signal()
        m.d.comb += [
            all_valid.eq(Cat(*(operand.valid for operand in operands)).all()),
            last.eq(block == blocks - 1),
            collect.write.eq(delayed(m, collect.go, all_valid, stage.registers, "scaled")),
            self.moved.eq(all_valid & collect.go),
        ]
        for operand in operands:
            m.d.comb += operand.ready.eq(self.moved & last)
        with m.If(self.moved):
            m.d.sync += block.eq(Mux(last, 0, block + 1))
        if stage.kind == "concat":
            m.d.comb += collect.block.eq(Cat(*(operand.payload for operand in operands)))
            return m
        values: list[Value] = []
        for lane in range(lanes):
            terms = [
                operand.payload.word_select(block, 8 * lanes).word_select(lane, 8).as_signed() for operand in operands
            ]
            if stage.scales:
                values.append(self._scale(m, collect.go, terms, lane))
                continue
            m.submodules[f"requantise_{lane}"] = unit = Requantise()
            m.d.comb += [
                unit.enable.eq(all_valid),
                unit.sum.eq(sum(terms)),
                unit.shift.eq(self.shift),
                *connected_clip(unit, self),
            ]
            values.append(unit.value)
        m.d.comb += collect.block.eq(Cat(*values))
        return m

    def _scale(self, m: Module, go: Value, terms: Sequence[Value], lane: int) -> Value:
        """The output of one channel, from its elements in all operands."""
        products = [Signal(signed(9 + MULTIPLIER_BITS), name=f"product_{lane}_{n}") for n in range(len(terms))]
        total = Signal(signed(9 + MULTIPLIER_BITS + len(terms).bit_length()), name=f"sum_{lane}")
        m.submodules[f"rounding_{lane}"] = rounding = RoundingShift(
            bits=LOW_BITS, sum_bits=len(total), shift_bits=CHANNEL_SHIFT_BITS
        )
        m.submodules[f"clip_{lane}"] = clip = ZeroClip()
        rest, value = Signal.like(rounding.rest, name=f"rest_{lane}"), Signal(8, name=f"value_{lane}")
        m.d.comb += [
            rounding.enable.eq(1),
            rounding.sum.eq(total),
            rounding.shift.eq(self.shift),
            rounding.beyond.eq(beyond(self.shift, LOW_BITS, len(total))),
            clip.rest.eq(rest),
            *(getattr(clip, name).eq(getattr(self, name)) for name in ("zero_out", "low", "high")),
        ]
        with m.If(go):
            for place, (product, term) in enumerate(zip(products, terms, strict=True)):
                zero, multiplier = getattr(self, f"zero_{place}"), getattr(self, f"multiplier_{place}")
                m.d.sync += product.eq((term - zero.as_signed()) * multiplier)
            m.d.sync += [total.eq(sum(products)), rest.eq(rounding.rest), value.eq(clip.value)]
        return value
