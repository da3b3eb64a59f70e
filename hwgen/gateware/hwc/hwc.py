"""The hardware convolution block: three operand streams around a SIMD datapath (Stoutchinin et al. 2019, Fig. 9)."""

from amaranth.hdl import C, Cat, Module, Mux, ResetInserter, Shape, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.bus import WriteAnswers
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.registers.errors import HwcError
from hwgen.arch.registers.hwc import address_bits
from hwgen.gateware.bus.tcdm import TcdmMaster, TcdmRegister, TcdmSignature
from hwgen.gateware.hwc.datapath import Datapath
from hwgen.gateware.hwc.input.stream import InputStream
from hwgen.gateware.hwc.line_weight_stream import LineWeightStream
from hwgen.gateware.hwc.output.stream import OutputStream
from hwgen.gateware.hwc.output.vector_port import VectorMove
from hwgen.gateware.hwc.registers import STATUS, ControlRegisters
from hwgen.gateware.hwc.sequencer import Sequencer
from hwgen.gateware.hwc.setting_checks import SettingChecks
from hwgen.gateware.hwc.settings import in_ring
from hwgen.gateware.hwc.token import LaneAccesses
from hwgen.gateware.hwc.watchdog import Watchdog
from hwgen.gateware.hwc.weight_stream import WeightStream
from hwgen.gateware.lib.register_bank import ERROR

__all__ = ["Hwc"]


