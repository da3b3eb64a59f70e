"""What the ports of an HWC ask for in its first cycles: times and places, from what its timing model writes down."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.arch import bus
from hwgen.arch.bus import SUM_BYTES, WORD_BYTES
from hwgen.model.compiled import digest, inner, njit
from hwgen.model.hwc.cycles import HwcTiming, Waiting
from hwgen.model.hwc.timing import outputs, requests
from hwgen.model.hwc.timing.outputs import BIASES, LOADED, STORED
from hwgen.model.hwc.timing.requests import ASKED, COUNT, NUMBER

__all__ = ["RECORDS", "Begun", "Pitches", "Requests", "begun"]

OUTPUTS, SUMS, RECORDS = range(3)
"""Regions at the port of O: final outputs, partial sums, and biases with what comes along with them."""
Ints = NDArray[np.int64]


class Pitches(NamedTuple):
    """Bytes from row to row and from channel to channel of the feature maps in the memory."""

    input_pitch: int
    input_plane: int
    output_pitch: int
    output_plane: int


@dataclass(frozen=True, eq=False)
class Requests:
    """Words that a port asks for, in order.

    Members
    -------
    times : the cycle from which on each may be asked for, but for those before it; cycles from the start of the HWC.
    regions : of each the number of its region: 0, but at the port of O.
    places : of each its bytes after where the region begins.
    """

    times: Ints
    regions: Ints
    places: Ints


@dataclass(frozen=True, eq=False)
class Begun:
    """A layer that has begun.

    Members
    -------
    cycles : that it takes, as far as it is played.
    requests : at the ports of I, W and O.
    progress : see `Beginning`.
    """

    cycles: int | None
    requests: tuple[Requests, Requests, Requests]
    progress: Ints

    def lasts(self, in_time: "Begun", cycles: int) -> float:
        """All its cycles: what is not played is as slow as the second half of what is, against one that is
        ``in_time`` and takes ``cycles``."""
        if self.cycles is not None:
            return float(self.cycles)
        (times, operations), (early, of_early) = self.progress.T, in_time.progress.T
        halves = np.array([times[-1] / 2, times[-1]])
        then = np.interp(np.interp(halves, times, operations), of_early, early)
        slower = max(1.0, (halves[1] - halves[0]) / max(1.0, then[1] - then[0]))
        return float(times[-1] + (cycles - then[1]) * slower)


def begun(timing: HwcTiming, first: Waiting, pitches: Pitches, most: int) -> Begun:
    """The beginning of a layer where the first accesses at each port wait as ``first`` has it, biases left out.

    ``most`` : cycles that are looked at, and requests of a port.
    """
    cycles, records, progress = timing.beginning(most, first)
    found = np.empty((3, 3, most), np.int64)
    numbers = _requests(records, found, timing.block, pitches, timing.bias_uses)
    by_port = tuple(Requests(*one[:, :number]) for one, number in zip(found, numbers, strict=True))
    return Begun(cycles, by_port, progress)  # type: ignore[arg-type]


@inner
def _inputs(records, found, stride, top, height, word, begins, pitch, plane):  # type: ignore[no-untyped-def]
    """Requests of I: row by row, in each channel by channel. Returns how many."""
    number, at = 0, 1
    while at <= records[0, COUNT]:
        _, first, y, y_end, k, k_end, channel, channels, column, words = records[at]
        apart = k_end - k < stride and y_end - y > 1
        at += 1
        left, time = 0, 0
        for part in range(y_end - y if apart else 1):
            low = (y + part) * stride + k
            high = low + k_end - k if apart else (y_end - 1) * stride + k_end
            for row in range(max(low, first), min(high, top + height)):
                for one in range(channel, channel + channels):
                    for place in range(column, column + words):
                        if left == 0:
                            if at > records[0, COUNT] or records[at, 0] != ASKED:
                                return number
                            time, left = records[at, 1], records[at, NUMBER]
                            at += 1
                        if number == found.shape[1]:
                            return number
                        found[0, number], found[1, number] = time, OUTPUTS
                        found[2, number] = (row - top) * pitch + one * plane + place * word - begins
                        number += 1
                        time += 1
                        left -= 1
    return number


@inner
def _weights(records, found, word, pitch, element):  # type: ignore[no-untyped-def]
    """Requests of W: each tile is where it was when it was first fetched, one after the other.

    ``pitch`` : of a channel lane in a line; 0: there are no lines. All of a tile are taken to be like its first one.
    """
    number, at, end, known = 0, 1, 0, 0
    tiles = np.empty((len(records), 2), np.int64)
    while at <= records[0, COUNT]:
        tile, at = at, at + 1
        words, lines, outputs, channels = records[tile, 4:8]
        lane_words = words if pitch < word else -(-outputs * element // word)
        in_line = words if pitch < word else lane_words * channels
        place = -1
        for i in range(known - 1, -1, -1):
            if (records[tiles[i, 0], :4] == records[tile, :4]).all():
                place = tiles[i, 1]
                break
        if place < 0:
            place = end
            tiles[known, 0], tiles[known, 1] = tile, place
            known += 1
            end += words * word if pitch < word else lines * channels * pitch
        done = 0
        while at <= records[0, COUNT] and records[at, 0] == ASKED:
            for i in range(records[at, NUMBER]):
                if number == found.shape[1]:
                    return number
                line, left = done // in_line, done % in_line
                lane, left = line * channels + left // lane_words, left % lane_words
                found[0, number], found[1, number] = records[at, 1] + i, OUTPUTS
                found[2, number] = place + lane * pitch + left * word
                number, done = number + 1, done + 1
            at += 1
    return number


@inner
def _outputs(records, found, element, word, begins, pitch, plane, record_words, bias_uses):  # type: ignore[no-untyped-def]
    """Requests of O: vectors, of each the columns of a row, row by row, in each channel. Biases are kept for
    ``bias_uses`` tiles."""
    number, at = 0, 1
    channels = 0
    for i in range(1, records[0, COUNT] + 1):
        if records[i, 0] == BIASES:
            channels = max(channels, records[i, 1] + 1)
    uses = np.zeros(channels, np.int64)
    while at + 1 <= records[0, COUNT]:
        kind, channel, y, x, channels, rows, columns, ends_row, stored, _ = records[at]
        time, words = records[at + 1, 1], records[at + 1, NUMBER]
        if records[at + 1, 0] != ASKED:  # none of this vector
            at += 1
            continue
        at += 2
        done = 0
        if kind == BIASES:
            uses[channel] += 1
            if (uses[channel] - 1) % bias_uses:
                continue
            channels, rows = 1, 1
            low, high, size = channel * record_words, (channel + 1) * record_words, WORD_BYTES
            high = low + words
        elif kind == STORED:
            first, end, size = begins[0] + x * element, begins[0] + (x + columns) * element, word
            low, high = first // word, end // word + (ends_row and end % word > 0)
        else:
            first, end, size = begins[1] + x * SUM_BYTES, begins[1] + (x + columns) * SUM_BYTES, word
            low, high = first // word, (end - 1) // word + 1
        for one in range(channel, channel + channels):
            for row in range(y, y + rows):
                for place in range(low, high):
                    if number == found.shape[1]:
                        return number
                    found[0, number], found[2, number] = time + done, place * size
                    if kind == LOADED:
                        found[0, number] = time + done * stored // words
                    elif kind != BIASES:
                        found[0, number] = time + (done + 1) * stored // words - 1
                    if kind == BIASES:
                        found[1, number] = RECORDS
                    else:
                        found[1, number] = OUTPUTS if kind == STORED else SUMS
                        found[2, number] += one * plane + row * pitch - (begins[0] if kind == STORED else begins[1])
                    done, number = done + 1, number + 1
    return number


def _cached(sources: int):  # type: ignore[no-untyped-def]
    """The compiled kernel, kept in numba's cache for as long as ``sources`` stays the same: see `digest`."""

    @njit(cache=True)
    def kernel(records, found, block, pitches, bias_uses):  # type: ignore[no-untyped-def]
        """What is asked for at the ports of I, W and O: in ``found``, and how much it is."""
        if not sources:
            return 0, 0, 0
        return (
            _inputs(records[0], found[0], block.stride_y, block.top, block.height, block.input_word,
                    block.input_begins, pitches.input_pitch, pitches.input_plane),
            _weights(records[1], found[1], block.weight_word, block.line_pitch, block.element),
            _outputs(records[2], found[2], block.element, block.output_word, (block.output_begins, block.sums_begin),
                     pitches.output_pitch, pitches.output_plane, block.record_words, bias_uses),
        )  # fmt: skip

    return kernel


_requests = _cached(digest(bus, outputs, requests))
