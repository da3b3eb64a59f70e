"""The cluster's program, bit by bit: one list of commands in DRAM, for hardware, program writer and documentation.

A program is a list of 32-bit words, little endian, from a word-aligned byte address on. Every command is a header
word (`HEADER`) and as many payload words as the header says. Commands are read in order and pushed to three queues,
which work in parallel, each in its own order. A full queue stalls all commands after the one that does not fit, so a
command that another queue waits for must be early enough in the list.

There is a token counter from each queue to each other queue, zero at the start of a program. A command waits until
every counter that it takes from has a token, takes one of each, does its work, and at its end posts one token to each
of the queues named. A MOVE ends when its last byte has arrived (in the TCDM, or acknowledged by the DRAM); the next
one may start earlier, but they end in order. JOIN ends when the HWCs that it waits for are idle, the others at once.

========== ======== ======================== ==============================================================
opcode     queue    payload                  what it does
========== ======== ======================== ==============================================================
MOVE       load,    a descriptor, see        the DMA moves it: from DRAM to TCDM in the load queue, from
           store    `hwgen.gateware.         TCDM to DRAM in the store queue
                    descriptor`
CONFIGURE  compute  byte address of the      waits until all HWCs of ``mask`` rest, then writes the values to
                    first register, then     consecutive registers of each of them
                    values
CONFIGURE  program  the same                 waits until the queues are empty and all work is done, then writes the
                                             values to consecutive registers of the cluster's rings; what follows is
                                             read after that. It separates the layers of one program. No mask
START      compute  none                     waits until all HWCs of ``mask`` rest, then starts them
JOIN       compute  none                     waits until all HWCs of ``mask`` rest
MULTICAST  compute  leaders of I, of W       waits until all HWCs of ``mask`` rest; from then on each of them reads I
                                             and W together with its leader: a read of the TCDM at the leader's port
                                             answers all HWCs that have this leader (`leaders_word`). Only in a
                                             cluster that is generated with it
SYNC       load,    none                     takes and posts tokens, nothing else
           compute,
           store
END        program  none                     waits until the queues are empty and all work is done, then raises
                                             the interrupt; words after it are fetched and ignored
========== ======== ======================== ==============================================================
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from hwgen.arch.bus import WORD_BITS, WORD_BYTES

__all__ = [
    "HEADER",
    "LEADER_BITS",
    "MAX_HWCS",
    "MAX_PAYLOAD",
    "SHORTEST_PAYLOAD",
    "TOKENS",
    "WORKING_QUEUES",
    "Command",
    "CommandError",
    "Field",
    "Opcode",
    "Queue",
    "configure",
    "decode",
    "encode",
    "end",
    "join",
    "leaders_word",
    "load",
    "multicast",
    "settle",
    "start",
    "store",
    "sync",
]

WORDS = 1 << WORD_BITS
TOKENS = 255
"""Tokens that a counter holds; one more is a fault."""


class Queue(IntEnum):
    """Where a command goes. The first three are also the bits of ``takes`` and ``posts``."""

    LOAD = 0
    COMPUTE = 1
    STORE = 2
    PROGRAM = 3


class Opcode(IntEnum):
    """What a command does. Zero is no opcode, so that a zero word is no command."""

    MOVE = 1
    CONFIGURE = 2
    START = 3
    JOIN = 4
    SYNC = 5
    END = 6
    MULTICAST = 7


WORKING_QUEUES = (Queue.LOAD, Queue.COMPUTE, Queue.STORE)
QUEUES_OF = {
    Opcode.MOVE: (Queue.LOAD, Queue.STORE),
    Opcode.CONFIGURE: (Queue.COMPUTE, Queue.PROGRAM),
    Opcode.START: (Queue.COMPUTE,),
    Opcode.JOIN: (Queue.COMPUTE,),
    Opcode.SYNC: WORKING_QUEUES,
    Opcode.END: (Queue.PROGRAM,),
    Opcode.MULTICAST: (Queue.COMPUTE,),
}
"""The queues that each opcode may stand in."""

WITH_PAYLOAD = (Opcode.MOVE, Opcode.CONFIGURE, Opcode.MULTICAST)
WITH_MASK = (Opcode.CONFIGURE, Opcode.START, Opcode.JOIN, Opcode.MULTICAST)
"""Those that mean HWCs, where they stand in the compute queue."""
SHORTEST_PAYLOAD = {Opcode.MOVE: 1, Opcode.CONFIGURE: 2, Opcode.MULTICAST: 2}
"""Words that these commands have at least; MULTICAST has exactly as many."""


@dataclass(frozen=True)
class Field:
    """Some bits of a word: name, lowest bit, width, and what they mean."""

    name: str
    low: int
    width: int
    meaning: str

    @property
    def limit(self) -> int:
        """The first value that does not fit."""
        return 1 << self.width

    def of(self, word: int) -> int:
        """Its value in a word."""
        return (word >> self.low) % self.limit


HEADER = (
    Field("queue", 0, 2, "0 load, 1 compute, 2 store, 3 the program itself"),
    Field("opcode", 2, 3, "1 MOVE, 2 CONFIGURE, 3 START, 4 JOIN, 5 SYNC, 6 END, 7 MULTICAST"),
    Field("takes", 5, 3, "takes a token from the load (bit 0), compute (1), store (2) queue; not from its own"),
    Field("posts", 8, 3, "posts a token to the load (bit 0), compute (1), store (2) queue; not to its own"),
    Field("reserved", 11, 5, "zero"),
    Field("length", 16, 8, "payload words that follow"),
    Field("mask", 24, 8, "the HWCs meant, one bit each; zero in the program queue"),
)
"""The header of a command."""

_FIELDS = {entry.name: entry for entry in HEADER}
_LOWS = [_FIELDS[name].low for name in ("queue", "opcode", "takes", "posts", "length", "mask")]
_MASKS = _FIELDS["mask"].limit
MAX_PAYLOAD = _FIELDS["length"].limit - 1
MAX_HWCS = _FIELDS["mask"].width
LEADER_BITS = WORD_BITS // MAX_HWCS
"""Bits of a word of leaders for each HWC: the number of the HWC at whose port it reads."""


class CommandError(ValueError):
    """What is no command; the text says why."""


@dataclass(frozen=True)
class Command:
    """One command.

    ``takes`` and ``posts`` are queues other than its own; ``mask`` has a bit for each HWC; ``payload`` are 32-bit
    words.
    """

    queue: Queue
    opcode: Opcode
    takes: frozenset[Queue] = frozenset()
    posts: frozenset[Queue] = frozenset()
    mask: int = 0
    payload: tuple[int, ...] = field(default=())

    def __post_init__(self) -> None:
        name = self.opcode.name
        if self.queue not in QUEUES_OF[self.opcode]:
            expected = " or ".join(queue.name.lower() for queue in QUEUES_OF[self.opcode])
            raise CommandError(f"{name}: expected in queue {expected}, got {self.queue.name.lower()}")
        for what, others in (("takes", self.takes), ("posts", self.posts)):
            if self.queue in others or Queue.PROGRAM in others or (others and self.queue is Queue.PROGRAM):
                raise CommandError(f"{name}: {what}: tokens go from one working queue to another one")
        masked = self.opcode in WITH_MASK and self.queue is Queue.COMPUTE
        if not 0 <= self.mask < _MASKS or (self.mask != 0) != masked:
            wanted = "at least one HWC" if masked else "none"
            raise CommandError(f"{name}: mask: expected {wanted} of {MAX_HWCS}, got {self.mask:#x}")
        least = SHORTEST_PAYLOAD.get(self.opcode, 0)
        most = MAX_PAYLOAD if self.opcode in WITH_PAYLOAD and self.opcode is not Opcode.MULTICAST else least
        if not least <= len(self.payload) <= most:
            raise CommandError(f"{name}: expected {least} to {most} payload words, got {len(self.payload)}")
        if self.payload and not (min(self.payload) >= 0 and max(self.payload) < WORDS):
            raise CommandError(f"{name}: expected payload words of 32 bits")
        if self.opcode is Opcode.CONFIGURE and (self.payload[0] % WORD_BYTES or self.payload[0] >= 1 << 12):
            raise CommandError(f"{name}: expected the byte address of a register, got {self.payload[0]:#x}")

    @property
    def header(self) -> int:
        """The header word."""
        values = (self.queue, self.opcode, _bits(self.takes), _bits(self.posts), len(self.payload), self.mask)
        return sum(value << low for value, low in zip(values, _LOWS, strict=True))

    @property
    def length(self) -> int:
        """Its words."""
        return 1 + len(self.payload)

    @property
    def words(self) -> tuple[int, ...]:
        """Header and payload."""
        return (self.header, *self.payload)


def _bits(queues: Collection[Queue]) -> int:
    return sum(1 << queue for queue in queues)


def load(payload: Sequence[int], *, takes: Iterable[Queue] = (), posts: Iterable[Queue] = ()) -> Command:
    """Move a descriptor's bytes from DRAM to TCDM."""
    return Command(Queue.LOAD, Opcode.MOVE, frozenset(takes), frozenset(posts), 0, tuple(payload))


