"""Columns of a tile of the input: which of them are new, and where they lie in the lines of the ring."""

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.hwc import HwcParameters
from hwgen.gateware.hwc.settings import in_bytes, settings_signature
from hwgen.gateware.hwc.token import column_shape, quotient_shape
from hwgen.gateware.hwc.widths import covered_bits, padding_bits, span_bits
from hwgen.gateware.lib.stride import divided, times_stride

__all__ = ["TileColumns", "in_row"]


def in_row(parameters: HwcParameters, settings: wiring.PureInterface, byte: Value) -> Value:
    """A byte of a row, counted from the word that the row begins in: in a cluster it may begin at any byte."""
    in_word = (parameters.ports.input_bytes - 1).bit_length()
    return byte + settings.input_base[:in_word] if parameters.cluster else byte


class TileColumns(wiring.Component):
    """Places the columns of one tile after the other in a line of the ring; columns count from the image's first one.

    A line begins at its first column inside the image, or, where columns have gaps, at the first output column that
    uses any. Where columns slide, the tile keeps its rows and its room, and moves along the ring as far as its lines
    do, so that each column that stays lies where it was; its lines begin at an output's first column.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    corner, span, kernel : In
        The tile's first column, columns from its first output column to its last one, and columns of the kernel. They
        must stand from the cycle before ``prepare`` until ``placed``.
    prepare : In(1)
        Remember where the tile before lies, and forget that it is ``placed``.
    slides : In(1)
        Some columns may stay; with ``prepare``. Where columns slide.
    begin : In(1)
        Place the columns of a tile; in the cycle after ``prepare``, or later.
    gaps : Out(1)
        The stride jumps over columns between others.
    first_used, last_used, any : Out
        Of the columns that are used and do not stay; there are some.
    quotient, phase : Out
        Where the corner is or would be in a line.
    word_quotient, word_phase : Out
        Where the first byte of the first word is in a line.
    placed : Out(1)
        The four above are right.
    slid : Out(1), moved : Out(signed)
        Columns stay; by how many quotients the corner moves against the tile before. Where columns slide.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        bits, slides = parameters.position_bits, parameters.columns_slide
        self._quotient = quotient_shape(parameters)
        order = range(min(parameters.input_marker + 1, len(parameters.loops)))
        self._in_word = (parameters.ports.input_bytes - 1).bit_length()
        in_line = 1 + (parameters.input_elements.bit_length() if slides else self._in_word)
        moved = {"slides": In(1), "slid": Out(1), "moved": Out(signed(bits + 2))}
        super().__init__(
            {
                "settings": In(settings_signature(parameters)),
                "corner": In(column_shape(parameters)),
                "span": In(span_bits(parameters, "x")),
                "kernel": In(covered_bits(parameters, order, "l")),
                "prepare": In(1),
                "begin": In(1),
                "gaps": Out(1),
                "first_used": Out(bits + 1),
                "last_used": Out(column_shape(parameters)),
                "any": Out(1),
                "quotient": Out(self._quotient),
                "phase": Out(2),
                "word_quotient": Out(signed(in_line)),
                "word_phase": Out(signed(self._in_word + 2)),
                "placed": Out(1),
                **(moved if slides else {}),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, settings, stride = self.parameters, self.settings, self.settings.stride_x
        total, last = Signal(max(len(self.span), len(self.kernel)) + 1), Signal(signed(len(self.corner) + 1))
        # Columns of the tile left of the image.
        clip = Signal(padding_bits(p))
        m.d.sync += [
            total.eq(self.span + self.kernel),
            last.eq(self.corner + total - 1),
            self.gaps.eq((self.kernel < stride) & (self.span != 0)),
            self.any.eq((self.last_used >= 0) & (self.last_used >= self.first_used)),
        ]
        first: Value = Mux(self.corner < 0, 0, self.corner).as_unsigned()[: len(self.first_used)]
        clips, kept = Signal(), Value.cast(0)
        if p.columns_slide:
            first, kept = self._slide(m, first, clips)
        with m.If(clips):
            m.d.sync += [
                self.first_used.eq(first),
                self.last_used.eq(Mux(last >= settings.input_width, settings.input_width - 1, last)),
                clip.eq(Mux(self.corner < 0, -self.corner, 0)),
            ]
        with m.If(self.prepare):
            m.d.sync += self.placed.eq(0)
        self._place(m, kept, clip, clips)
        return m

    def _slide(self, m: Module, first: Value, clips: Value) -> tuple[Value, Value]:
        """What stays of the tile before: the first new column, and how many before it stay."""
        kept = Signal.like(self.first_used)
        after, quotient = Signal(signed(len(self.last_used) + 1)), Signal(self._quotient)
        with m.If(self.prepare):
            m.d.sync += [self.slid.eq(self.slides), after.eq(self.last_used + 1), quotient.eq(self.quotient)]
        stays = Signal()
        m.d.comb += [stays.eq(self.slid & (after > first)), self.moved.eq(quotient - self.quotient)]
        with m.If(clips):
            m.d.sync += kept.eq(Mux(stays, after - first, 0))
        return Mux(stays, after, first), kept

    def _place(self, m: Module, kept: Value, clip: Signal, clips: Signal) -> None:
        """Divide by the stride, step by step."""
        p, settings, stride = self.parameters, self.settings, self.settings.stride_x
        quotient, word_quotient, word_phase = self.quotient, self.word_quotient, self.word_phase
        gaps: Value = self.gaps & ~self.slid if p.columns_slide else self.gaps
        # Columns in the first word before the first used one.
        before: Value = in_row(p, settings, in_bytes(p, settings, self.first_used))[: self._in_word]
        if p.wide:
            before = Mux(settings.wide, before >> 1, before)
        with m.FSM(name="columns"):
            with m.State("Idle"):
                with m.If(self.begin):
                    m.next = "Clip"
            with m.State("Clip"):
                m.d.comb += clips.eq(1)
                m.d.sync += [quotient.eq(0), self.phase.eq(0), word_quotient.eq(0)]
                m.next = "Place-Column"
            with m.State("Place-Column"):
                with m.If(stride == 1):
                    m.d.sync += [
                        quotient.eq(-clip),
                        word_quotient.eq(kept - before),
                        word_phase.eq(0),
                        self.placed.eq(1),
                    ]
                    m.next = "Idle"
                with m.Elif(clip >= stride):
                    m.d.sync += [clip.eq(clip - stride), quotient.eq(quotient - 1)]
                if p.columns_slide:
                    # Lines whose columns stay begin at an output's first column, inside the image or not.
                    with m.Elif(settings.input_slides):
                        skipped = kept + clip[:2]
                        outputs = divided(skipped, stride)
                        m.d.sync += [
                            word_phase.eq(skipped - times_stride(outputs, stride) - before),
                            word_quotient.eq(outputs),
                        ]
                        m.next = "Place-Word"
                with m.Else():
                    m.d.sync += word_phase.eq(Mux(gaps, clip[:2], 0) - before)
                    with m.If(~gaps & (clip != 0)):
                        m.d.sync += [self.phase.eq(stride - clip), quotient.eq(quotient - 1)]
                    m.next = "Place-Word"
            with m.State("Place-Word"):
                # The first word's first byte may lie left of the line's first column.
                with m.If(word_phase < 0):
                    m.d.sync += [word_phase.eq(word_phase + stride), word_quotient.eq(word_quotient - 1)]
                with m.Else():
                    m.d.sync += self.placed.eq(1)
                    m.next = "Idle"
