"""Columns of a box of the input: which of them are new, and where they lie in the lines of the ring."""

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import wiring

from hwgen.arch.hwc import HwcParameters
from hwgen.gateware.lib.nest import Ranges
from hwgen.gateware.lib.stride import divided, times_stride

__all__ = ["Columns", "Slide", "in_row"]


def in_row(parameters: HwcParameters, settings: wiring.PureInterface, byte: Value) -> Value:
    """A byte of a row, counted from the word that the row begins in: in a cluster it may begin at any byte."""
    return byte + settings.input_base[:2] if parameters.cluster else byte


class Slide:
    """What stays where columns slide.

    The box keeps its rows and its room, and moves along the ring as far as its lines do, so that each column that
    stays lies where it was.
    """

    def __init__(self, bits: int) -> None:
        # Of the box before: the first column behind it, from the image's edge, and its corner's place in a line.
        self.behind, self.quotient = Signal(signed(bits + 4)), Signal(signed(bits + 1))
        # Columns that stay, of those inside the image; whether any may.
        self.kept, self.slid = Signal(bits + 3), Signal()


class Columns:
    """Columns of the box; the corner counts from the padding's edge, the used ones from the image's."""

    def __init__(self, parameters: HwcParameters) -> None:
        bits = parameters.position_bits
        self.slide = Slide(bits) if parameters.columns_slide else None
        self._bits = bits
        self.corner, self.kernel = Signal(bits + 3), Signal(bits)
        # The stride jumps over some between others.
        self.gaps = Signal()
        # From the image's edge to the corner, the other way, and to the first column behind the box.
        self._over, self._under = Signal(signed(bits + 4)), Signal(signed(bits + 4))
        self._reach = Signal(signed(bits + 4))
        # Of those used, and not kept from the box before; there are any.
        self.first_used, self.last_used, self.any = Signal(bits + 3), Signal(signed(bits + 4)), Signal()
        self.clip = Signal(bits)
        # Where the corner lies or would lie in a line; the first word's first byte, at first left of the line.
        self.quotient, self.phase = Signal(signed(bits + 1)), Signal(2)
        in_line = 1 + parameters.input_elements.bit_length() if parameters.columns_slide else 3
        self.word_quotient, self.word_phase = Signal(signed(in_line)), Signal(signed(4))
        self.begin, self.placed = Signal(), Signal()

    def follow(self, m: Module, settings: wiring.PureInterface, ranges: Ranges) -> None:
        """The box's columns three cycles after the nest has moved, as long as it stays."""
        bits, stride, low, high = self._bits, settings.stride_x, ranges.low, ranges.high
        first, end, behind, several = Signal(bits + 2), Signal(bits + 2), Signal(bits + 3), Signal()
        m.d.sync += [
            first.eq(times_stride(low["x"], stride)),
            end.eq(times_stride(high["x"], stride)),
            self.kernel.eq(Value.cast(high["l"]) - low["l"]),
            several.eq(Value.cast(high["x"]) - low["x"] != 1),
            self.corner.eq(first + low["l"]),
            behind.eq(end + high["l"] - stride),
            self.gaps.eq((self.kernel < stride) & several),
            self._over.eq(self.corner - settings.padding_left),
            self._under.eq(settings.padding_left - self.corner),
            self._reach.eq(behind - settings.padding_left),
            self.any.eq((self.last_used >= 0) & (self.last_used >= self.first_used)),
        ]

    def _clip(self, m: Module, settings: wiring.PureInterface) -> None:
        """Columns inside the image, of those the ones that do not stay; how many lie outside on the left."""
        width, reach, outside = settings.input_width, self._reach, self._over < 0
        first: Value = Mux(outside, 0, self._over[:-1])
        if self.slide is not None:
            kept = self.slide.slid & (self.slide.behind > first)
            m.d.sync += self.slide.kept.eq(Mux(kept, self.slide.behind - first, 0))
            first = Mux(kept, self.slide.behind, first)
        m.d.sync += [
            self.first_used.eq(first),
            self.last_used.eq(Mux(reach > width, width - 1, reach - 1)),
            self.clip.eq(Mux(outside, self._under, 0)),
        ]

    def place(self, m: Module, parameters: HwcParameters, settings: wiring.PureInterface, gaps: Value) -> None:
        """Where a line begins: at its first column inside the image, or, where columns have gaps, at the first output
        column that uses any. Meanwhile rows are placed."""
        stride, quotient = settings.stride_x, self.quotient
        word_quotient, word_phase = self.word_quotient, self.word_phase
        # Columns in the first word before the first used one.
        before = in_row(parameters, settings, self.first_used)[:2]
        if parameters.wide:
            before = before & Mux(settings.wide, 1, 3)
        kept: Value = Value.cast(0) if self.slide is None else self.slide.kept
        with m.FSM(name="columns"):
            with m.State("Idle"):
                with m.If(self.begin):
                    m.next = "Clip"
            with m.State("Clip"):
                self._clip(m, settings)
                m.d.sync += [quotient.eq(0), self.phase.eq(0), word_quotient.eq(0)]
                m.next = "Place-Column"
            with m.State("Place-Column"):
                with m.If(stride == 1):
                    m.d.sync += [
                        quotient.eq(-self.clip),
                        word_quotient.eq(kept - before),
                        word_phase.eq(0),
                        self.placed.eq(1),
                    ]
                    m.next = "Idle"
                with m.Elif(self.clip >= stride):
                    m.d.sync += [self.clip.eq(self.clip - stride), quotient.eq(quotient - 1)]
                if self.slide is not None:
                    # Lines whose columns stay begin at an output's first column, inside the image or not.
                    with m.Elif(settings.input_slides):
                        skipped = kept + self.clip[:2]
                        outputs = divided(skipped, stride)
                        m.d.sync += [
                            word_phase.eq(skipped - times_stride(outputs, stride) - before),
                            word_quotient.eq(outputs),
                        ]
                        m.next = "Place-Word"
                with m.Else():
                    m.d.sync += word_phase.eq(Mux(gaps, self.clip[:2], 0) - before)
                    with m.If(~gaps & (self.clip != 0)):
                        m.d.sync += [self.phase.eq(stride - self.clip), quotient.eq(quotient - 1)]
                    m.next = "Place-Word"
            with m.State("Place-Word"):
                # The first word's first byte may lie left of the line's first column.
                with m.If(word_phase < 0):
                    m.d.sync += [word_phase.eq(word_phase + stride), word_quotient.eq(word_quotient - 1)]
                with m.Else():
                    m.d.sync += self.placed.eq(1)
                    m.next = "Idle"
