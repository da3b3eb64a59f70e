"""Cycles of a schedule on one HWC whose memory grants every request at once.

What a tile does to the state of the block depends only on that state, with all times taken relative to the present,
and on the kind of the tile. So a tile is played only where no other one of its kind has met the same state: a layer
of many tiles costs no more than its few distinct ones, and the sum is exactly that of playing them all.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.hwc import HwcParameters, input_words_ahead
from hwgen.arch.lanes import datapath
from hwgen.arch.latency import CONFIGURATION, STARTUP
from hwgen.ir.document import InputError
from hwgen.ir.schedule import Schedule
from hwgen.model.hwc.tiles import WORD_ALIGNED, RowBegins, Tiles, Timed
from hwgen.model.hwc.timing.operations import play
from hwgen.model.hwc.timing.requests import AT, COUNT, LIMIT, NUMBER, RECORD_FIELDS
from hwgen.model.hwc.timing.state import GROUP, Block, Counters, Ints, State, finish, initial_state, rebase
from hwgen.model.nest.biases import bias_uses
from hwgen.model.nest.one_level import PerOperand, Prediction, require_one_level

__all__ = [
    "IN_TIME",
    "NO_WAITS",
    "Beginning",
    "Cycles",
    "HwcTiming",
    "Waiting",
    "cycles",
    "least_cycles",
    "predicted_cycles",
]

NO_WAITS = PerOperand(0, 0, 0)
"""Accesses of which none waits."""
NO_RECORDS = np.zeros((4, 1, RECORD_FIELDS), np.int64)
"""No room for what ports ask for."""
Waiting = tuple[Ints, Ints, Ints]
"""What accesses at the ports of I, W and O wait, in cycles."""
NONE_KNOWN: Waiting = (np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))
"""The same of none, with their number before them."""
IN_TIME: Waiting = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
"""Nothing waits."""


@dataclass(frozen=True)
class Cycles:
    """Where the cycles from the start write to the interrupt go.

    Members
    -------
    startup : before the first operation could have been issued.
    compute : operations, one a cycle.
    stalls : cycles without an operation: waiting for the input; else for weights; else for the output's memory, the
        cycles in which it is read or written for the output's stream among them.
    drain : after the last operation.
    """

    startup: int
    compute: int
    stalls: PerOperand
    drain: int

    @property
    def total(self) -> int:
        """Cycles from the start write to the interrupt."""
        return self.startup + self.compute + self.stalls.total + self.drain

    def stalls_by_name(self) -> dict[str, int]:
        """The stalls, named as the HWC's registers."""
        return {"input": self.stalls.I, "weight": self.stalls.W, "output": self.stalls.O}


class Beginning(NamedTuple):
    """The first cycles of a schedule.

    Members
    -------
    cycles : from the start write to the interrupt, if that is among them.
    records : [operand, record, field] what its ports for I, W and O ask for, as `timing.requests` has it.
    progress : [event, 2] cycles, and how many operations are done by then.
    """

    cycles: int | None
    records: Ints
    progress: Ints


class HwcTiming:
    """A schedule on an HWC with I, W and O memories of these sizes in bytes, which must be large enough.

    I's memory holds a copy for each lane along y. A layer that is a part of another layer's reduction ``resumes``
    partial sums that are in the memory, or ``goes_on``: leaves partial sums instead of outputs. ``words_ahead`` is
    that of `input_words_ahead`; None: of an HWC that has the schedule's lanes. ``in_cluster`` : it has no register in
    front of its configuration port. ``most_requantisers`` : outputs of 8 bits that it makes in a cycle, at most.
    ``begins`` : where rows of its feature maps begin in the words of a cluster's memory.

    Raises `InputError` for more than one memory level, and for operands of other widths than the HWC has.
    """

    def __init__(
        self,
        schedule: Schedule,
        buffers: PerOperand,
        *,
        resumes: bool = False,
        goes_on: bool = False,
        words_ahead: int | None = None,
        in_cluster: bool = False,
        most_requantisers: int = WORD_BYTES,
        begins: RowBegins = WORD_ALIGNED,
    ) -> None:
        require_one_level(schedule)
        bits = schedule.bits
        if (bits.I, bits.W, bits.O, bits.acc) not in ((8, 8, 8, 32), (16, 16, 16, 32)):
            raise InputError(
                "schedule: bits: expected operands of 8 or of 16 bits and 32-bit sums to tell the cycles"
            )
        ahead = input_words_ahead(datapath(schedule.lanes, bits.I)) if words_ahead is None else words_ahead
        self._timed = Timed(
            schedule, buffers, ahead,
            resumes=resumes, goes_on=goes_on, most_requantisers=most_requantisers, begins=begins,
        )  # fmt: skip
        self._tiles = self._timed.tiles()
        self.bias_uses = bias_uses(schedule)
        self._startup = STARTUP + (0 if in_cluster else CONFIGURATION)

    @property
    def block(self) -> Block:
        """The block, and what it knows of the layer."""
        return self._timed.block

    def _waiting(self, waits: PerOperand) -> Block:
        return self._timed.block._replace(
            waits_i=waits.I, waits_w=waits.W, waits_o=waits.O, waits_b=waits.O // self.bias_uses
        )

    def beginning(self, most: int, first: Waiting) -> Beginning:
        """Its first cycles, ``most`` or a few more, in which accesses wait as ``first`` has it, and then no more."""
        waits = int(any(one.any() for one in first))
        block = self._timed.block._replace(waits_o=waits)  # of waits that are none, nothing is played
        known = tuple(np.append(0, one) for one in first)
        state, records, ends = _Walk(self._timed, block, self._tiles).beginning(most, known)  # type: ignore[arg-type]
        progress = np.vstack([[0, 0], records[3, 1 : records[3, 0, COUNT] + 1, AT : NUMBER + 1]])
        counters = Counters(*state[: len(Counters._fields)].tolist())
        ends = ends and counters.operations == self._operations
        cycles = self._startup + sum(counters[1:]) + finish(block, state) - counters.now if ends else None
        return Beginning(cycles, records[:3], progress)

    @cached_property
    def _operations(self) -> int:
        return self.cycles().compute

    def cycles(self, waits: PerOperand = NO_WAITS) -> Cycles:
        """Its cycles; ``waits`` : of an access to I, W and O on average, in `PARTS` of a cycle."""
        block = self._waiting(waits)
        walk = _Walk(self._timed, block, self._tiles)
        counters = Counters(*walk.counters().tolist())
        return Cycles(
            startup=self._startup,
            compute=counters.operations,
            stalls=PerOperand(counters.stall_i, counters.stall_w, counters.stall_o),
            drain=finish(block, walk.state),
        )


