"""Moves one lane vector between its register and the shared memory: partial sums in and out, final outputs out."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.gateware.requantise import Requantise
from hwgen.gateware.tcdm import Request, read_request

__all__ = ["VectorMove", "VectorPort"]

PIXELS_PER_WORD = 4


class VectorMove(enum.Enum, shape=2):
    """What is to be done with the vector."""

    LOAD_PARTIALS = 0
    STORE_PARTIALS = 1
    STORE_OUTPUTS = 2
    FETCH_BIAS = 3


class VectorPort(wiring.Component):
    """One register of a vector's width, and the moves it can make.

    Parameters
    ----------
    lanes
        Sums of a vector.

    Members
    -------
    start : In(1)
        Begin ``move``; everything that goes with it is held until ``done``.
    move : In(VectorMove)
    address : In(32)
        Byte address of the first element, or of the bias.
    width : In
        Elements of the vector that exist.
    ends_row : In(1)
        The row ends with this vector: a word that it does not fill is written all the same, else it waits for the
        next vector.
    shift, relu : In
        For outputs.
    capture : In(1)
        Take ``captured`` as the vector.
    captured : In
    vector : Out
    done : Out(1)
        The move has ended; a pulse.
    o_request, i_response
        To the memory port.
    """

    def __init__(self, *, lanes: int) -> None:
        self._lanes = lanes
        self._sums = data.ArrayLayout(signed(32), lanes)
        super().__init__(
            {
                "start": In(1),
                "move": In(VectorMove),
                "address": In(32),
                "width": In(range(lanes + 1)),
                "ends_row": In(1),
                "shift": In(5),
                "relu": In(1),
                "capture": In(1),
                "captured": In(self._sums),
                "vector": Out(self._sums),
                "done": Out(1),
                "o_request": Out(stream.Signature(Request)),
                "i_response": In(wiring.Signature({"valid": Out(1), "data": Out(32)})),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        address, left, bias = Signal(32), Signal(range(self._lanes + 1)), Signal(32)
        with m.If(self.capture):
            m.d.sync += self.vector.eq(self.captured)
        packed = self._pack(m, address, left, bias)
        with m.FSM(name="move"):
            with m.State("Idle"):
                with m.If(self.start):
                    m.d.sync += [address.eq(self.address), left.eq(self.width)]
                    with m.Switch(self.move):
                        with m.Case(VectorMove.LOAD_PARTIALS):
                            m.next = "Load-Partials"
                        with m.Case(VectorMove.STORE_PARTIALS):
                            m.next = "Store-Partials"
                        with m.Case(VectorMove.STORE_OUTPUTS):
                            m.next = "Store-Outputs"
                        with m.Case(VectorMove.FETCH_BIAS):
                            m.next = "Fetch-Bias"
            self._load_partials(m, address, left)
            with m.State("Store-Partials"):
                self._request_write(m, address, 0xF, self.vector[0])
                with m.If(self.o_request.ready):
                    m.d.sync += [
                        address.eq(address + 4),
                        left.eq(left - 1),
                        self.vector.eq(self.vector.as_value() >> 32),
                    ]
                    with m.If(left == 1):
                        m.d.comb += self.done.eq(1)
                        m.next = "Idle"
            self._store_outputs(m, address, left, *packed)
            with m.State("Fetch-Bias"):
                m.d.comb += [self.o_request.valid.eq(1), self.o_request.payload.eq(read_request(address, 0xF))]
                with m.If(self.o_request.ready):
                    m.next = "Await-Bias"
            with m.State("Await-Bias"):
                with m.If(self.i_response.valid):
                    m.d.sync += bias.eq(self.i_response.data)
                    m.d.comb += self.done.eq(1)
                    m.next = "Idle"
        return m

    def _request_write(self, m: Module, address: Value, enable: object, word: Value) -> None:
        request = self.o_request.payload
        m.d.comb += [
            self.o_request.valid.eq(1),
            request.address.eq(address & ~3),
            request.write.eq(1),
            request.enable.eq(enable),
            request.data.eq(word),
        ]

    def _load_partials(self, m: Module, address: Signal, left: Signal) -> None:
        """Sums enter at the top and are moved down, also over the lanes that the row does not fill."""
        unanswered = Signal(range(self._lanes + 1))
        turn = Signal(range(self._lanes + 1))
        with m.State("Load-Partials"):
            m.d.comb += [
                self.o_request.valid.eq(left != 0),
                self.o_request.payload.eq(read_request(address, 0xF)),
            ]
            asks = (left != 0) & self.o_request.ready
            with m.If(asks):
                m.d.sync += [address.eq(address + 4), left.eq(left - 1)]
            m.d.sync += unanswered.eq(unanswered + asks - self.i_response.valid)
            with m.If(self.i_response.valid):
                m.d.sync += self.vector.eq(Cat(self.vector.as_value()[32:], self.i_response.data))
            with m.If((left == 0) & (unanswered == 0)):
                m.d.sync += turn.eq(self._lanes - self.width)
                m.next = "Align-Partials"
        with m.State("Align-Partials"):
            with m.If(turn == 0):
                m.d.comb += self.done.eq(1)
                m.next = "Idle"
            with m.Else():
                m.d.sync += [self.vector.eq(self.vector.as_value().rotate_right(32)), turn.eq(turn - 1)]

    def _pack(self, m: Module, address: Signal, left: Signal, bias: Signal) -> tuple[Signal, Signal, Signal]:
        """The next four pixels, moved to their place in the word: how many, the bytes, which are used."""
        pixels = Signal(32)
        for i in range(PIXELS_PER_WORD):
            m.submodules[f"requantise_{i}"] = unit = Requantise()
            m.d.comb += [
                unit.sum.eq(self.vector[i]),
                unit.bias.eq(bias),
                unit.shift.eq(self.shift),
                unit.relu.eq(self.relu),
                pixels.word_select(i, 8).eq(unit.value),
            ]
        taken = Signal(range(PIXELS_PER_WORD + 1))
        spread, enable = Signal(64), Signal(2 * PIXELS_PER_WORD)
        m.d.comb += [
            taken.eq(Mux(left < PIXELS_PER_WORD, left, PIXELS_PER_WORD)),
            spread.eq(pixels << (address[:2] << 3)),
            enable.eq(Cat(taken > i for i in range(PIXELS_PER_WORD)) << address[:2]),
        ]
        return taken, spread, enable

    def _store_outputs(
        self, m: Module, address: Signal, left: Signal, taken: Signal, spread: Signal, enable: Signal
    ) -> None:
        """Requantise four lanes a cycle; pixels that do not fill a word wait for the next ones of their row."""
        waiting, waiting_enable = Signal(32), Signal(PIXELS_PER_WORD)
        with m.State("Store-Outputs"):
            merged = Cat(
                *(
                    Mux(waiting_enable[i], waiting.word_select(i, 8), spread.word_select(i, 8))
                    for i in range(PIXELS_PER_WORD)
                )
            )
            used = enable[:PIXELS_PER_WORD] | waiting_enable
            ends = left <= PIXELS_PER_WORD
            leaves = used[-1] | (ends & self.ends_row)
            with m.If(leaves):
                self._request_write(m, address, used, merged)
            with m.If(~leaves | self.o_request.ready):
                m.d.sync += [
                    waiting.eq(Mux(leaves, spread[32:], merged)),
                    waiting_enable.eq(Mux(leaves, enable[PIXELS_PER_WORD:], used)),
                    address.eq(address + taken),
                    left.eq(left - taken),
                    self.vector.eq(self.vector.as_value() >> (32 * PIXELS_PER_WORD)),
                ]
                with m.If(ends & self.ends_row & (enable[PIXELS_PER_WORD:] != 0)):
                    m.next = "Flush-Row"
                with m.Elif(ends):
                    m.d.comb += self.done.eq(1)
                    m.next = "Idle"
        with m.State("Flush-Row"):
            self._request_write(m, address, waiting_enable, waiting)
            with m.If(self.o_request.ready):
                m.d.sync += waiting_enable.eq(0)
                m.d.comb += self.done.eq(1)
                m.next = "Idle"
