"""The output's stream: fetches partial sums where a box resumes, drains boxes as partial sums or as final outputs."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.gateware.nest import LevelRegister, LoopNest
from hwgen.gateware.params import REDUCTION, HwcParameters
from hwgen.gateware.requantise import Requantise
from hwgen.gateware.settings import settings_signature
from hwgen.gateware.tcdm import Request

__all__ = ["OutputStream"]

PIXELS_PER_WORD = 4


class OutputStream(wiring.Component):
    """Walks the boxes of the output: one execution of the loop that O is buffered at, vector by vector.

    A box whose reduction began in an earlier execution is loaded first. When the sequencer has ended a box its vectors
    are read one by one, channel by channel, row by row, and written: 32-bit partial sums while reduction is still to
    come, else requantised outputs, packed into words along a row. The bias of a channel is fetched before its first
    final output.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    start : In(1)
    o_request, i_response
        To the memory port.
    box_ends : In(1)
        The sequencer has issued the last operation of the present box (a pulse).
    loaded : Out(1)
        The partial sums of the present box are in the output memory (a pulse).
    drained : Out(1)
        The present box has left (a pulse); ``unloaded`` counts its vectors that have left already.
    access_valid, access_load, access_index, access_ready
        Operations for the datapath: load a vector or unload it.
    load_data : Out, load_done : In
    unload_data : In, unload_done : In
    finished : Out(1)
        The last box has left.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        self.index_bits = parameters.output_depth.bit_length() + 1
        sums = data.ArrayLayout(signed(32), parameters.lanes)
        super().__init__({
            "settings": In(settings_signature(parameters)),
            "start": In(1),
            "o_request": Out(stream.Signature(Request)),
            "i_response": In(wiring.Signature({"valid": Out(1), "data": Out(32)})),
            "box_ends": In(1),
            "loaded": Out(1),
            "drained": Out(1),
            "unloaded": Out(self.index_bits),
            "access_valid": Out(1),
            "access_load": Out(1),
            "access_index": Out(self.index_bits),
            "access_ready": In(1),
            "load_data": Out(sums),
            "load_done": In(1),
            "unload_data": In(sums),
            "unload_done": In(1),
            "finished": Out(1),
        })

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, settings = self.parameters, self.settings
        nest, index = self._nest(m)
        outer, loops = p.output_marker, nest.loops
        channel, row = outer, outer + 1
        inner_x = range(outer + 2, len(loops))
        x = max((j for j, dim in enumerate(loops) if dim == "x"), default=None)
        x_low = nest.lo[x] if x is not None else 0
        x_high = nest.hi[x] if x is not None else settings.extent_x
        reductions = [j for j in range(outer) if loops[j] in REDUCTION]
        resumes, is_final, ends_row, begins_channel, ends_box = (Signal() for _ in range(5))
        m.d.comb += [
            resumes.eq(~_all(nest.first[j] for j in reductions)),
            is_final.eq(_all(nest.last[j] for j in reductions)),
            ends_row.eq(_all(nest.last[j] for j in inner_x)),
            begins_channel.eq(_all(nest.first[j] for j in (row, *inner_x))),
            ends_box.eq(nest.last[outer:].all()),
        ]

        vector = Signal(data.ArrayLayout(signed(32), p.lanes))
        lanes_left = Signal(range(p.lanes + 1))
        answers_left = Signal(range(p.lanes + 1))
        address = Signal(32)
        bias = Signal(signed(32))
        ended = Signal()
        product, factor_a, factor_b = Signal(32), Signal(p.position_bits), Signal(28)
        m.d.comb += [product.eq(factor_a * factor_b), self.load_data.eq(vector), self.access_index.eq(index)]
        with m.If(self.box_ends):
            m.d.sync += ended.eq(1)
        request = self.o_request.payload
        plane = Mux(use_partials := Signal(name="use_partials"), settings.partial_plane, settings.output_plane)
        pitch = Mux(use_partials, settings.partial_pitch, settings.output_pitch)

        with m.FSM(name="box"):
            with m.State("Idle"):
                with m.If(self.start):
                    m.d.comb += nest.start.eq(1)
                    m.next = "Begin-Box"
            with m.State("Begin-Box"):
                m.next = "Await-End"
                if reductions:
                    with m.If(resumes):
                        m.next = "Load-Channel"
            if reductions:
                self._load(m, nest, use_partials, factor_a, factor_b, product, address, lanes_left, answers_left,
                           vector, plane, pitch, channel, row, x_low, x_high, ends_box)
            with m.State("Await-End"):
                with m.If(ended):
                    m.d.sync += ended.eq(0)
                    m.next = "Unload"
            with m.State("Unload"):
                m.d.comb += [
                    use_partials.eq(~is_final),
                    self.access_valid.eq(1),
                    factor_a.eq(nest.lo[channel]),
                    factor_b.eq(plane),
                ]
                m.d.sync += address.eq(Mux(use_partials, settings.partial_base, settings.output_base) + product)
                with m.If(self.access_ready):
                    m.next = "Place-Row"
            with m.State("Place-Row"):
                m.d.comb += [use_partials.eq(~is_final), factor_a.eq(nest.lo[row]), factor_b.eq(pitch)]
                m.d.sync += [
                    address.eq(address + product + Mux(use_partials, x_low << 2, x_low)),
                    lanes_left.eq(x_high - x_low),
                ]
                m.next = "Capture"
            with m.State("Capture"):
                with m.If(self.unload_done):
                    m.d.sync += [vector.eq(self.unload_data), self.unloaded.eq(index + 1)]
                    m.next = "Write-Partials"
                    with m.If(is_final):
                        m.next = "Write-Outputs"
                        with m.If(begins_channel):
                            m.next = "Fetch-Bias"
            with m.State("Fetch-Bias"):
                m.d.comb += [
                    self.o_request.valid.eq(1),
                    request.address.eq(settings.bias_base + (nest.lo[channel] << 2)),
                    request.enable.eq(0xF),
                ]
                with m.If(self.o_request.ready):
                    m.next = "Await-Bias"
            with m.State("Await-Bias"):
                with m.If(self.i_response.valid):
                    m.d.sync += bias.eq(self.i_response.data)
                    m.next = "Write-Outputs"
            with m.State("Write-Partials"):
                m.d.comb += [
                    self.o_request.valid.eq(1),
                    request.address.eq(address),
                    request.write.eq(1),
                    request.enable.eq(0xF),
                    request.data.eq(vector[0]),
                ]
                with m.If(self.o_request.ready):
                    m.d.sync += [
                        address.eq(address + 4),
                        lanes_left.eq(lanes_left - 1),
                        vector.as_value().eq(vector.as_value() >> 32),
                    ]
                    with m.If(lanes_left == 1):
                        m.next = "Next-Vector"
            self._write_outputs(m, vector, lanes_left, address, bias, ends_row)
            with m.State("Next-Vector"):
                m.d.comb += nest.advance.eq(1)
                m.next = "Unload"
                with m.If(ends_box):
                    m.d.comb += self.drained.eq(1)
                    m.d.sync += self.unloaded.eq(0)
                    m.next = "Begin-Box"
                    with m.If(nest.finished):
                        m.next = "Finished"
            with m.State("Finished"):
                m.d.comb += self.finished.eq(1)
        return m

    def _nest(self, m: Module) -> tuple[LoopNest, Signal]:
        """The boxes' loops, then channel, row, and the columns' loops; with the vector's index in the memory."""
        p, settings = self.parameters, self.settings
        columns = [j for j in p.output_box if p.loops[j] == "x"]
        outer = p.loops[: p.output_marker]
        loops = (*outer, "m", "y", *("x" for _ in columns))
        m.submodules.nest = nest = LoopNest(loops=loops, bits=p.position_bits, rewind=p.output_marker)
        steps = [
            *(getattr(settings, f"step_{j}_{dim}") for j, dim in enumerate(outer)),
            1,
            1,
            *(getattr(settings, f"step_{j}_x") for j in columns),
        ]
        for j, (dim, step) in enumerate(zip(loops, steps, strict=True)):
            m.d.comb += [nest.extent[j].eq(getattr(settings, f"extent_{dim}")), nest.step[j].eq(step)]
        first = p.output_marker
        strides = {first: settings.output_channel_step, first + 1: settings.output_row_step}
        strides |= {first + 2 + i: getattr(settings, f"output_index_step_{j}") for i, j in enumerate(columns)}
        m.submodules.index = index = LevelRegister(
            loops=len(loops),
            inner=range(first, len(loops)),
            step={j: _adding(stride) for j, stride in strides.items()},
            shape=self.index_bits,
        )
        fresh = Signal(init=1)
        moves = Signal()
        m.d.comb += [
            moves.eq(nest.advance | nest.rewind),
            index.base.eq(0),
            index.fresh.eq(fresh),
            index.turning.eq(nest.turning),
            index.advance.eq(moves),
        ]
        with m.If(moves):
            m.d.sync += fresh.eq(nest.rewind | nest.last[first:].all())
        return nest, index.value

    def _load(
        self, m: Module, nest: LoopNest, use_partials: Signal, factor_a: Signal, factor_b: Signal, product: Signal,
        address: Signal, lanes_left: Signal, answers_left: Signal, vector: Signal, plane: object, pitch: object,
        channel: int, row: int, x_low: object, x_high: object, ends_box: Signal,
    ) -> None:
        """Fetch the partial sums of the present box, vector by vector."""
        settings, request = self.settings, self.o_request.payload
        with m.State("Load-Channel"):
            m.d.comb += [use_partials.eq(1), factor_a.eq(nest.lo[channel]), factor_b.eq(plane)]
            m.d.sync += address.eq(settings.partial_base + product)
            m.next = "Load-Row"
        with m.State("Load-Row"):
            m.d.comb += [use_partials.eq(1), factor_a.eq(nest.lo[row]), factor_b.eq(pitch)]
            m.d.sync += [
                address.eq(address + product + (x_low << 2)),
                lanes_left.eq(x_high - x_low),
                answers_left.eq(x_high - x_low),
            ]
            m.next = "Load-Vector"
        with m.State("Load-Vector"):
            m.d.comb += [
                self.o_request.valid.eq(lanes_left != 0),
                request.address.eq(address),
                request.enable.eq(0xF),
            ]
            with m.If((lanes_left != 0) & self.o_request.ready):
                m.d.sync += [address.eq(address + 4), lanes_left.eq(lanes_left - 1)]
            with m.If(self.i_response.valid):
                # Enters at the top and is moved down, also over the lanes that the row does not fill.
                m.d.sync += [
                    vector.as_value().eq(Cat(vector.as_value()[32:], self.i_response.data)),
                    answers_left.eq(answers_left - 1),
                ]
            with m.If(answers_left == 0):
                m.d.sync += lanes_left.eq(self.parameters.lanes - (x_high - x_low))
                m.next = "Align-Vector"
        with m.State("Align-Vector"):
            with m.If(lanes_left == 0):
                m.next = "Store-Vector"
            with m.Else():
                m.d.sync += [
                    vector.as_value().eq(Cat(vector.as_value()[32:], vector.as_value()[:32])),
                    lanes_left.eq(lanes_left - 1),
                ]
        with m.State("Store-Vector"):
            m.d.comb += [self.access_valid.eq(1), self.access_load.eq(1)]
            with m.If(self.access_ready):
                m.next = "Await-Store"
        with m.State("Await-Store"):
            with m.If(self.load_done):
                m.next = "Load-Channel"
                with m.If(ends_box):
                    m.d.comb += [nest.rewind.eq(1), self.loaded.eq(1)]
                    m.next = "Await-End"
                with m.Else():
                    m.d.comb += nest.advance.eq(1)

    def _write_outputs(
        self, m: Module, vector: Signal, lanes_left: Signal, address: Signal, bias: Signal, ends_row: Signal
    ) -> None:
        """Requantise four lanes a cycle; pixels that do not fill a word wait for the next ones of their row."""
        request = self.o_request.payload
        pixels = Signal(data.ArrayLayout(8, PIXELS_PER_WORD))
        for i in range(PIXELS_PER_WORD):
            m.submodules[f"requantise_{i}"] = unit = Requantise()
            m.d.comb += [
                unit.sum.eq(vector[i]),
                unit.bias.eq(bias),
                unit.shift.eq(self.settings.shift),
                unit.relu.eq(self.settings.relu),
                pixels[i].eq(unit.value),
            ]
        # Four pixels enter; with those that wait from before they fill the word at hand and perhaps begin the next.
        begin = address[:2]
        taken = Signal(range(PIXELS_PER_WORD + 1))
        waiting, waiting_enable = Signal(32), Signal(PIXELS_PER_WORD)
        spread, spread_enable = Signal(64), Signal(2 * PIXELS_PER_WORD)
        fills, flushes, ends_vector = Signal(), Signal(), Signal()
        m.d.comb += [
            taken.eq(Mux(lanes_left < PIXELS_PER_WORD, lanes_left, PIXELS_PER_WORD)),
            spread_enable.eq((_ones(taken) << begin) | waiting_enable),
            fills.eq(spread_enable[PIXELS_PER_WORD - 1]),
            ends_vector.eq(lanes_left <= PIXELS_PER_WORD),
            flushes.eq(ends_vector & ends_row),
        ]
        shifted = Signal(64)
        m.d.comb += shifted.eq(pixels.as_value() << (begin << 3))
        for i in range(2 * PIXELS_PER_WORD):
            pixel = shifted.word_select(i, 8)
            if i < PIXELS_PER_WORD:
                pixel = Mux(waiting_enable[i], waiting.word_select(i, 8), pixel)
            m.d.comb += spread.word_select(i, 8).eq(pixel)
        leaves = Signal()
        m.d.comb += leaves.eq(fills | flushes)
        with m.State("Write-Outputs"):
            m.d.comb += [
                self.o_request.valid.eq(leaves),
                request.address.eq(address & ~3),
                request.write.eq(1),
                request.enable.eq(spread_enable[:PIXELS_PER_WORD]),
                request.data.eq(spread[:32]),
            ]
            with m.If(~leaves | self.o_request.ready):
                m.d.sync += [
                    waiting.eq(Mux(leaves, spread[32:], spread[:32])),
                    waiting_enable.eq(Mux(leaves, spread_enable[PIXELS_PER_WORD:], spread_enable[:PIXELS_PER_WORD])),
                    address.eq(address + taken),
                    lanes_left.eq(lanes_left - taken),
                    vector.as_value().eq(vector.as_value() >> (32 * PIXELS_PER_WORD)),
                ]
                with m.If(ends_vector):
                    m.next = "Next-Vector"
                    with m.If(flushes & (spread_enable[PIXELS_PER_WORD:] != 0)):
                        m.next = "Flush-Row"
        with m.State("Flush-Row"):
            m.d.comb += [
                self.o_request.valid.eq(1),
                request.address.eq(address & ~3),
                request.write.eq(1),
                request.enable.eq(waiting_enable),
                request.data.eq(waiting),
            ]
            with m.If(self.o_request.ready):
                m.d.sync += waiting_enable.eq(0)
                m.next = "Next-Vector"


def _ones(count: Value) -> Value:
    """A mask with the lowest ``count`` of four bits set."""
    return Cat(count > i for i in range(PIXELS_PER_WORD))


def _adding(stride: object) -> object:
    return lambda value: value + stride


def _all(flags: object) -> object:
    result: object = 1
    for flag in flags:
        result = flag & result
    return result