def cycles(schedule: Schedule, buffers: PerOperand, *, in_cluster: bool = False) -> Cycles:
    """Cycles of a schedule on an HWC with memories of these sizes that has its lanes, if no access waits: see
    `HwcTiming`."""
    return HwcTiming(schedule, buffers, in_cluster=in_cluster).cycles()


class _Walk:
    """A walk from tile to tile, with what was seen on the way."""

    def __init__(self, timed: Timed, block: Block, tiles: Tiles) -> None:
        self._timed, self._block, self._tiles = timed, block, tiles
        self._numbers: dict[bytes, int] = {}
        self._states: list[State] = []
        self._at = self._number(initial_state(block))

    @property
    def state(self) -> State:
        """The present state."""
        return self._states[self._at]

    def counters(self) -> Ints:
        """Go through all tiles; the sums of what each adds to the counters."""
        gains: list[Ints] = []
        steps: dict[tuple[int, int], tuple[int, int]] = {}
        taken = []
        for kind in self._tiles.kind.tolist():
            step = steps.get((self._at, kind))
            if step is None:
                after = self.state.copy()
                self._play(self._tiles.example[kind], after)
                gains.append(rebase(after))
                step = steps[self._at, kind] = len(gains) - 1, self._number(after)
            taken.append(step[0])
            self._at = step[1]
        sums: Ints = np.bincount(taken, minlength=len(gains)) @ np.array(gains)
        return sums

    def beginning(self, most: int, waiting: Waiting) -> tuple[State, Ints, bool]:
        """The state after the first cycles, what is written down in them, and whether the last tile ends in them."""
        records = np.empty((4, 2 * most, RECORD_FIELDS), np.int64)
        records[:, 0] = 0
        records[:, 0, LIMIT] = most
        state = self.state.copy()
        for tile in range(len(self._tiles.kind)):
            self._play(tile, state, records, waiting)
            if state[0] > most:
                break
        return state, records, tile + 1 == len(self._tiles.kind)

    def _play(self, tile: int, state: State, records: Ints = NO_RECORDS, waiting: Waiting = NONE_KNOWN) -> None:
        """Play one tile; groups count from the last tile's, so that they do not make states differ."""
        timed, block, tiles = self._timed, self._block, self._tiles
        low, high = tiles.low[:, tile].copy(), tiles.high[:, tile].copy()
        state[GROUP] += tiles.low[0, max(tile - 1, 0)] // block.group
        play(block, timed.nest_after(int(tiles.turned[tile])), low, high, state, records, waiting)
        state[GROUP] -= low[0] // block.group

    def _number(self, state: State) -> int:
        number = self._numbers.setdefault(state.tobytes(), len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number


def predicted_cycles(schedule: Schedule, parameters: HwcParameters) -> Cycles:
    """Cycles of a schedule on an HWC, if the memory grants every request at once."""
    # A layer of 16-bit operands may use fewer lanes along y than there are copies of the input.
    inputs = parameters.input_elements * schedule.lanes.y * datapath(schedule.lanes, schedule.bits.I).c
    buffers = PerOperand(inputs, parameters.weight_bytes, parameters.output_bytes)
    return HwcTiming(
        schedule,
        buffers,
        words_ahead=parameters.input_words_ahead,
        in_cluster=parameters.cluster,
        most_requantisers=parameters.most_requantisers,
    ).cycles()


def least_cycles(prediction: Prediction) -> int:
    """What no HWC with three ports can beat: an iteration a cycle, an access a cycle on each port."""
    counts = prediction.counts
    output = counts["tcdm", "B", "read"].words + sum(
        counts["tcdm", "O", direction].words for direction in ("read_partial", "write_partial", "write")
    )
    return max(prediction.iterations, counts["tcdm", "I", "read"].words, counts["tcdm", "W", "read"].words, output)