def store(payload: Sequence[int], *, takes: Iterable[Queue] = (), posts: Iterable[Queue] = ()) -> Command:
    """Move a descriptor's bytes from TCDM to DRAM."""
    return Command(Queue.STORE, Opcode.MOVE, frozenset(takes), frozenset(posts), 0, tuple(payload))


def configure(mask: int, first: int, values: Sequence[int], *, takes: Iterable[Queue] = ()) -> Command:
    """Write consecutive registers, from byte address ``first`` on, of every HWC in the mask."""
    return Command(Queue.COMPUTE, Opcode.CONFIGURE, frozenset(takes), frozenset(), mask, (first, *values))


def start(mask: int, *, takes: Iterable[Queue] = (), posts: Iterable[Queue] = ()) -> Command:
    """Start every HWC in the mask."""
    return Command(Queue.COMPUTE, Opcode.START, frozenset(takes), frozenset(posts), mask)


def join(mask: int, *, takes: Iterable[Queue] = (), posts: Iterable[Queue] = ()) -> Command:
    """Wait until every HWC in the mask has ended."""
    return Command(Queue.COMPUTE, Opcode.JOIN, frozenset(takes), frozenset(posts), mask)


def leaders_word(leaders: Sequence[int]) -> int:
    """The leader of each HWC as MULTICAST has them: that of HWC i in the bits from ``LEADER_BITS * i`` on."""
    return sum(leader << LEADER_BITS * hwc for hwc, leader in enumerate(leaders))