class Hwc(wiring.Component):
    """One HWC: runs any layer and any tile sizes that fit its memories, in the loop order it was generated for.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    cfg : In(TcdmSignature)
        Configuration; see `hwgen.gateware.hwc.registers`.
    tcdm_i, tcdm_w, tcdm_o : Out(TcdmSignature)
        Input, weights, and output with partial sums and biases.
    irq : Out(1)
        The layer has ended or was refused, until acknowledged.
    halt : In(1)
        In a cluster: stop as after a fault.
    state : Out(STATUS), fault : Out(32)
        In a cluster: the registers ``status`` and ``fault_address``.
    move : Out(VectorMove)
        In a cluster: what the request on ``tcdm_o`` belongs to, for those who count.
    lane_accesses : Out(LaneAccesses)
        The accesses of the local memories by the datapath, for those who count, if `HwcParameters.lane_registers`.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        super().__init__(self.signature_of(parameters))

    @staticmethod
    def signature_of(parameters: HwcParameters) -> wiring.Signature:
        """Its ports."""
        shared = {"halt": In(1), "state": Out(STATUS), "fault": Out(32), "move": Out(VectorMove)}
        return wiring.Signature(
            {
                "cfg": In(TcdmSignature()),
                "tcdm_i": Out(TcdmSignature(parameters.ports.I)),
                "tcdm_w": Out(TcdmSignature(parameters.ports.W)),
                "tcdm_o": Out(TcdmSignature(parameters.ports.O)),
                "irq": Out(1),
                **(shared if parameters.cluster else {}),
                **({"lane_accesses": Out(LaneAccesses)} if parameters.lane_registers else {}),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        m.submodules.registers = registers = ControlRegisters(p)
        if p.cluster:
            connect(m, flipped(self.cfg), registers.port)
        else:
            m.submodules.configuration = configuration = TcdmRegister()
            connect(m, flipped(self.cfg), configuration.outer)
            connect(m, configuration.inner, registers.port)
        busy, halting, starting = Signal(), Signal(), Signal()
        # The address that was requested last, before the block halted.
        self._outside: Value = C(0, 32) if p.cluster else Signal(32, name="outside_address")
        m.d.comb += [registers.busy.eq(busy), self.irq.eq(registers.irq)]

        # Between layers the engine stands in reset, so that every layer begins alike.
        blocks = {
            "input": InputStream(p),
            "weight": LineWeightStream(p) if p.weight_lines else WeightStream(p),
            "output": OutputStream(p),
            "sequencer": Sequencer(p),
            "datapath": Datapath(p),
            "master_i": TcdmMaster(width=p.ports.I, in_flight=p.in_flight, address_bits=address_bits(p)),
            "master_w": TcdmMaster(width=p.ports.W, in_flight=p.in_flight, address_bits=address_bits(p)),
            "master_o": TcdmMaster(
                width=p.ports.O,
                in_flight=p.in_flight,
                writes=True,
                tag=Shape.cast(VectorMove).width if p.cluster else 0,
                address_bits=address_bits(p),
            ),
        }
        begins_or_works = Signal()
        m.d.comb += begins_or_works.eq(registers.start | (busy & ~registers.ended & ~registers.locked))
        for name, block in blocks.items():
            # As ``busy``, for each block a register of its own: each has hundreds of registers to reset.
            rests = Signal(init=1, name=f"{name}_rests", attrs={"keep": True})
            m.d.sync += rests.eq(~begins_or_works)
            m.submodules[name] = ResetInserter(rests)(block)
        source, weight, output = blocks["input"], blocks["weight"], blocks["output"]
        sequencer, datapath = blocks["sequencer"], blocks["datapath"]
        masters = [blocks[f"master_{port}"] for port in "iwo"]
        m.submodules.setting_checks = checks = SettingChecks(p)
        m.d.comb += checks.start.eq(starting)
        connect(
            m,
            registers.settings,
            checks.settings,
            *(block.settings for block in (source, weight, output, sequencer, datapath)),
        )
        for block in (source, weight, output, sequencer):
            m.d.comb += block.start.eq(starting)

        for stream_block, master, port in zip(
            (source, weight, output), masters, (self.tcdm_i, self.tcdm_w, self.tcdm_o), strict=True
        ):
            connect(m, master.port, flipped(port))
            connect(m, master.o_response, stream_block.i_response)
            # A block that halts lets nothing new onto the bus and waits for the answers that are still to come.
            m.d.comb += [
                master.i_request.payload.eq(stream_block.o_request.payload),
                master.i_request.valid.eq(stream_block.o_request.valid & ~halting),
                stream_block.o_request.ready.eq(master.i_request.ready & ~halting),
            ]
        self._know_memory(m, registers, masters[2])
        if p.cluster:
            self._share(m, registers, masters, blocks)

        self._join(m, source, weight, output, sequencer, datapath)
        if p.lane_registers:
            accesses = datapath.lane_accesses
            m.d.comb += [
                source.reads.eq(accesses.input_read),
                weight.reads.eq(accesses.weight_read),
                self.lane_accesses.eq(accesses),
            ]
        self._control(m, registers, checks, busy, halting, starting, masters, blocks)
        return m

    def _know_memory(self, m: Module, registers: ControlRegisters, master: TcdmMaster) -> None:
        """Whether the memory answers writes: as software says, else as was found out, which outlasts a layer.

        A cluster's own memory does.
        """
        if self.parameters.cluster:
            m.d.comb += master.answers.eq(WriteAnswers.GIVEN)
            return
        found, told, known = Signal(WriteAnswers), registers.write_answers, Signal(WriteAnswers)
        m.d.comb += known.eq(Mux(master.finds != WriteAnswers.UNKNOWN, master.finds, found))
        # In a register of its own: whether the port is ready hangs on it.
        m.d.sync += [found.eq(known), master.answers.eq(known)]
        with m.If(told[0]):
            m.d.sync += master.answers.eq(WriteAnswers.GIVEN)
        with m.Elif(told[1]):
            m.d.sync += master.answers.eq(WriteAnswers.NOT_GIVEN)

    def _share(
        self, m: Module, registers: ControlRegisters, masters: list[TcdmMaster], blocks: dict[str, wiring.Component]
    ) -> None:
        """What only an HWC in a cluster has: rings in the memory, and its state as ports."""
        m.d.comb += [self.state.eq(registers.state), self.fault.eq(registers.fault)]
        for port, master in zip("iwo", masters, strict=True):
            address = master.i_request.payload.address
            block = blocks[{"i": "input", "w": "weight", "o": "output"}[port]]
            with m.If(block.o_request.valid):
                m.d.comb += address.eq(in_ring(registers.settings, port, block.o_request.payload.address))
        m.d.comb += [masters[2].i_tag.eq(blocks["output"].move), self.move.eq(masters[2].o_tag)]

    @staticmethod
    def _join(
        m: Module,
        source: InputStream,
        weight: WeightStream | LineWeightStream,
        output: OutputStream,
        sequencer: Sequencer,
        datapath: Datapath,
    ) -> None:
        """Streams, sequencer and datapath, wire by wire."""
        connect(m, source.o_token, sequencer.i_input)
        connect(m, weight.o_token, sequencer.i_weight)
        m.d.comb += [
            source.release.eq(sequencer.release_input),
            weight.release.eq(sequencer.release_weight),
            output.tile_ends.eq(sequencer.output_ends),
            sequencer.output_loaded.eq(output.loaded),
            sequencer.output_drained.eq(output.drained),
            sequencer.output_unloaded.eq(output.unloaded),
            sequencer.access_valid.eq(output.access_valid),
            sequencer.access_load.eq(output.access_load),
            sequencer.access_index.eq(output.access_index),
            datapath.i_operation.eq(sequencer.o_operation),
            source.read_address.eq(datapath.input_address),
            datapath.input_data.eq(source.read_data),
            weight.read_address.eq(datapath.weight_address),
            datapath.weight_data.eq(weight.read_data),
            datapath.load_data.eq(output.load_data),
            output.load_done.eq(datapath.loaded),
            output.unload_data.eq(datapath.unload_data),
            output.unload_done.eq(datapath.unloaded),
        ]
        if datapath.parameters.pads_before:
            m.d.comb += source.read_inside.eq(datapath.input_inside)

    def _control(
        self,
        m: Module,
        registers: ControlRegisters,
        checks: SettingChecks,
        busy: Signal,
        halting: Signal,
        starting: Signal,
        masters: list[TcdmMaster],
        blocks: dict[str, wiring.Component],
    ) -> None:
        """Start, end, and the end by a fault."""
        sequencer, output = blocks["sequencer"], blocks["output"]
        error = Signal(ERROR)
        halts: list[tuple[HwcError, Value]] = [(HwcError.ABORTED, registers.abort)]
        stops = Signal()
        if self.parameters.cluster:
            halts.append((HwcError.HALTED, self.halt))
        else:
            watchdog = self._watch(m, registers, masters, blocks)
            m.d.comb += [watchdog.runs.eq(busy), watchdog.stopping.eq(halting), watchdog.stops.eq(stops)]
            self._guard(m, registers, blocks["output"], masters[2], halting, halts)
            halts.append((HwcError.WATCHDOG, watchdog.expired))
        quiet = masters[0].idle & masters[1].idle & masters[2].idle
        m.d.sync += starting.eq(registers.start)
        overflows = Signal(3)
        m.d.sync += overflows.eq(Cat(blocks["input"].overflow, blocks["weight"].overflow, sequencer.overflow))
        m.d.sync += registers.counting.eq(
            sequencer.stall_input | (sequencer.stall_weight << 1) | (sequencer.stall_output << 2)
        )
        faults = [
            (HwcError.CONTRADICTION, checks.contradicts & ~starting),
            (HwcError.INPUT_BUS, masters[0].fault),
            (HwcError.WEIGHT_BUS, masters[1].fault),
            (HwcError.OUTPUT_BUS, masters[2].fault),
            (HwcError.INPUT_OVERFLOW, overflows[0]),
            (HwcError.WEIGHT_OVERFLOW, overflows[1]),
            (HwcError.OUTPUT_OVERFLOW, overflows[2]),
            *halts,
        ]
        m.d.comb += [registers.error.eq(error), registers.error_address.eq(self._error_address(m, error, masters))]
        # All is done, and the answer to the very last access was no error.
        done = Signal()
        faulty = Cat(happened for _, happened in faults).any()
        m.d.sync += done.eq(busy & output.finished & sequencer.finished & quiet & ~faulty)
        with m.If(registers.start):
            m.d.sync += [busy.eq(1), halting.eq(0), error.eq(HwcError.NONE)]
        with m.Elif(busy):
            with m.If(halting):
                with m.If(quiet):
                    m.d.comb += registers.ended.eq(1)
                    m.d.sync += busy.eq(0)
            with m.Elif(done):
                m.d.comb += registers.ended.eq(1)
                m.d.sync += busy.eq(0)
            for code, happened in reversed(faults):
                with m.If(happened & ~halting):
                    m.d.comb += stops.eq(1)
                    m.d.sync += [halting.eq(1), error.eq(code)]
        # Without a reset all of this begins at random.
        with m.If(registers.locked):
            m.d.sync += busy.eq(0)

    def _error_address(self, m: Module, error: Signal, masters: list[TcdmMaster]) -> Value:
        """The address that goes with an error: the ports, and the window, keep theirs until the layer has ended."""
        addresses: dict[HwcError, Value] = {
            HwcError.INPUT_BUS: masters[0].fault_address,
            HwcError.WEIGHT_BUS: masters[1].fault_address,
            HwcError.OUTPUT_BUS: masters[2].fault_address,
            HwcError.WRITE_WINDOW: self._outside,
        }
        # The codes follow each other, so that their lower bits tell which.
        codes, bits = sorted(addresses), (len(addresses) - 1).bit_length()
        assert [code % (1 << bits) for code in codes] == list(range(len(codes)))
        known = error[bits:] == codes[0] >> bits
        return Mux(known, Cat(addresses[code] for code in codes).word_select(error[:bits], 32), 0)

    def _guard(
        self,
        m: Module,
        registers: ControlRegisters,
        output: OutputStream,
        master: TcdmMaster,
        halting: Signal,
        halts: list[tuple[HwcError, Value]],
    ) -> None:
        """A write outside the window is lost, and the layer fails: ``ready`` need not wait for the comparison."""
        settings, request, outside = registers.settings, output.o_request.payload, Signal()
        place = request.address[2 : address_bits(self.parameters)]
        m.d.comb += outside.eq(
            request.write & ((place < settings.write_base[2:]) | (place > settings.write_last[2:]))
        )
        with m.If(outside):
            m.d.comb += master.i_request.valid.eq(0)
        happened = Signal(name="writes_outside")
        m.d.comb += happened.eq(output.o_request.valid & outside)
        with m.If(~halting):
            m.d.sync += self._outside.eq(request.address)
        halts.append((HwcError.WRITE_WINDOW, happened))

    @staticmethod
    def _watch(
        m: Module, registers: ControlRegisters, masters: list[TcdmMaster], blocks: dict[str, wiring.Component]
    ) -> Watchdog:
        """The watchdog: progress is an access that is granted or answered, or an operation of the datapath."""
        m.submodules.watchdog = watchdog = Watchdog()
        ports = [master.port for master in masters]
        moves = Cat((port.req & port.gnt) | port.r_valid for port in ports).any()
        m.d.sync += watchdog.moved.eq(moves | blocks["sequencer"].o_operation.compute)
        m.d.comb += [watchdog.periods.eq(registers.watchdog), registers.gives_up.eq(watchdog.gives_up)]
        return watchdog
