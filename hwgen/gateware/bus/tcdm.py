"""The port to the tightly coupled data memory: the PULP handshake, and a master for it."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BITS, WriteAnswers
from hwgen.arch.latency import ACCESSES_BESIDE, ACCESSES_IN_FLIGHT, WRITE_ANSWER_LIMIT

__all__ = [
    "ACCESSES",
    "Request",
    "TcdmMaster",
    "TcdmRegister",
    "TcdmSignature",
    "read_request",
    "request_layout",
    "response_signature",
]

ACCESSES = "accesses"
"""Name of the memory of the accesses that are not complete."""
ANSWER = ("r_valid", "r_opc", "r_rdata")


class TcdmSignature(wiring.Signature):
    """One port, seen from the master.

    A request (``req`` with its payload) is stable until ``gnt``. Every granted read is answered by one ``r_valid``,
    in order, in a later cycle; ``r_opc`` marks an error. Either every granted write is answered so too, or none is.

    Parameters
    ----------
    width
        Bits of a word: what one access moves.

    Members
    -------
    req : Out(1)
    gnt : In(1)
    add : Out(32)
        Byte address, a multiple of the word's bytes.
    wen : Out(1)
        1 reads, 0 writes.
    be : Out(width // 8)
        Bytes that are written, or that the reader uses.
    wdata : Out(width)
    r_valid, r_opc : In(1)
    r_rdata : In(width)
    """

    def __init__(self, width: int = WORD_BITS) -> None:
        super().__init__(
            {
                "req": Out(1),
                "gnt": In(1),
                "add": Out(32),
                "wen": Out(1),
                "be": Out(width // 8),
                "wdata": Out(width),
                "r_valid": In(1),
                "r_opc": In(1),
                "r_rdata": In(width),
            }
        )


class Request(data.Struct):
    """One access of a 32-bit port: word-aligned byte address, direction, used bytes, data to write."""

    address: 32
    write: 1
    enable: 4
    data: 32


def request_layout(width: int) -> data.StructLayout:
    """The same for a port of ``width`` bits."""
    return data.StructLayout({"address": 32, "write": 1, "enable": width // 8, "data": width})


def response_signature(width: int = WORD_BITS) -> wiring.Signature:
    """Data of a read, in the cycle in which it comes."""
    return wiring.Signature({"valid": Out(1), "data": Out(width)})


def read_request(address: ValueLike, enable: ValueLike, width: int = WORD_BITS) -> Value:
    """The whole payload of a read, so that no part of it is a constant of its own."""
    whole = Cat(address, C(0, 32))[:32]
    return Cat(whole, C(0, 1), Value.cast(enable)[: width // 8], C(0, width))


class TcdmRegister(wiring.Component):
    """A register before a block that grants every request at once and answers it in the next cycle.

    What comes in reaches nothing but this register. Requests are still granted at once; answers come a cycle later.

    Members
    -------
    outer : In(TcdmSignature)
    inner : Out(TcdmSignature)
        To the block; its ``gnt`` is taken to be set.
    """

    outer: In(TcdmSignature())
    inner: Out(TcdmSignature())

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        outer, inner = self.outer, self.inner
        m.d.comb += [outer.gnt.eq(1), *(getattr(outer, name).eq(getattr(inner, name)) for name in ANSWER)]
        m.d.sync += inner.req.eq(outer.req)
        with m.If(outer.req):
            m.d.sync += [getattr(inner, name).eq(getattr(outer, name)) for name in ("add", "wen", "be", "wdata")]
        return m


class TcdmMaster(wiring.Component):
    """Turns a stream of requests into accesses, and returns the data of reads.

    All outputs of the port are registers, and ``gnt`` reaches nothing but this component's registers: a request that
    comes while another one waits for its grant is kept beside it. With a memory that grants at once there is a
    request in every cycle, as long as answers come at most ``in_flight`` cycles after their grant.

    Read data has no back-pressure: the requester must have room for it. Answers to writes are not passed on.

    *Answers to writes.* PULP's memories answer every read; whether they answer writes is a parameter of the
    interconnect. Answers carry no name, so that an answer after a write and a read can be told only by who knows
    which kind of memory it is: unless it is told, this component finds out with the first write. It lets no read
    follow until that write has been answered, or has not been for `WRITE_ANSWER_LIMIT` cycles after its grant. From
    then on a write is complete with its answer, or with its grant. Errors of writes are seen if their answers say so.
    A memory that answers only those writes that fail counts as one that answers none: the error is seen, its address
    may be that of another access. Where there are reads, an answer that none of them waits for is an error, too.

    Parameters
    ----------
    in_flight
        Latency of the memory in cycles, from grant to answer, up to which there is an access in every cycle. At most
        two more accesses than that are accepted and not complete.
    reads, writes
        Whether requests read, whether they write: what is not needed is not there.
    tag
        Bits that accompany a request to the port.
    width
        Bits of a word of the port.
    address_bits
        Of an address: those above are zero on the port.

    Members
    -------
    i_request : In(stream of Request)
        ``ready`` depends on registers and on the direction of the request.
    o_response : Out
        ``valid`` for one cycle per read, in order.
    port : Out(TcdmSignature)
    finishes : Out(1)
        An access is complete, in order: it was answered, or is a write that is not.
    idle : Out(1)
        No request is pending and no access is outstanding.
    fault : Out(1)
        An access was answered with an error; ``fault_address`` is the address of the first one. Held until reset.
    fault_address : Out(32)
    answers : In(WriteAnswers), finds : Out(WriteAnswers)
        If it ``writes``: what is known, and, for one cycle, what has been found out. To be kept by the owner, who may
        reset this component more often than the memory changes its habits.
    i_tag : In, o_tag : Out
        If there is a tag: of the request that is offered, and of the one on the port.
    """

    def __init__(
        self,
        *,
        in_flight: int = ACCESSES_IN_FLIGHT,
        reads: bool = True,
        writes: bool = False,
        tag: int = 0,
        width: int = WORD_BITS,
        address_bits: int = 32,
    ) -> None:
        if not reads and not writes:
            raise ValueError("reads, writes: expected one of them at least")
        if in_flight < 1:
            raise ValueError(f"in_flight: expected 1 or more, got {in_flight}")
        self._reads, self._writes, self._tag, self._width = reads, writes, tag, width
        # Lower bits of a byte address that a word does not need.
        self._shift, self._address_bits = (width // 8 - 1).bit_length(), address_bits
        self._limit = in_flight + ACCESSES_BESIDE
        tags = {"i_tag": In(tag), "o_tag": Out(tag)} if tag else {}
        super().__init__(
            {
                "i_request": In(stream.Signature(request_layout(width))),
                "o_response": Out(response_signature(width)),
                "port": Out(TcdmSignature(width)),
                "finishes": Out(1),
                "idle": Out(1),
                "fault": Out(1),
                "fault_address": Out(32),
                **({"answers": In(WriteAnswers), "finds": Out(WriteAnswers)} if writes else {}),
                **tags,
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        self._accepts, self._holds, has_place, may_accept = Signal(), Signal(), Signal(), Signal(init=1)
        # Accepted accesses that may be answered.
        self._tracks = Signal()
        request, port = self.i_request, self.port
        m.d.comb += [
            request.ready.eq(has_place & may_accept & ~(self._holds & ~request.payload.write)),
            self._accepts.eq(request.valid & request.ready),
            self._tracks.eq(self._accepts & ~self._answers_nothing(request.payload)),
            self.o_response.data.eq(port.r_rdata),
        ]
        self._register(m, has_place)
        oldest_writes, oldest_address = self._remember(m)
        # Of those the ones that are not complete; whether there are some.
        level, following = Signal(range(self._limit + 1)), Signal(range(self._limit + 2))
        opened = Signal()
        m.d.comb += following.eq(Mux(self._tracks, level + 1, level - 1))
        m.d.comb += self.idle.eq(~opened & ~(self._writes & (port.req | ~has_place)))
        with m.If(self._tracks ^ self.finishes):
            m.d.sync += [level.eq(following), opened.eq(following != 0), may_accept.eq(following != self._limit)]
        fails = Signal()
        if self._writes:
            unexpected = self._follow_writes(m, opened, oldest_writes)
        else:
            unexpected = C(0)
            m.d.comb += self.finishes.eq(port.r_valid & opened)
        m.d.comb += [
            self.o_response.valid.eq(port.r_valid & ~oldest_writes),
            fails.eq(port.r_valid & (port.r_opc | unexpected)),
        ]
        with m.If(fails & ~self.fault):
            m.d.sync += [self.fault.eq(1), self.fault_address.eq(oldest_address)]
        return m

    @property
    def _mixed(self) -> bool:
        return self._reads and self._writes

    def _answers_nothing(self, request: wiring.PureInterface) -> Value:
        """Whether a request is a write that needs no answer: where reads are made, too, it is not waited for.

        Its answer must not be awaited in order: it would pass in a cycle in which a read is answered.
        """
        if not self._mixed:
            return C(0)
        return request.write & (self.answers == WriteAnswers.NOT_GIVEN)

    def _register(self, m: Module, has_place: Signal) -> None:
        """The request on the port, and the next one, which waits for its grant."""
        port, request = self.port, self.i_request.payload
        parts: dict[str, tuple[int, Value]] = {
            "address": (self._address_bits - self._shift, self._place(request)),
            "enable": (self._width // 8, request.enable),
        }
        if self._writes:
            parts["data"] = self._width, request.data
        if self._mixed:
            parts["reads"] = 1, ~request.write
            parts["tracked"] = 1, self._tracks
        if self._tag:
            parts["tag"] = self._tag, self.i_tag
        layout = data.StructLayout({name: width for name, (width, _) in parts.items()})
        offered, spare, shown = Signal(layout), Signal(layout, reset_less=True), Signal(layout, reset_less=True)
        spare_full, moves = Signal(), Signal()
        self._grants = Signal()
        m.d.comb += [
            *(getattr(offered, name).eq(value) for name, (_, value) in parts.items()),
            moves.eq(~port.req | port.gnt),
            has_place.eq(~spare_full),
            port.add.eq(shown.address << self._shift),
            port.be.eq(shown.enable),
            port.wen.eq(shown.reads if self._mixed else int(self._reads)),
            # Of the accesses that are tracked.
            self._grants.eq(port.req & port.gnt & (shown.tracked if self._mixed else 1)),
        ]
        if self._writes:
            m.d.comb += port.wdata.eq(shown.data)
        if self._tag:
            m.d.comb += self.o_tag.eq(shown.tag)
        with m.If(~spare_full):
            m.d.sync += spare.eq(offered)
        with m.If(moves):
            m.d.sync += [
                port.req.eq(self._accepts | spare_full),
                spare_full.eq(0),
                shown.eq(Mux(spare_full, spare.as_value(), offered.as_value())),
            ]
        with m.Elif(self._accepts):
            m.d.sync += spare_full.eq(1)

    def _remember(self, m: Module) -> tuple[Value, Value]:
        """Direction and byte address of the oldest access that is tracked and not complete."""
        request, mixed = self.i_request.payload, self._mixed
        address = self._address_bits - self._shift
        m.submodules[ACCESSES] = accesses = Memory(shape=address + mixed, depth=self._limit, init=[])
        write, read = accesses.write_port(), accesses.read_port(domain="comb")
        kept = Cat(self._place(request), request.write)
        m.d.comb += [write.en.eq(self._tracks), write.data.eq(kept[: address + mixed])]
        with m.If(self._tracks):
            m.d.sync += write.addr.eq(self._following(write.addr))
        with m.If(self.finishes):
            m.d.sync += read.addr.eq(self._following(read.addr))
        writes = read.data[-1] if mixed else C(int(self._writes), 1)
        return writes, Cat(C(0, self._shift), read.data[:address])

    def _place(self, request: wiring.PureInterface) -> Value:
        """The address of a word, in words."""
        return request.address[self._shift : self._address_bits]

    def _following(self, place: Value) -> Value:
        """The next place in the memory of accesses."""
        return Mux(place == self._limit - 1, 0, place + 1)

    def _follow_writes(self, m: Module, opened: Signal, oldest_writes: Value) -> Value:
        """When accesses are complete, if there are writes; whether no access waits for an answer that has come."""
        port, silent = self.port, self.answers == WriteAnswers.NOT_GIVEN
        # Accesses that are granted and not complete; whether there are some.
        count, following, some = Signal(range(self._limit + 1)), Signal(range(self._limit + 2)), Signal()
        m.d.comb += [
            following.eq(Mux(self._grants, count + 1, count - 1)),
            self.finishes.eq(some & ((oldest_writes & silent) | port.r_valid)),
        ]
        with m.If(self._grants ^ self.finishes):
            m.d.sync += [count.eq(following), some.eq(following != 0)]
        # To find out: no read follows the first write until it is known, nor before earlier writes are complete.
        waited, wrote, settled = Signal(range(WRITE_ANSWER_LIMIT)), Signal(), Signal()
        with m.If((self.answers == WriteAnswers.UNKNOWN) & some & oldest_writes):
            m.d.sync += waited.eq(Mux(port.r_valid, 0, waited + 1))
            # That a failing write is answered tells nothing.
            with m.If(port.r_valid & ~port.r_opc):
                m.d.comb += self.finds.eq(WriteAnswers.GIVEN)
            with m.Elif(waited == WRITE_ANSWER_LIMIT - 1):
                m.d.comb += self.finds.eq(WriteAnswers.NOT_GIVEN)
        if not self._reads:
            return C(0)
        with m.If(self._accepts & self.i_request.payload.write):
            m.d.sync += wrote.eq(1)
        with m.If(silent & ~opened):
            m.d.sync += settled.eq(1)
        m.d.comb += self._holds.eq(wrote & (self.answers != WriteAnswers.GIVEN) & ~settled)
        return silent & (~some | oldest_writes)
