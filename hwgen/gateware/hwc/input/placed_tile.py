"""What the placer of the input tells the fetcher of a tile."""

from amaranth.hdl import signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.registers.hwc import address_bits
from hwgen.gateware.hwc.widths import covered_bits, tile_bits

__all__ = ["placed_tile"]


def placed_tile(parameters: HwcParameters) -> wiring.Signature:
    """A tile, seen from the placer; a stream's handshake without its payload in one piece.

    Members
    -------
    valid : Out(1), ready : In(1)
    rows, channels : Out
        New rows, and channels.
    fetches, single_row, single_channel, single_word : Out(1)
        There are new rows; there is one, one channel, one word to a line.
    words, first, last : Out
        Words of a line, less one; first used byte of its first, last used byte of its last word.
    quotient, phase : Out
        Place of the first word's first byte in a line; the quotient is negative where the line begins after it.
    slid : Out(1)
        The new columns lie after others that stay. Where columns slide.
    gaps, kernel_columns : Out
        Whether only so many columns of each stride are used.
    run, kernel_rows, row_gaps, at_gap, gap : Out
        New rows before the next gap between rows, rows between two gaps, whether there are gaps, one after the first
        new row, and how many rows of the image lie from the one before a gap to the one after it, modulo 4.
    address : Out
        Of the first word of the first new row.
    slot : Out
        Element of the ring at which the first new row begins.
    """
    ring, marker = parameters.input_elements, min(parameters.input_marker, len(parameters.loops) - 1)
    # Most bytes of a line, which begins anywhere in its first word.
    line = (1 << tile_bits(parameters, "x")) * (1 + parameters.wide)
    words = min(line // parameters.ports.input_bytes + 1, (1 << parameters.position_bits) - 1)
    slides, in_word = parameters.columns_slide, (parameters.ports.input_bytes - 1).bit_length()
    return wiring.Signature(
        {
            "valid": Out(1),
            "ready": In(1),
            "rows": Out(tile_bits(parameters, "y")),
            "channels": Out(covered_bits(parameters, range(marker + 1), "c")),
            **{name: Out(1) for name in ("fetches", "single_row", "single_channel", "single_word")},
            "words": Out(words.bit_length()),
            "first": Out(in_word),
            "last": Out(in_word),
            "quotient": Out(signed(ring.bit_length() + 1 if slides else in_word + 1)),
            **({"slid": Out(1)} if slides else {}),
            "phase": Out(2),
            "gaps": Out(1),
            "kernel_columns": Out(2),
            "run": Out(2),
            "kernel_rows": Out(2),
            "row_gaps": Out(1),
            "at_gap": Out(1),
            "gap": Out(2),
            "address": Out(address_bits(parameters)),
            "slot": Out((ring - 1).bit_length()),
        }
    )
