"""An AXI4 subordinate that accepts addresses and data in any order that AXI allows, and watches its manager."""

from collections import defaultdict, deque
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Any

from hwgen.arch.bus import BURST_BEATS, PAGE_BYTES
from hwgen.gateware.bus.axi import INCR, AxiSignature, Response

__all__ = ["Order", "Subordinate"]

CHANNELS = {
    channel: [name for name, member in AxiSignature(32).members.items() if name.startswith(channel)]
    for channel in ("aw", "w", "ar")
}
"""What a manager drives on each channel: its handshake and what it must hold until that."""


class Order(Enum):
    """In which order address and data of a write are accepted."""

    ADDRESS_FIRST = "no beat before its address is accepted"
    DATA_FIRST = "no address before its first beat is accepted"
    LAST_FIRST = "no address before its last beat is accepted"
    TOGETHER = "an address with its first beat"
    ANY = "each when it likes"


@dataclass(frozen=True)
class Address:
    """An address that was accepted, and the number of its beats."""

    id: int
    addr: int
    beats: int


class Subordinate:
    """A memory behind an AXI4 port in a simulation.

    A burst's data are accepted with its address, before or after it, one burst ahead at most. What AXI asks of a
    manager is asserted: valid and payload stay until ready; bursts are INCR, of full beats, and do not cross 4 KiB;
    the last beat is marked; strobes are none below the address.

    Parameters
    ----------
    port : of the manager.
    memory : what it reads and writes, from address 0 on.
    order : of the two channels of a write.
    eagerness : how probable it is that a channel moves in a cycle.
    error_rate : how probable it is that a beat that is read, or a burst that is written, is answered with an error.

    Members
    -------
    raised : the cycles in which an address was first offered, by channel.
    errors : the cycles in which an error was taken, with the answer.
    bursts : the addresses that were accepted, by channel.
    """

    def __init__(
        self,
        port: Any,
        memory: bytearray,
        random: Random,
        *,
        order: Order = Order.ANY,
        eagerness: float = 1.0,
        error_rate: float = 0.0,
    ) -> None:
        self.port, self.memory, self.random, self.order = port, memory, random, order
        self.eagerness, self.error_rate = eagerness, error_rate
        self.width = len(port.wdata) // 8
        self.now = 0
        self.raised: dict[str, list[int]] = {"aw": [], "ar": []}
        self.errors: list[tuple[int, Response]] = []
        self.bursts: dict[str, list[Address]] = {"aw": [], "ar": []}
        self._addresses: deque[Address] = deque()  # without their data
        self._beats: list[tuple[int, int]] = []  # data and strobes that no write has yet
        self._complete = False
        self._answers: dict[int, deque[Response]] = defaultdict(deque)
        self._reads: dict[int, deque[tuple[bytes, Response, bool]]] = defaultdict(deque)
        self._offered: dict[str, int | None] = {"b": None, "r": None}
        self._kept: dict[str, tuple[int, ...] | None] = dict.fromkeys(CHANNELS)

    @property
    def idle(self) -> bool:
        """Whether all that was accepted is complete and answered."""
        return not (self._addresses or self._beats or any(self._answers.values()) or any(self._reads.values()))

    def _of(self, name: str) -> Any:
        """A signal of the port."""
        return getattr(self.port, name)

    def _moves(self) -> bool:
        return self.random.random() < self.eagerness

    def _accepts(self, ctx: Any) -> tuple[bool, bool]:
        """Whether the address of a write, and a beat, are accepted in this cycle."""
        address, beat = (bool(ctx.get(self._of(name))) for name in ("awvalid", "wvalid"))
        free = not self._complete  # of a burst that waits for its address
        match self.order:
            case Order.ADDRESS_FIRST:
                return not self._addresses, bool(self._addresses)
            case Order.DATA_FIRST:
                return bool(self._beats), free
            case Order.LAST_FIRST:
                return self._complete, free
            case Order.TOGETHER:
                begins = address and beat and not self._addresses and not self._beats
                return begins, begins or bool(self._addresses)
            case Order.ANY:
                return not self._addresses, free
        raise AssertionError(self.order)

    def drive(self, ctx: Any) -> None:
        """What it shows in this cycle."""
        self._watch(ctx)
        address, beat = self._accepts(ctx)
        both = self._moves() if self.order is Order.TOGETHER else None
        ctx.set(self.port.awready, address and (self._moves() if both is None else both))
        ctx.set(self.port.wready, beat and (self._moves() if both is None else both))
        ctx.set(self.port.arready, self._moves())
        for channel, waiting in (("r", self._reads), ("b", self._answers)):
            ids = sorted(number for number, queue in waiting.items() if queue)
            if self._offered[channel] is None and ids and self._moves():
                self._offered[channel] = self.random.choice(ids)
            number = self._offered[channel]
            ctx.set(self._of(f"{channel}valid"), number is not None)
            if number is not None:
                ctx.set(self._of(f"{channel}id"), number)
        if self._offered["r"] is not None:
            data, response, last = self._reads[self._offered["r"]][0]
            ctx.set(self.port.rdata, int.from_bytes(data, "little"))
            ctx.set(self.port.rresp, response.value)
            ctx.set(self.port.rlast, last)
        if self._offered["b"] is not None:
            ctx.set(self.port.bresp, self._answers[self._offered["b"]][0].value)

    def sample(self, ctx: Any) -> None:
        """What is handed over in this cycle."""
        taken = {
            channel: bool(ctx.get(self._of(f"{channel}valid")) and ctx.get(self._of(f"{channel}ready")))
            for channel in ("aw", "w", "ar", "r", "b")
        }
        for channel in CHANNELS:
            if taken[channel]:
                self._kept[channel] = None
        for channel in ("aw", "ar"):
            if taken[channel]:
                self._accept(ctx, channel)
        if taken["w"]:
            self._beats.append((ctx.get(self.port.wdata), ctx.get(self.port.wstrb)))
            self._complete = bool(ctx.get(self.port.wlast))
            assert len(self._beats) <= BURST_BEATS
        self._write()
        for channel, waiting in (("r", self._reads), ("b", self._answers)):
            number = self._offered[channel]
            if taken[channel] and number is not None:
                answer = waiting[number].popleft()
                response = answer[1] if isinstance(answer, tuple) else answer
                if response is not Response.OKAY:
                    self.errors.append((self.now, response))
                self._offered[channel] = None
        self.now += 1

    def _watch(self, ctx: Any) -> None:
        """What a manager offers, it keeps offering."""
        for channel, names in CHANNELS.items():
            valid = ctx.get(self._of(f"{channel}valid"))
            values = tuple(ctx.get(self._of(name)) for name in names if not name.endswith("ready"))
            kept = self._kept[channel]
            assert kept is None or values == kept, f"{channel} changed before it was accepted"
            if valid and kept is None and channel != "w":
                self.raised[channel].append(self.now)
            self._kept[channel] = values if valid else None

    def _response(self) -> Response:
        bad = self.random.random() < self.error_rate
        return self.random.choice([Response.EXOKAY, Response.SLVERR, Response.DECERR]) if bad else Response.OKAY

    def _accept(self, ctx: Any, channel: str) -> None:
        number, addr, length, size, burst = (
            ctx.get(self._of(channel + name)) for name in ("id", "addr", "len", "size", "burst")
        )
        one = Address(number, addr, length + 1)
        first = addr - addr % self.width
        assert (1 << size, burst) == (self.width, INCR)
        assert first // PAGE_BYTES == (first + length * self.width) // PAGE_BYTES
        self.bursts[channel].append(one)
        if channel == "aw":
            self._addresses.append(one)
            return
        for beat in range(one.beats):
            at = first + beat * self.width
            value = bytes(self.memory[at : at + self.width])
            self._reads[number].append((value, self._response(), beat == length))

    def _write(self) -> None:
        """A burst whose address and data are there is written and answered."""
        if not (self._addresses and self._complete):
            assert not self._addresses or len(self._beats) <= self._addresses[0].beats, "a beat without its mark"
            return
        one = self._addresses.popleft()
        assert len(self._beats) == one.beats, "the mark of the last beat"
        at, low = one.addr - one.addr % self.width, one.addr % self.width
        for number, (data, strobe) in enumerate(self._beats):
            assert number or not strobe % (1 << low), "bytes below the address"
            for lane in range(self.width):
                if strobe >> lane & 1:
                    self.memory[at + number * self.width + lane] = data >> 8 * lane & 0xFF
        self._beats, self._complete = [], False
        self._answers[one.id].append(self._response())