def multicast(mask: int, inputs: Sequence[int], weights: Sequence[int]) -> Command:
    """Let every HWC in the mask read I and W together with its leader; ``inputs`` and ``weights`` name all HWCs'."""
    return Command(Queue.COMPUTE, Opcode.MULTICAST, mask=mask, payload=(leaders_word(inputs), leaders_word(weights)))


def sync(queue: Queue, *, takes: Iterable[Queue] = (), posts: Iterable[Queue] = ()) -> Command:
    """Take and post tokens."""
    return Command(queue, Opcode.SYNC, frozenset(takes), frozenset(posts))


def settle(first: int, values: Sequence[int]) -> Command:
    """Wait until all that was read before is done; then write consecutive registers of the cluster's rings."""
    return Command(Queue.PROGRAM, Opcode.CONFIGURE, payload=(first, *values))


def end() -> Command:
    """The end of the program."""
    return Command(Queue.PROGRAM, Opcode.END)


def encode(commands: Iterable[Command]) -> list[int]:
    """The words of a program."""
    return [word for command in commands for word in command.words]


def decode(words: Sequence[int]) -> Iterator[tuple[int, Command]]:
    """The commands of a program up to its END, each with the index of its header word.

    Raises `CommandError` at the first word that begins no command.
    """
    at = 0
    while at < len(words):
        values = {entry.name: entry.of(words[at]) for entry in HEADER}
        first = at + 1
        payload = tuple(words[first : first + values["length"]])
        try:
            if values["reserved"] or len(payload) != values["length"]:
                raise CommandError("reserved bits are set, or the payload is cut off")
            if values["opcode"] not in list(Opcode):
                raise CommandError(f"no opcode: {values['opcode']}")
            takes, posts = (
                frozenset(queue for queue in Queue if values[what] >> queue & 1) for what in ("takes", "posts")
            )
            command = Command(Queue(values["queue"]), Opcode(values["opcode"]), takes, posts, values["mask"], payload)
        except CommandError as error:
            raise CommandError(f"word {at}: {words[at]:#010x}: {error}") from None
        yield at, command
        if command.opcode is Opcode.END:
            return
        at = first + len(payload)
    raise CommandError(f"word {len(words)}: the program has no END")
