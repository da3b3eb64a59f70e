"""The program reader, and the queues of moves that it fills. The encoding is that of `hwgen.arch.commands`."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.commands import (
    HEADER,
    QUEUES_OF,
    SHORTEST_PAYLOAD,
    WITH_MASK,
    WITH_PAYLOAD,
    WORKING_QUEUES,
    Opcode,
    Queue,
)
from hwgen.arch.descriptor import FIELDS, PACKED_WORDS, SCATTERED_WORDS
from hwgen.arch.latency import COMMANDS_UNDER_WAY
from hwgen.gateware.lib.register_bank import InnerWrite

__all__ = ["HEADER_LAYOUT", "CommandReader", "MoveQueue", "QueueState", "fields_of"]

SCATTERED = next(entry for entry in FIELDS if entry.name == "scattered")

HEADER_LAYOUT = data.StructLayout({entry.name: entry.width for entry in HEADER})


def fields_of(word: Value) -> data.View:
    """The fields of a header word."""
    return data.View(HEADER_LAYOUT, word)


class QueueState(wiring.Signature):
    """The token and status signals of a queue, seen from the queue.

    Members
    -------
    available : In
        One bit for each queue: a token from it is available.
    takes, posts : Out
        One bit for each queue: a token is taken from it, or posted to it, in this cycle.
    waits : Out
        The next command waits for a token of each of these queues.
    idle : Out(1)
        Every command that was started has ended.
    address : Out(32)
        Address of the oldest command that has not ended.
    """

    def __init__(self) -> None:
        count = len(WORKING_QUEUES)
        super().__init__(
            {
                "available": In(count),
                "takes": Out(count),
                "posts": Out(count),
                "waits": Out(count),
                "idle": Out(1),
                "address": Out(32),
            }
        )


class _Command:
    """The current command, the word that goes to its queue, and the rest of the program."""

    def __init__(self) -> None:
        self.header, self.left, self.first = Signal(32), Signal(8), Signal()
        self.word, self.sends, self.room, self.sent = Signal(32), Signal(), Signal(), Signal()
        self.words_left, self.next_address = Signal(30), Signal(32)


class CommandReader(wiring.Component):
    """Reads the program word by word, checks headers, and pushes every command to its queue.

    A queue receives the DRAM address of a command, then its words.

    Parameters
    ----------
    hwcs
        Number of HWCs.
    multicast
        Whether the command MULTICAST is legal.
    settings
        The byte addresses of the registers that a program may write.

    Members
    -------
    start : In(1)
        Start at ``program_address``.
    program_address, program_words : In
    i_word : In(stream)
        The program.
    o_words : Out(stream), one for each queue
    drained : In(1)
        The queues are empty and all work is done.
    o_settings : Out(InnerWrite)
        What CONFIGURE in the program queue writes.
    settles : Out(1)
        A pulse: such a command has waited for all before it.
    ended : Out(1)
        END and all words after it have been read.
    held_up : Out(1)
        A queue is full.
    illegal, endless : Out(1)
        The next word is no valid header; the program has no END. The reader stops.
    address : Out(32)
        Address of the current command.
    """

    def __init__(self, *, hwcs: int, settings: range, multicast: bool = False) -> None:
        self._hwcs = hwcs
        self._settings = settings
        self._queues_of = {
            opcode: queues for opcode, queues in QUEUES_OF.items() if multicast or opcode is not Opcode.MULTICAST
        }
        super().__init__(
            {
                "start": In(1),
                "program_address": In(32),
                "program_words": In(30),
                "i_word": In(stream.Signature(32)),
                "o_words": Out(stream.Signature(32)).array(len(WORKING_QUEUES)),
                "drained": In(1),
                "o_settings": Out(InnerWrite()),
                "settles": Out(1),
                "ended": Out(1),
                "held_up": Out(1),
                "illegal": Out(1),
                "endless": Out(1),
                "address": Out(32),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        at = _Command()
        taken = self.i_word.valid & self.i_word.ready
        with m.If(taken):
            m.d.sync += [at.words_left.eq(at.words_left - 1), at.next_address.eq(at.next_address + 4)]
        with m.If(self.start):
            m.d.sync += [
                at.words_left.eq(self.program_words),
                at.next_address.eq(self.program_address),
                self.address.eq(self.program_address),
            ]
        self._give(m, at)
        with m.FSM(name="read"):
            with m.State("Idle"):
                with m.If(self.start):
                    m.next = "Header"
            self._take_header(m, at)
            self._take_payload(m, at)
            self._take_settings(m, at)
            with m.State("End"):
                m.d.comb += [self.i_word.ready.eq(1), self.ended.eq(at.words_left == 0)]
            with m.State("Illegal"):
                m.d.comb += self.illegal.eq(1)
            with m.State("Endless"):
                m.d.comb += self.endless.eq(1)
        return m

    def _give(self, m: Module, at: "_Command") -> None:
        """Push a word to the queue that the header names."""
        room = Signal()
        m.d.comb += [at.sent.eq(at.sends & room), self.held_up.eq(at.sends & ~room), at.room.eq(room)]
        for queue in WORKING_QUEUES:
            output = self.o_words[queue]
            with m.If(fields_of(at.header).queue == queue):
                m.d.comb += [output.valid.eq(at.sends), room.eq(output.ready)]
            m.d.comb += output.payload.eq(at.word)

    def _take_header(self, m: Module, at: "_Command") -> None:
        """Check the header, then push address and header to the queue."""
        incoming = fields_of(self.i_word.payload)
        with m.State("Header"):
            m.d.comb += self.i_word.ready.eq(1)
            with m.If(self.i_word.valid):
                m.d.sync += [
                    at.header.eq(self.i_word.payload),
                    at.left.eq(incoming.length),
                    self.address.eq(at.next_address),
                    at.first.eq(1),
                ]
                m.next = "Address"
                with m.If(self._illegal(incoming)):
                    m.next = "Illegal"
                with m.Elif(incoming.opcode == Opcode.END):
                    m.next = "End"
                with m.Elif(incoming.queue == Queue.PROGRAM):
                    m.next = "Drain"
            with m.Elif(at.words_left == 0):
                m.next = "Endless"
        with m.State("Address"):
            m.d.comb += [at.sends.eq(1), at.word.eq(self.address)]
            with m.If(at.sent):
                m.next = "Send-Header"
        with m.State("Send-Header"):
            m.d.comb += [at.sends.eq(1), at.word.eq(at.header)]
            with m.If(at.sent):
                m.next = "Header"
                with m.If(at.left != 0):
                    m.next = "Payload"

    def _take_payload(self, m: Module, at: "_Command") -> None:
        """Push the payload. Its length is in the header, and for MOVE also follows from the descriptor."""
        length = Mux(at.word[SCATTERED.low], SCATTERED_WORDS, PACKED_WORDS)
        wrong = (fields_of(at.header).opcode == Opcode.MOVE) & at.first & (at.left != length)
        with m.State("Payload"):
            m.d.comb += at.word.eq(self.i_word.payload)
            with m.If(self.i_word.valid & wrong):
                m.next = "Illegal"
            with m.Elif(self.i_word.valid):
                m.d.comb += [at.sends.eq(1), self.i_word.ready.eq(at.room)]
                with m.If(at.sent):
                    m.d.sync += [at.left.eq(at.left - 1), at.first.eq(0)]
                    with m.If(at.left == 1):
                        m.next = "Header"
            with m.Elif(at.words_left == 0):
                m.next = "Endless"

    def _take_settings(self, m: Module, at: "_Command") -> None:
        """Wait for all work, then write the payload to registers of the cluster."""
        word, target = self.i_word, self.o_settings
        known = (target.address >= self._settings.start) & (target.address < self._settings.stop)
        with m.State("Drain"):
            with m.If(self.drained):
                m.d.comb += self.settles.eq(1)
                m.next = "Register"
        m.d.comb += target.data.eq(word.payload)
        for name, last in (("Register", False), ("Setting", True)):
            with m.State(name):
                with m.If(word.valid & last & ~known):
                    m.next = "Illegal"
                with m.Elif(word.valid):
                    m.d.comb += [word.ready.eq(1), target.write.eq(last)]
                    m.d.sync += [
                        at.left.eq(at.left - 1),
                        target.address.eq(target.address + WORD_BYTES if last else word.payload),
                    ]
                    m.next = "Setting"
                    if last:
                        with m.If(at.left == 1):
                            m.next = "Header"
                with m.Elif(at.words_left == 0):
                    m.next = "Endless"

    def _illegal(self, header: data.View) -> Value:
        """Whether the word is no valid header."""
        legal: Value = Cat()
        for opcode, queues in self._queues_of.items():
            here = Cat(header.queue == queue for queue in queues).any() & (header.opcode == opcode)
            masked = (header.queue == Queue.COMPUTE) if opcode in WITH_MASK else False
            here &= (header.mask != 0) == masked
            least = SHORTEST_PAYLOAD.get(opcode, 0)
            longer = opcode in WITH_PAYLOAD and opcode is not Opcode.MULTICAST
            here &= (header.length >= least) if longer else (header.length == least)
            legal = Cat(legal, here)
        own = Cat(header.queue == queue for queue in WORKING_QUEUES)
        tokens = header.takes | header.posts
        wrong = ((tokens & own) != 0) | ((header.queue == Queue.PROGRAM) & (tokens != 0))
        return ~legal.any() | wrong | (header.reserved != 0) | ((header.mask >> self._hwcs) != 0)


class MoveQueue(wiring.Component):
    """Sends descriptors to a channel of the DMA, and posts their tokens when they have completed.

    The channel works on several descriptors at a time; they complete in order.

    Members
    -------
    i_word : In(stream)
        Address, header and payload of each command.
    o_word : Out(stream)
        Payloads.
    done : In(1)
        A pulse: a descriptor has completed.
    state : Out(QueueState)
    """

    i_word: In(stream.Signature(32))
    o_word: Out(stream.Signature(32))
    done: In(1)
    state: Out(QueueState())

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        state, count = self.state, len(WORKING_QUEUES)
        layout = data.StructLayout({"address": 32, "posts": count, "moves": 1})
        m.submodules.under_way = under_way = SyncFIFO(width=layout.size, depth=COMMANDS_UNDER_WAY)
        begun, oldest = Signal(layout), data.View(layout, under_way.r_data)
        address, left, moved = Signal(32), Signal(8), Signal(range(COMMANDS_UNDER_WAY + 1))
        header = fields_of(self.i_word.payload)
        resting, ends = Signal(), Signal()
        m.d.comb += [
            under_way.w_data.eq(begun),
            begun.address.eq(address),
            begun.posts.eq(header.posts),
            begun.moves.eq(header.opcode == Opcode.MOVE),
            self.o_word.payload.eq(self.i_word.payload),
            ends.eq(under_way.r_rdy & ((moved != 0) | ~oldest.moves)),
            under_way.r_en.eq(ends),
            state.posts.eq(Mux(ends, oldest.posts, 0)),
            state.address.eq(Mux(under_way.r_rdy, oldest.address, address)),
            state.idle.eq(resting & ~under_way.r_rdy),
        ]
        m.d.sync += moved.eq(moved + self.done - (ends & oldest.moves))
        with m.FSM(name="move"):
            with m.State("Address"):
                m.d.comb += [self.i_word.ready.eq(1), resting.eq(~self.i_word.valid)]
                with m.If(self.i_word.valid):
                    m.d.sync += address.eq(self.i_word.payload)
                    m.next = "Header"
            with m.State("Header"):
                with m.If(self.i_word.valid):
                    m.d.comb += state.waits.eq(header.takes & ~state.available)
                    with m.If((state.waits == 0) & under_way.w_rdy):
                        m.d.comb += [self.i_word.ready.eq(1), state.takes.eq(header.takes), under_way.w_en.eq(1)]
                        m.d.sync += left.eq(header.length)
                        m.next = "Address"
                        with m.If(begun.moves):
                            m.next = "Payload"
            with m.State("Payload"):
                m.d.comb += [self.o_word.valid.eq(self.i_word.valid), self.i_word.ready.eq(self.o_word.ready)]
                with m.If(self.i_word.valid & self.o_word.ready):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.next = "Address"
        return m
