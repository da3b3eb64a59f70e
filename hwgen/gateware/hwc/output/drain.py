"""The vectors that leave, each in registers: the walk works on the one after it meanwhile."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.latency import FIRST_VECTOR
from hwgen.arch.registers.hwc import address_bits
from hwgen.gateware.hwc.output.address import RowAddress
from hwgen.gateware.hwc.output.vector_steps import log2
from hwgen.gateware.hwc.output.walk import OutputWalk
from hwgen.gateware.hwc.settings import in_bytes, settings_signature

__all__ = ["DrainedVectors"]


class DrainedVectors(wiring.Component):
    """What is known of the present vector, and what must be known at once of the one after it.

    That a vector has been taken is known late in a cycle: only a few registers change with it, the walk and all else
    a cycle later. At most every fourth cycle a vector is taken; the address, and what is counted with it, is there
    just then.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    start : In(1)
        Go to the first vector.
    taken : In(1)
        Go to the next vector; after the last one ``valid`` is clear.
    valid, place, is_final : Out
        As `OutputWalk`'s.
    next_valid, next_place, next_is_final : Out
        Of the vector after it; from two cycles after a vector was taken on.
    moves : Out(1)
        All that follows changes with the next cycle: a cycle after a vector was taken.
    channels, rows, columns, ends_row, ends_channels, ends_tile : Out
        As `OutputWalk`'s.
    index_after : Out
        One more than the index in its tile.
    bias_address : Out
        Of the bias of its first channel.
    channel, needs_fetch : Out
        As `OutputWalk`'s.
    address : Out
        Byte address of its first element.
    steps, beats : Out
        Cycles that it takes to store it, and those for one row of lanes. A cycle for an element, or for as many
        outputs of 8 bits as are requantised together: ``tail`` has a bit for each of the last ones, after which it
        ``overflows`` into one more word.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = p = parameters
        super().__init__(
            {
                "settings": In(settings_signature(p)),
                "start": In(1),
                "taken": In(1),
                "valid": Out(1),
                "place": Out(p.output_index_bits),
                "is_final": Out(1),
                "next_valid": Out(1),
                "next_place": Out(p.output_index_bits),
                "next_is_final": Out(1),
                "moves": Out(1),
                "channels": Out(range(p.lanes.m + 1)),
                "rows": Out(range(p.lanes.y + 1)),
                "columns": Out(range(p.lanes.x + 1)),
                "ends_row": Out(1),
                "ends_channels": Out(1),
                "ends_tile": Out(1),
                "index_after": Out(p.output_index_bits),
                "bias_address": Out(address_bits(p)),
                "channel": Out(p.position_bits),
                "needs_fetch": Out(1),
                "address": Out(address_bits(p)),
                "steps": Out(range(p.vector_lanes.product + 1)),
                "beats": Out(range(p.vector_lanes.x + 1)),
                "tail": Out(p.requantisers),
                "overflows": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, settings = self.parameters, self.settings
        m.submodules.walk = walk = OutputWalk(p)
        m.submodules.row_address = row_address = RowAddress(p)
        for block in (walk, row_address):
            connect(m, flipped(settings), block.settings)
        starting, settled, begins = Signal(FIRST_VECTOR - 1), Signal(2), Signal()
        m.d.sync += [
            begins.eq(self.start | self.moves),
            starting.eq(Cat(self.start, starting[:-1])),
            self.moves.eq(self.taken | starting[-1]),
            settled.eq(Cat(self.moves, settled[:-1])),
        ]
        m.d.comb += [
            walk.start.eq(self.start),
            walk.advance.eq(self.moves),
            walk.index_advance.eq(self.moves),
            row_address.moves.eq(begins),
            row_address.partial.eq(~walk.is_final),
            row_address.channel.eq(walk.channel),
            row_address.row.eq(walk.row),
            self.next_valid.eq(walk.valid),
            self.next_place.eq(walk.place),
            self.next_is_final.eq(walk.is_final),
        ]
        with m.If(self.taken | starting[-1]):
            m.d.sync += [self.valid.eq(walk.valid), self.place.eq(walk.place), self.is_final.eq(walk.is_final)]
        column = Signal.like(walk.column)
        with m.If(self.moves):
            m.d.sync += [
                *(
                    getattr(self, name).eq(getattr(walk, name))
                    for name in (
                        *("channels", "rows", "columns", "ends_row", "ends_channels", "ends_tile"),
                        *("channel", "needs_fetch"),
                    )
                ),
                column.eq(walk.column),
                self.index_after.eq(walk.index + 1),
                self.bias_address.eq(settings.bias_base + (walk.channel << log2(p.record_bytes))),
            ]
        # The address of its row is there, and that of the next vector's not yet.
        offset = Mux(self.is_final, in_bytes(p, settings, column), column << 2)
        with m.If(settled[-1]):
            m.d.sync += self.address.eq(row_address.address + offset)
        self._count(m, settled[0], (row_address.address + column)[:2])
        return m

    def _count(self, m: Module, counts: Signal, begin: Value) -> None:
        """How the vector is stored, from ``begin`` in a word on: counted while its address comes."""
        p = self.parameters
        together = p.requantisers
        bits = together.bit_length() - 1
        packs: Value = self.is_final
        if p.wide:
            packs = packs & ~self.settings.wide
        lines = Signal(range(p.vector_lanes.product + 1))
        with m.If(counts):
            m.d.sync += lines.eq(self.channels * self.rows if p.lanes.y > 1 else self.channels)
        if p.vector_lanes.x == 1:
            m.d.comb += [self.beats.eq(1), self.tail.eq(1)]
            m.d.sync += self.steps.eq(lines)
            return
        # The words that a row's outputs reach into are one more than its steps at most: where the last step's outputs
        # reach past the word that they begin in.
        reaches, words, rest = Signal(), Signal.like(self.beats), self.columns[:bits]
        if p.steps_in_word > 1:  # the last step begins elsewhere in a word than the first one
            begin = (begin + ((self.columns - 1)[bits:] << bits))[:2]
        m.d.comb += [
            words.eq((self.columns + together - 1)[bits:]),
            reaches.eq(packs & self.ends_row & (begin + (self.columns - 1)[:bits])[2]),
        ]
        with m.If(counts):
            m.d.sync += [
                self.beats.eq(Mux(packs, words + reaches, self.columns)),
                self.overflows.eq(reaches),
                self.tail.eq(Cat(Mux(rest == 0, together, rest) > i for i in range(together))),
            ]
        m.d.sync += self.steps.eq(lines * self.beats)
