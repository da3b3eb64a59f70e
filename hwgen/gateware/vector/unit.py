"""The vector unit: steps, arithmetic, words of the output, and two ports to the TCDM."""

from amaranth.hdl import Module, Mux, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.bus import WriteAnswers
from hwgen.arch.latency import STEPS_AHEAD
from hwgen.arch.registers.errors import VectorError
from hwgen.arch.requantisation import HALF_UP
from hwgen.arch.vector.shape import NARROW, VectorShape
from hwgen.gateware.bus.tcdm import TcdmMaster, TcdmSignature
from hwgen.gateware.lib.register_bank import ERROR
from hwgen.gateware.vector.arithmetic import VectorArithmetic
from hwgen.gateware.vector.pack import VectorPack, WidePack
from hwgen.gateware.vector.registers import STATUS, VectorRegisters
from hwgen.gateware.vector.walk import VectorWalk
from hwgen.gateware.vector.wide_arithmetic import WideArithmetic
from hwgen.gateware.vector.wide_walk import WideWalk

__all__ = ["VectorUnit"]


class VectorUnit(wiring.Component):
    """Computes feature maps from feature maps in the TCDM, job by job: see `hwgen.arch.vector.job`.

    Steps and the words that they take wait in two queues of equal depth: a word that is asked for has room, because
    its step has.

    Parameters
    ----------
    address_bits
        Of a byte address in the TCDM.
    rounding
        How the shift rounds.
    shape
        How wide it is.

    Members
    -------
    cfg : In(TcdmSignature)
        Configuration; see `hwgen.arch.registers.vector`.
    tcdm_i, tcdm_o : Out(TcdmSignature)
        The port that reads, and the one that writes.
    halt : In(1)
        The job is to stop when its accesses have been answered.
    state : Out(STATUS), fault : Out(32)
        What the registers ``status`` and ``fault_address`` read.
    """

    def __init__(self, address_bits: int, rounding: str = HALF_UP, shape: VectorShape = NARROW) -> None:
        self._bits, self._rounding, self._shape = address_bits, rounding, shape
        width = 8 * shape.word_bytes
        super().__init__(
            {
                "cfg": In(TcdmSignature()),
                "tcdm_i": Out(TcdmSignature(width)),
                "tcdm_o": Out(TcdmSignature(width)),
                "halt": In(1),
                "state": Out(STATUS),
                "fault": Out(32),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        shape, width = self._shape, 8 * self._shape.word_bytes
        m.submodules.registers = registers = VectorRegisters(self._bits, shape)
        walk, arithmetic, pack = self._parts()
        source = TcdmMaster(width=width, address_bits=self._bits)
        target = TcdmMaster(reads=False, writes=True, width=width, address_bits=self._bits)
        steps = SyncFIFO(width=walk.step_layout(shape).size, depth=STEPS_AHEAD)
        words = SyncFIFO(width=width, depth=STEPS_AHEAD)
        busy, halting, starting, rests = Signal(), Signal(), Signal(), Signal(init=1)
        blocks = {
            "walk": walk, "arithmetic": arithmetic, "pack": pack,
            "source": source, "target": target, "steps": steps, "words": words,
        }  # fmt: skip
        for name, block in blocks.items():
            m.submodules[name] = ResetInserter(rests)(block)
        m.d.sync += [rests.eq(~(registers.start | (busy & ~registers.ended))), starting.eq(registers.start)]
        connect(m, flipped(self.cfg), registers.port)
        connect(m, registers.settings, walk.settings, arithmetic.settings, pack.settings)
        connect(m, walk.o_step, steps.w_stream)
        connect(m, steps.r_stream, arithmetic.i_step)
        connect(m, words.r_stream, arithmetic.i_word)
        connect(m, arithmetic.o_output, pack.i_output)
        for block, master, port in ((walk, source, self.tcdm_i), (pack, target, self.tcdm_o)):
            connect(m, master.port, flipped(port))
            # What halts lets nothing new onto the bus and waits for the answers that are still to come.
            m.d.comb += [
                block.start.eq(starting),
                master.i_request.payload.eq(block.o_request.payload),
                master.i_request.valid.eq(block.o_request.valid & ~halting),
                block.o_request.ready.eq(master.i_request.ready & ~halting),
            ]
        m.d.comb += [
            words.w_data.eq(source.o_response.data),
            words.w_en.eq(source.o_response.valid),
            target.answers.eq(WriteAnswers.GIVEN),
            self.state.eq(registers.state),
            self.fault.eq(registers.fault),
        ]
        self._control(m, registers, source, target, pack.finished, busy, halting)
        return m

    def _parts(self) -> tuple[VectorWalk, VectorArithmetic, VectorPack]:
        """Steps, arithmetic and words of the output."""
        if not self._shape.wide:
            return VectorWalk(self._bits), VectorArithmetic(self._bits, self._rounding), VectorPack(self._bits)
        arithmetic = WideArithmetic(self._bits, self._rounding, self._shape)
        return WideWalk(self._bits, self._shape), arithmetic, WidePack(self._bits, self._shape)

    def _control(
        self,
        m: Module,
        registers: VectorRegisters,
        source: TcdmMaster,
        target: TcdmMaster,
        finished: Signal,
        busy: Signal,
        halting: Signal,
    ) -> None:
        """Start, end, and the end by a fault."""
        error, quiet, done = Signal(ERROR), Signal(), Signal()
        faulty = source.fault | target.fault | self.halt
        m.d.comb += [
            quiet.eq(source.idle & target.idle),
            registers.busy.eq(busy),
            registers.error.eq(error),
            registers.error_address.eq(
                Mux(
                    error == VectorError.READ_BUS,
                    source.fault_address,
                    Mux(error == VectorError.WRITE_BUS, target.fault_address, 0),
                )
            ),
        ]
        m.d.sync += done.eq(busy & finished & quiet & ~faulty)
        with m.If(registers.start):
            m.d.sync += [busy.eq(1), halting.eq(0), error.eq(VectorError.NONE)]
        with m.Elif(busy):
            with m.If(halting):
                with m.If(quiet):
                    m.d.comb += registers.ended.eq(1)
                    m.d.sync += busy.eq(0)
            with m.Elif(done):
                m.d.comb += registers.ended.eq(1)
                m.d.sync += busy.eq(0)
            with m.Elif(faulty):
                m.d.sync += halting.eq(1)
                m.d.sync += error.eq(
                    Mux(
                        source.fault,
                        VectorError.READ_BUS,
                        Mux(target.fault, VectorError.WRITE_BUS, VectorError.HALTED),
                    )
                )
