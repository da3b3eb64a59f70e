"""A convolution stage: windows of a map, one block of products a cycle, requantised pixels."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped

from hwgen.arch.latency import PIPELINE_SCALING
from hwgen.arch.pipeline import ConvStage
from hwgen.gateware.lib.requantise import Requantise, clip_ports, connected_clip
from hwgen.gateware.pipeline.linebuffer import WindowPort
from hwgen.gateware.pipeline.scaled import RECORD, ChannelScaling, delayed, scaled_ports
from hwgen.gateware.pipeline.stage import StageComponent
from hwgen.gateware.pipeline.weight_store import WeightStore
from hwgen.gateware.pipeline.window_reader import WindowReader, connect_reader, window_members

__all__ = ["Convolution"]


class Convolution(StageComponent):
    """Read the tap and its weights, multiply, accumulate, requantise: four steps of a datapath, one cycle each.

    Where sums are scaled, requantising takes four cycles more, and padding reads as the zero point of the input.
    All of them stall while the queue after the stage is full.

    Members
    -------
    begin : In(1)
        A tile begins; the settings are valid.
    settings : In(WindowSettings)
    map_line : In
        Columns of a line of the map that is read.
    shift, relu, ceiling : In
        As `Requantise` has them; where sums are scaled there are zero_in, zero_out, low and high instead.
    window : In(WindowPort)
    load, loading, i_weights, keep, biases
        See `WeightStore`.
    o_pixel : Out(stream)
    moved : Out(1)
        A step is done in this cycle.
    """

    builds = ConvStage
    _stage: ConvStage

    def _members(self) -> dict[str, wiring.Member]:
        stage, source = self._stage, self._source
        return {
            **window_members(stage, source),
            **(scaled_ports() if self._scaled else {"shift": In(5), **clip_ports()}),
            "window": In(WindowPort.of(source)),
            **self._load_members(),
        }

    @property
    def _scaled(self) -> bool:
        return self._stage.requantisation == "scaled"

    @property
    def _inner(self) -> int:
        return self._source.channels // self._stage.groups // self._stage.input_lanes

    @property
    def _outer(self) -> int:
        return self._made.channels // self._stage.output_lanes

    def _choices(self) -> tuple[list[tuple[int, ...]], bool]:
        """The input channels of each block, and whether all output lanes of a block read the same ones.

        There is a tuple for each inner block; with groups, for each pair (outer, inner). If the output lanes are in
        different groups, a tuple has the input channels of one output lane after the other.
        """
        stage = self._stage
        inputs, outputs = self._source.channels // stage.groups, self._made.channels // stage.groups
        shared = outputs % stage.output_lanes == 0
        choices = []
        for outer in range(self._outer if stage.groups > 1 else 1):
            first = outer * stage.output_lanes
            lanes = [first] if shared else range(first, first + stage.output_lanes)
            for inner in range(self._inner):
                channels = range(inner * stage.input_lanes, (inner + 1) * stage.input_lanes)
                choices.append(tuple(m // outputs * inputs + c for m in lanes for c in channels))
        return choices, shared

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        stage, source = self._stage, self._source
        choices, shared = self._choices()
        m.submodules.reader = reader = WindowReader(
            stage=stage, source=source, outer=self._outer, inner=self._inner, choices=choices
        )
        collect, store = self._collect(m, stage.output_lanes), self._store(m)
        connect(m, flipped(self.o_pixel), collect.o_pixel)
        connect_reader(m, self, reader, collect.go)
        go, issue, multiply = collect.go, reader.issue, reader.step
        m.d.comb += [store.weight_enable.eq(go & issue.valid), store.weight_address.eq(issue.step)]
        products = self._products(m, reader.tap, multiply.pad, store.weight_data, shared)

        # Add.
        accumulate = Signal(issue.shape(), name="accumulate")
        complete = Signal()
        sums = [Signal(signed(32), name=f"sum_{lane}") for lane in range(stage.output_lanes)]
        with m.If(go):
            m.d.sync += [accumulate.eq(multiply), complete.eq(accumulate.valid & accumulate.last)]
            with m.If(multiply.valid):
                m.d.sync += [product.eq(value) for product, value in products]
            with m.If(accumulate.valid):
                for lane, total in enumerate(sums):
                    lane_products = [
                        product for product, _ in products[lane * stage.input_lanes :][: stage.input_lanes]
                    ]
                    m.d.sync += total.eq(sum(lane_products, start=Mux(accumulate.fresh, 0, total)))

        # Requantise.
        if self._scaled:
            values, written = self._scale(m, sums, go, complete, store.bias_data)
        else:
            values, written = self._requantised(m, sums, complete, store.bias_data), complete
        m.d.comb += [
            store.bias_enable.eq(go & accumulate.valid & accumulate.last),
            store.bias_address.eq(accumulate.outer),
            collect.write.eq(written),
            collect.block.eq(Cat(*values)),
        ]
        return m

    def _store(self, m: Module) -> WeightStore:
        stage = self._stage
        m.submodules.store = store = WeightStore(
            words=stage.taps * self._outer * self._inner,
            lanes=stage.input_lanes * stage.output_lanes,
            blocks=self._outer,
            bias_bytes=stage.record_bytes * stage.output_lanes,
            beat=self._beat,
        )
        connect(m, store.i_beat, flipped(self.i_weights))
        m.d.comb += [
            store.load.eq(self.load),
            self.loading.eq(store.loading),
            self.keep.eq(store.keep),
            self.biases.eq(store.biases),
        ]
        return store

    def _products(
        self, m: Module, tap: Value, pad: Value, weights: Value, shared: bool
    ) -> list[tuple[Signal, Value]]:
        """The product registers, output lane by output lane, each with the product that it takes."""
        stage = self._stage
        gated = Signal(len(tap))
        around = self.zero_in.replicate(len(tap) // 8) if self._scaled else C(0, len(tap))
        m.d.comb += gated.eq(Mux(pad, around, tap))
        found = []
        for lane in range(stage.output_lanes * stage.input_lanes):
            place = lane % stage.input_lanes if shared else lane
            pixel, weight = gated.word_select(place, 8).as_signed(), weights.word_select(lane, 8).as_signed()
            found.append((Signal(signed(16), name=f"product_{lane}"), pixel * weight))
        return found

    def _scale(
        self, m: Module, sums: list[Signal], go: Value, complete: Value, records: Value
    ) -> tuple[list[Value], Value]:
        """The outputs of scaled sums, and whether they are those of a block."""
        values: list[Value] = []
        for lane, total in enumerate(sums):
            m.submodules[f"scaling_{lane}"] = unit = ChannelScaling()
            record = Signal(RECORD, name=f"record_{lane}")
            m.d.comb += [
                record.as_value().eq(records.word_select(lane, RECORD.size)),
                unit.advance.eq(go),
                unit.total.eq(total + record.bias),
                *(getattr(unit, name).eq(record[name]) for name in ("multiplier", "shift", "twice")),
                *(getattr(unit, name).eq(getattr(self, name)) for name in ("zero_out", "low", "high")),
            ]
            values.append(unit.value)
        return values, delayed(m, go, complete, PIPELINE_SCALING, "scaled")

    def _requantised(self, m: Module, sums: list[Signal], enable: Value, bias: Value) -> list[Value]:
        values, stage_bytes = [], self._stage.record_bytes
        for lane, total in enumerate(sums):
            m.submodules[f"requantise_{lane}"] = unit = Requantise()
            m.d.comb += [
                unit.enable.eq(enable),
                unit.sum.eq(total),
                unit.bias.eq(bias.word_select(lane, 8 * stage_bytes)),
                unit.shift.eq(self.shift),
                *connected_clip(unit, self),
            ]
            values.append(unit.value)
        return values
