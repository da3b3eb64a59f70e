"""The input's stream: fetches what is new in each iteration of the marked loop and keeps the box in a ring."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hwgen.gateware.input_memory import InputMemory
from hwgen.gateware.nest import LoopNest
from hwgen.gateware.params import HwcParameters
from hwgen.gateware.settings import settings_signature
from hwgen.gateware.stride import phase_base, quotient_and_phase, times_stride
from hwgen.gateware.tcdm import Request, read_request
from hwgen.gateware.token import input_token

__all__ = ["InputStream"]

BOXES_AHEAD = 2
WORDS_AHEAD = 4


class InputStream(wiring.Component):
    """Fetch, keep, and free the input.

    Walks the loops down to the marked one. Of each iteration it fetches the rows that the one before did not have
    (all of them where nothing stays), channel by channel, and writes them to the ring as slabs: one row of all
    channels of the box. Fetching runs ahead of the datapath as far as the ring and `BOXES_AHEAD` allow.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    start : In(1)
        Begin with the first box (after a reset).
    o_request, i_response
        To the memory port.
    o_token : Out(stream)
        A box that is completely in the ring. Taken at its first use.
    release : In(1)
        The box in use has been used for the last time.
    read_address : In, read_data : Out
        Lanes consecutive elements of the ring, one cycle later.
    overflow : Out(1)
        A box needs more slabs than the ring has.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        self.flat = (parameters.input_bytes - 1).bit_length() + 1
        super().__init__({
            "settings": In(settings_signature(parameters)),
            "start": In(1),
            "o_request": Out(stream.Signature(Request)),
            "i_response": In(wiring.Signature({"valid": Out(1), "data": Out(32)})),
            "o_token": Out(stream.Signature(input_token(parameters))),
            "release": In(1),
            "read_address": In(self.flat),
            "read_data": Out(data.ArrayLayout(8, parameters.lanes)),
            "overflow": Out(1),
        })

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        settings = self.settings
        bits, flat = p.position_bits, self.flat

        # The nest down to the marked loop, and the range that the current box covers of each dimension.
        walked = p.loops[: p.input_marker + 1]
        m.submodules.nest = nest = LoopNest(loops=walked, bits=bits)
        for j, dim in enumerate(walked):
            m.d.comb += [nest.extent[j].eq(getattr(settings, f"extent_{dim}")), nest.step[j].eq(getattr(settings, f"step_{j}_{dim}"))]
        low = {dim: nest.lo[_last(walked, dim)] if dim in walked else 0 for dim in p.loops}
        high = {dim: nest.hi[_last(walked, dim)] if dim in walked else getattr(settings, f"extent_{dim}") for dim in p.loops}
        for dim in "mcyxkl":
            low.setdefault(dim, 0)
            high.setdefault(dim, getattr(settings, f"extent_{dim}"))
        # What an iteration of the marked loop can leave behind for the next one.
        marked = p.loops[p.input_marker] if p.input_marker < len(p.loops) else None
        same_execution = Signal()

        m.submodules.memory = memory = InputMemory(depth=p.input_depth, lanes=p.lanes)
        m.d.comb += [memory.read_address.eq(self.read_address), self.read_data.eq(memory.read_data)]

        token_layout = input_token(p)
        m.submodules.tokens = tokens = SyncFIFO(width=token_layout.size, depth=BOXES_AHEAD)
        m.submodules.drops = drops = SyncFIFO(width=flat, depth=BOXES_AHEAD)
        entry_layout = data.StructLayout({"end": 1, "address": flat, "phase": 2, "enable": 4})
        m.submodules.entries = entries = SyncFIFO(width=entry_layout.size, depth=WORDS_AHEAD)
        m.submodules.words = words = SyncFIFO(width=32, depth=WORDS_AHEAD)
        token = Signal(token_layout)
        entry = Signal(entry_layout)
        m.d.comb += [tokens.w_data.eq(token), entries.w_data.eq(entry)]

        # --- the box: its corner in padded coordinates, its columns inside the image ---
        row = Signal(bits + 3)
        last_row = Signal(bits + 3)
        column = Signal(bits + 3)
        last_column = Signal(bits + 3)
        kernel_rows, kernel_columns = Signal(bits), Signal(bits)
        first_used = Signal(bits + 3)
        last_used = Signal(signed(bits + 4))
        quotient = Signal(signed(bits + 1))
        phase = Signal(2)
        word_quotient = Signal(signed(4))
        word_phase = Signal(signed(4))
        clip = Signal(bits)
        corner_row = Signal(bits + 3)
        gap_phase = Signal(2)
        row_address = Signal(32)
        group_begin, group_end = Signal(bits), Signal(bits + 1)
        group_channel = Signal(bits)
        channel = Signal(bits)
        product = Signal(32)
        factor_a, factor_b = Signal(bits + 3), Signal(28)
        m.d.comb += product.eq(factor_a * factor_b)
        several_columns = Signal()
        columns_gap = (kernel_columns < settings.stride_x) & several_columns
        rows_gap = kernel_rows < settings.stride_y
        no_columns = (last_used < 0) | (last_used < first_used)
        below_image = Signal(bits + 4)
        m.d.comb += below_image.eq(settings.padding_top + settings.input_height)

        # --- the ring, in slabs ---
        write_slab = Signal(flat)
        box_ring = Signal(flat)
        used, live, kept = Signal(flat), Signal(flat), Signal(flat)
        next_row = Signal(bits + 3)
        first_box = Signal(init=1)
        claim = Signal()

        def back(value: Signal) -> object:
            return Mux(value >= settings.input_slab, value - settings.input_slab, value + settings.input_ring - settings.input_slab)

        row_is_new = Signal()
        row_is_gap = Signal()
        m.d.comb += [
            row_is_gap.eq(rows_gap & (gap_phase >= kernel_rows)),
            row_is_new.eq((row >= settings.padding_top) & (row >= next_row) & ~row_is_gap),
        ]
        past_rows = Signal()
        m.d.comb += past_rows.eq((row > last_row) | (row >= below_image))

        def next_row_up() -> list[object]:
            return [
                row.eq(row + 1),
                row_address.eq(row_address + settings.input_pitch),
                gap_phase.eq(Mux(gap_phase + 1 == settings.stride_y, 0, gap_phase + 1)),
            ]

        # --- one line: words from first_used to last_used ---
        line_channel = Signal(bits)
        line_address = Signal(32)
        line_slot = Signal(flat)
        word = Signal(bits + 1)
        word_address = Signal(32)
        at_quotient = Signal(signed(bits + 1))
        at_phase = Signal(2)
        enable = Signal(4)
        for b in range(4):
            _, byte_phase = quotient_and_phase(m, at_phase + b, settings.stride_x, f"enable_{b}")
            at = Signal(bits + 4, name=f"column_{b}")
            m.d.comb += [
                at.eq((word << 2) + b),
                enable[b].eq((at >= first_used) & (at <= last_used) & ~(columns_gap & (byte_phase >= kernel_columns))),
            ]
        following_quotient, following_phase = quotient_and_phase(m, at_phase + 4, settings.stride_x, "following")
        last_word = Signal()
        m.d.comb += last_word.eq(word == last_used[2:])

        with m.FSM(name="fetch"):
            with m.State("Idle"):
                with m.If(self.start):
                    m.d.comb += nest.start.eq(1)
                    m.d.sync += [group_begin.eq(0), group_end.eq(settings.group_outputs), group_channel.eq(0)]
                    m.next = "Seek-Group"
            with m.State("Seek-Group"):
                with m.If(low["m"] >= group_end):
                    m.d.sync += [
                        group_begin.eq(group_end),
                        group_end.eq(group_end + settings.group_outputs),
                        group_channel.eq(group_channel + settings.group_inputs),
                        next_row.eq(0),
                    ]
                with m.Elif(low["m"] < group_begin):
                    m.d.sync += [
                        group_begin.eq(group_begin - settings.group_outputs),
                        group_end.eq(group_begin),
                        group_channel.eq(group_channel - settings.group_inputs),
                        next_row.eq(0),
                    ]
                with m.Else():
                    m.next = "Place-Channel"
            with m.State("Place-Channel"):
                m.d.comb += [factor_a.eq(group_channel + low["c"]), factor_b.eq(settings.input_plane)]
                m.d.sync += [
                    row.eq(times_stride(low["y"], settings.stride_y) + low["k"]),
                    column.eq(times_stride(low["x"], settings.stride_x) + low["l"]),
                    last_row.eq(times_stride((high["y"] - 1)[:bits], settings.stride_y) + (high["k"] - 1)[:bits]),
                    last_column.eq(times_stride((high["x"] - 1)[:bits], settings.stride_x) + (high["l"] - 1)[:bits]),
                    kernel_rows.eq(high["k"] - low["k"]),
                    kernel_columns.eq(high["l"] - low["l"]),
                    several_columns.eq(high["x"] - low["x"] != 1),
                    channel.eq(high["c"] - low["c"]),
                    row_address.eq(settings.input_base + product),
                    gap_phase.eq(0),
                    kept.eq(0),
                    box_ring.eq(write_slab),
                ]
                if marked == "m":
                    with m.If(~same_execution):
                        m.d.sync += next_row.eq(0)
                elif marked in ("y", "k"):
                    with m.If(~same_execution | ~settings.input_slides):
                        m.d.sync += next_row.eq(0)
                else:
                    m.d.sync += next_row.eq(0)
                m.next = "Place-Row"
            with m.State("Place-Row"):
                m.d.comb += [factor_a.eq(row), factor_b.eq(settings.input_pitch)]
                m.d.sync += [
                    row_address.eq(row_address + product),
                    corner_row.eq(row),
                    first_used.eq(Mux(column > settings.padding_left, column - settings.padding_left, 0)),
                    clip.eq(Mux(column > settings.padding_left, 0, settings.padding_left - column)),
                    last_used.eq(
                        Mux(
                            last_column >= settings.padding_left + settings.input_width,
                            settings.input_width - 1,
                            last_column - settings.padding_left,
                        )
                    ),
                    quotient.eq(0),
                ]
                m.next = "Place-Column"
            with m.State("Place-Column"):
                # The padding left of the image takes no room: the line begins at the first used column, or, where the
                # columns have gaps, at the first output column that uses any.
                with m.If(clip >= settings.stride_x):
                    m.d.sync += [clip.eq(clip - settings.stride_x), quotient.eq(quotient - 1)]
                with m.Elif(columns_gap):
                    m.d.sync += [phase.eq(0), word_quotient.eq(0), word_phase.eq(clip[:2] - first_used[:2])]
                    m.next = "Place-Word"
                with m.Else():
                    m.d.sync += [word_quotient.eq(0), word_phase.eq(-first_used[:2])]
                    with m.If(clip == 0):
                        m.d.sync += phase.eq(0)
                    with m.Else():
                        m.d.sync += [phase.eq(settings.stride_x - clip), quotient.eq(quotient - 1)]
                    m.next = "Place-Word"
            with m.State("Place-Word"):
                # The phase of the first word's first byte, which may lie left of the line's first column.
                with m.If(word_phase < 0):
                    m.d.sync += [word_phase.eq(word_phase + settings.stride_x), word_quotient.eq(word_quotient - 1)]
                with m.Elif(no_columns):
                    m.next = "Announce"
                with m.Else():
                    m.next = "Skip-Rows"
            with m.State("Skip-Rows"):
                with m.If(past_rows | row_is_new):
                    m.next = "Announce"
                with m.Else():
                    m.d.sync += next_row_up()
                    with m.If(~row_is_gap):
                        m.d.sync += box_ring.eq(back(box_ring))
                        with m.If(row >= settings.padding_top):
                            m.d.sync += kept.eq(kept + 1)
            with m.State("Announce"):
                with m.If(tokens.w_rdy & (drops.w_rdy | first_box)):
                    m.d.comb += [tokens.w_en.eq(1), drops.w_en.eq(~first_box)]
                    m.d.sync += [live.eq(kept), first_box.eq(0)]
                    m.next = "Next-Row"
                    with m.If(no_columns):
                        m.next = "End-Box"
            with m.State("Next-Row"):
                with m.If(past_rows):
                    m.next = "End-Box"
                with m.Elif(~row_is_new):
                    m.d.sync += next_row_up()
                with m.Elif(live == settings.input_slabs):
                    m.d.comb += self.overflow.eq(1)
                with m.Elif(used != settings.input_slabs):
                    m.d.comb += claim.eq(1)
                    m.d.sync += [
                        live.eq(live + 1),
                        line_channel.eq(0),
                        line_slot.eq(write_slab),
                        line_address.eq(row_address + (first_used & ~3)),
                        word_address.eq(row_address + (first_used & ~3)),
                        word.eq(first_used >> 2),
                        at_quotient.eq(word_quotient),
                        at_phase.eq(word_phase),
                    ]
                    m.next = "Fetch-Line"
            with m.State("Fetch-Line"):
                m.d.comb += [
                    entry.enable.eq(enable),
                    entry.phase.eq(at_phase),
                    entry.address.eq(line_slot + at_quotient),
                    self.o_request.valid.eq((enable != 0) & entries.w_rdy),
                    self.o_request.payload.eq(read_request(word_address, enable)),
                ]
                with m.If((enable == 0) | (self.o_request.ready & entries.w_rdy)):
                    m.d.comb += entries.w_en.eq(enable != 0)
                    m.d.sync += [
                        word.eq(word + 1),
                        word_address.eq(word_address + 4),
                        at_quotient.eq(at_quotient + following_quotient),
                        at_phase.eq(following_phase),
                    ]
                    with m.If(last_word):
                        m.d.sync += [
                            line_channel.eq(line_channel + 1),
                            line_slot.eq(line_slot + settings.input_line),
                            line_address.eq(line_address + settings.input_plane),
                            word_address.eq(line_address + settings.input_plane),
                            word.eq(first_used >> 2),
                            at_quotient.eq(word_quotient),
                            at_phase.eq(word_phase),
                        ]
                        with m.If(line_channel + 1 == channel):
                            m.d.sync += [*next_row_up(), next_row.eq(row + 1)]
                            following_slab = write_slab + settings.input_slab
                            m.d.sync += write_slab.eq(Mux(following_slab == settings.input_ring, 0, following_slab))
                            m.next = "Next-Row"
            with m.State("End-Box"):
                m.d.comb += entry.end.eq(1)
                with m.If(entries.w_rdy):
                    m.d.comb += [entries.w_en.eq(1), nest.advance.eq(1)]
                    # Inside an execution only the marked loop itself turns.
                    m.d.sync += same_execution.eq(
                        nest.turning[p.input_marker] if p.input_marker < len(p.loops) else 0
                    )
                    m.next = "Seek-Group"
                    with m.If(nest.finished):
                        m.next = "Idle"

        m.d.comb += [
            token.ring.eq(box_ring),
            token.row.eq(corner_row - settings.padding_top),
            token.column.eq(column - settings.padding_left),
            token.quotient.eq(quotient),
            token.phase.eq(phase),
            drops.w_data.eq(live - kept),
        ]
        self._account(m, drops, claim, used)
        self._fill(m, memory, entries, words, entry_layout, tokens)
        return m

    def _account(self, m: Module, drops: SyncFIFO, claim: Signal, used: Signal) -> None:
        """Slabs in use: claimed before they are filled, dropped when their last box is released."""
        released = Signal(range(BOXES_AHEAD + 3))
        drop = Signal()
        m.d.comb += [drop.eq((released != 0) & drops.r_rdy), drops.r_en.eq(drop)]
        m.d.sync += [
            released.eq(released + self.release - drop),
            used.eq(used + claim - Mux(drop, drops.r_data, 0)),
        ]

    def _fill(
        self, m: Module, memory: InputMemory, entries: SyncFIFO, words: SyncFIFO, layout: data.StructLayout, tokens: SyncFIFO
    ) -> None:
        """Write the words that arrive, one stride phase a cycle: its columns are consecutive in the ring."""
        settings = self.settings
        m.d.comb += [words.w_data.eq(self.i_response.data), words.w_en.eq(self.i_response.valid)]
        entry = data.View(layout, entries.r_data)
        arrived = Signal(range(BOXES_AHEAD + 2))
        written = Signal(4)
        left = Signal(4)
        taken = Signal(4)
        lowest = Signal(2)
        box_arrives = Signal()
        m.d.comb += left.eq(entry.enable & ~written)
        for b in reversed(range(4)):
            with m.If(left[b]):
                m.d.comb += lowest.eq(b)
        quotient, phase = quotient_and_phase(m, entry.phase + lowest, settings.stride_x, "byte")
        m.d.comb += memory.write_address.eq(entry.address + quotient + phase_base(settings, phase))
        for i in range(4):
            position = Signal(4, name=f"position_{i}")
            m.d.comb += position.eq(lowest + times_stride(i, settings.stride_x) if i else lowest)
            with m.If(position < 4):
                m.d.comb += [
                    memory.write_enable[i].eq(left.bit_select(position[:2], 1) & entries.r_rdy & ~entry.end & words.r_rdy),
                    memory.write_data[i].eq(words.r_data.word_select(position[:2], 8)),
                    taken.bit_select(position[:2], 1).eq(1),
                ]
        with m.If(entries.r_rdy & entry.end):
            m.d.comb += [entries.r_en.eq(1), box_arrives.eq(1)]
        with m.Elif(entries.r_rdy & words.r_rdy):
            with m.If((left & ~taken) == 0):
                m.d.comb += [entries.r_en.eq(1), words.r_en.eq(1)]
                m.d.sync += written.eq(0)
            with m.Else():
                m.d.sync += written.eq(written | taken)
        m.d.comb += [
            self.o_token.valid.eq(tokens.r_rdy & (arrived != 0)),
            self.o_token.payload.as_value().eq(tokens.r_data),
            tokens.r_en.eq(self.o_token.valid & self.o_token.ready),
        ]
        m.d.sync += arrived.eq(arrived + box_arrives - tokens.r_en)


def _last(loops: tuple[str, ...], dim: str) -> int:
    return max(j for j, d in enumerate(loops) if d == dim)
