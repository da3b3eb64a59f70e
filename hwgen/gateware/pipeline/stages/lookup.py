"""A stage that sends elements through tables, which the weight port loads."""

from amaranth.hdl import C, Cat, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.pipeline import LookupStage
from hwgen.arch.requantisation import LOWEST
from hwgen.gateware.pipeline.beats import Gather
from hwgen.gateware.pipeline.linebuffer import WindowPort
from hwgen.gateware.pipeline.pixel_memory import PixelMemory
from hwgen.gateware.pipeline.stage import StageComponent
from hwgen.gateware.pipeline.window_reader import WindowReader, connect_reader, window_members

__all__ = ["Lookup", "TableStore"]


class TableStore(wiring.Component):
    """Tables, filled through the weight port; each lane reads an entry a cycle.

    Parameters
    ----------
    words, width
        Entries for each lane, and bytes that come together: one for all lanes, or one for each.
    lanes
        That read.
    beat
        Bytes of a beat of the port.

    Members
    -------
    load, loading, i_beat, keep
        As `WeightStore` has them.
    enable : In(1)
    address_{n} : In, data_{n} : Out(8)
        Data are valid in the next cycle.
    """

    def __init__(self, *, words: int, width: int, lanes: int, beat: int) -> None:
        self._words, self._width, self._lanes, self._beat = words, width, lanes, beat
        address = (words - 1).bit_length()
        super().__init__(
            {
                "load": In(1),
                "loading": Out(1),
                "i_beat": In(stream.Signature(8 * beat)),
                "keep": Out(beat),
                "enable": In(1),
                **{f"address_{n}": In(address) for n in range(lanes)},
                **{f"data_{n}": Out(8) for n in range(lanes)},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.gather = gather = Gather(channels=self._width, beat=self._beat)
        requested, written = Signal(range(self._words + 1)), Signal(range(self._words + 1))
        wants = self.loading & (requested != self._words)
        arrived, ends = gather.o_pixel.valid, Signal()
        m.d.comb += [
            gather.i_beat.payload.eq(self.i_beat.payload),
            gather.i_beat.valid.eq(self.i_beat.valid & wants),
            self.i_beat.ready.eq(gather.i_beat.ready & wants),
            self.keep.eq(gather.keep),
            gather.o_pixel.ready.eq(1),
            ends.eq(arrived & (written == self._words - 1)),
        ]
        # One table for all lanes is one memory with many readers, so that it is loaded once.
        shared = self._width < self._lanes
        for number in range(1 if shared else self._lanes):
            readers = self._lanes if shared else 1
            memory = PixelMemory(width=8, depth=self._words, readers=readers)
            m.submodules[f"table_{number}"] = memory
            m.d.comb += [
                memory.write_enable.eq(arrived),
                memory.write_address.eq(written),
                memory.write_data.eq(gather.o_pixel.payload.word_select(number, 8)),
            ]
            for reader in range(readers):
                lane = number + reader
                m.d.comb += [
                    getattr(memory, f"read_enable_{reader}").eq(self.enable),
                    getattr(memory, f"read_address_{reader}").eq(getattr(self, f"address_{lane}")),
                    getattr(self, f"data_{lane}").eq(getattr(memory, f"read_data_{reader}")),
                ]
        with m.If(self.i_beat.valid & self.i_beat.ready & gather.last):
            m.d.sync += requested.eq(requested + 1)
        with m.If(arrived):
            m.d.sync += written.eq(written + 1)
        with m.If(self.load):
            m.d.sync += [self.loading.eq(1), requested.eq(0), written.eq(0)]
        with m.Elif(ends):
            m.d.sync += self.loading.eq(0)
        return m


class Lookup(StageComponent):
    """Reads a block of a pixel, then the entries of its elements: two steps of a datapath, one cycle each.

    Members
    -------
    begin : In(1)
        A tile begins; the settings are valid.
    settings : In(WindowSettings)
    map_line : In
        Columns of a line of the map that is read.
    window : In(WindowPort)
    load, loading, i_weights, keep
        See `TableStore`.
    biases : Out(1)
        High: tables are counted apart from weights.
    o_pixel : Out(stream)
    moved : Out(1)
        A step is done in this cycle.
    """

    builds = LookupStage
    _stage: LookupStage

    def _members(self) -> dict[str, wiring.Member]:
        window = {"window": In(WindowPort.of(self._source))}
        return {**window_members(self._stage, self._source), **window, **self._load_members()}

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        stage = self._stage
        words, width = stage.memories(self._maps)["table"]
        collect = self._collect(m, stage.lanes)
        m.submodules.reader = reader = WindowReader.of_lanes(stage, self._source)
        m.submodules.store = store = TableStore(words=words, width=width, lanes=stage.lanes, beat=self._beat)
        connect(m, store.i_beat, flipped(self.i_weights))
        connect(m, flipped(self.o_pixel), collect.o_pixel)
        connect_reader(m, self, reader, collect.go)
        go, step, complete = collect.go, reader.step, Signal()
        with m.If(go):
            m.d.sync += complete.eq(step.valid)
        block: Value = step.outer if stage.tables > 1 and stage.lanes < self._made.channels else C(0, 0)
        for lane in range(stage.lanes):
            # The least value has the first entry.
            place = reader.tap.word_select(lane, 8) ^ (LOWEST & 0xFF)
            m.d.comb += getattr(store, f"address_{lane}").eq(Cat(place, block))
        m.d.comb += [
            store.load.eq(self.load),
            self.loading.eq(store.loading),
            self.keep.eq(store.keep),
            self.biases.eq(1),
            store.enable.eq(go & step.valid),
            collect.write.eq(complete),
            collect.block.eq(Cat(getattr(store, f"data_{lane}") for lane in range(stage.lanes))),
        ]
        return m
