"""The cluster: HWCs, a vector unit and a DMA on a shared banked memory, led by a program in the DRAM."""

from amaranth.hdl import Cat, ClockSignal, Instance, Module, ResetInserter, ResetSignal, Signal
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.cluster import HWC_PORTS, SHARED_PORTS, ClusterParameters
from hwgen.arch.commands import WORKING_QUEUES, Queue
from hwgen.arch.dma import CHANNELS
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.registers.cluster import ring_registers
from hwgen.gateware.bus.axi import AxiSignature
from hwgen.gateware.bus.tcdm import TcdmSignature
from hwgen.gateware.cluster.command_queues import CommandReader, MoveQueue
from hwgen.gateware.cluster.compute_queue import ComputeQueue
from hwgen.gateware.cluster.control import ClusterControl
from hwgen.gateware.cluster.multicast import Multicast
from hwgen.gateware.cluster.registers import ClusterRegisters
from hwgen.gateware.cluster.tcdm_banks import TcdmPorts, join_port
from hwgen.gateware.dma.dma import Dma
from hwgen.gateware.hwc.hwc import Hwc
from hwgen.gateware.hwc.output.vector_port import VectorMove
from hwgen.gateware.hwc.token import LaneAccesses
from hwgen.gateware.vector.unit import VectorUnit

__all__ = ["ClusterCore", "HwcModule"]

Ports = dict[str, list[wiring.PureInterface]]
"""The ports of all HWCs by the name of an operand."""


class HwcModule(wiring.Component):
    """An instance of the Verilog module ``hwc``, so that all HWCs of a cluster share one module.

    Members
    -------
    Those of `Hwc`.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        super().__init__(Hwc.signature_of(parameters))

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        ports: dict[str, object] = {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
        for path, member, value in self.signature.flatten(self):
            ports[("i_" if member.flow is In else "o_") + "__".join(map(str, path))] = value
        m.submodules.hwc = Instance("hwc", **ports)
        return m


class ClusterCore(wiring.Component):
    """A cluster without its memory.

    Parameters
    ----------
    parameters
        What the cluster is generated for.

    Members
    -------
    cfg : In(TcdmSignature)
        Configuration; see `hwgen.gateware.cluster.registers`.
    axi : Out(AxiSignature)
        To the DRAM.
    tcdm : Out(TcdmPorts)
        To the memory, one port for each of ``parameters.masters``.
    moves : Out
        For each HWC, the `VectorMove` that the request on its output port belongs to. For access counters only.
    lane_accesses : Out
        For each HWC, the accesses of its local memories, if `HwcParameters.lane_registers`. For access counters only.
    conflicts : In
        For each port, the cycles in which it waited for another port.
    starts : Out(1)
        A pulse: a program starts.
    settles : Out(1)
        A pulse: all that the program has read up to a CONFIGURE of the cluster is done. For access counters only.
    irq : Out(1)
        The program has ended or was refused, until acknowledged.
    """

    def __init__(self, parameters: ClusterParameters) -> None:
        self.parameters = parameters
        masters = len(parameters.masters)
        super().__init__(
            {
                "cfg": In(TcdmSignature()),
                "axi": Out(AxiSignature(parameters.axi_bits)),
                "tcdm": Out(TcdmPorts(parameters.words)),
                "moves": Out(data.ArrayLayout(VectorMove, parameters.hwcs)),
                **(
                    {"lane_accesses": Out(data.ArrayLayout(LaneAccesses, parameters.hwcs))}
                    if parameters.hwc.lane_registers
                    else {}
                ),
                "conflicts": In(data.ArrayLayout(32, masters)),
                "starts": Out(1),
                "settles": Out(1),
                "irq": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        m.submodules.registers = registers = ClusterRegisters(p)
        m.submodules.dma = dma = Dma(p.dma)
        hwcs = [HwcModule(p.hwc) for _ in range(p.hwcs)]
        for i, hwc in enumerate(hwcs):
            m.submodules[f"hwc_{i}"] = hwc
        vectors = [VectorUnit(p.dma.tcdm_address_bits, p.hwc.rounding, p.vector_shape)] if p.vector else []
        for vector in vectors:
            m.submodules.vector = vector
        # Between programs the queues and their state are held in reset.
        rests = Signal()
        control = ClusterControl(hwcs=p.units)
        reader = CommandReader(hwcs=p.units, settings=ring_registers(p), multicast=p.multicast)
        compute = ComputeQueue(hwcs=p.hwcs, others=p.units - p.hwcs, multicast=p.multicast)
        moves = {Queue.LOAD: MoveQueue(), Queue.STORE: MoveQueue()}
        m.submodules.control = control
        m.submodules.reader = ResetInserter(rests)(reader)
        m.submodules.compute = ResetInserter(rests)(compute)
        m.submodules.load = ResetInserter(rests)(moves[Queue.LOAD])
        m.submodules.store = ResetInserter(rests)(moves[Queue.STORE])
        m.d.comb += rests.eq(~control.busy)

        connect(m, flipped(self.cfg), registers.port)
        connect(m, dma.axi, flipped(self.axi))
        starting = Signal()
        m.d.sync += starting.eq(registers.start)
        m.d.comb += [
            registers.conflicts.eq(self.conflicts),
            registers.busy.eq(control.busy),
            registers.quiet.eq(control.quiet),
            registers.ended.eq(control.ended),
            registers.fault.eq(control.fault),
            registers.counting.eq(control.counting),
            control.start.eq(registers.start),
            control.abort.eq(registers.abort),
            control.watchdog.eq(registers.settings.watchdog),
            self.irq.eq(registers.irq),
            self.starts.eq(registers.start),
            self.settles.eq(reader.settles),
            reader.drained.eq(control.drained),
        ]
        connect(m, reader.o_settings, registers.program)
        self._read(m, registers, reader, dma, starting)
        self._queue(m, reader, {**moves, Queue.COMPUTE: compute}, control, rests)
        self._move(m, registers, control, dma, moves)
        self._compute(m, compute, control, [*hwcs, *vectors])
        ports = {name: [getattr(hwc, f"tcdm_{name}") for hwc in hwcs] for name in HWC_PORTS}
        if p.multicast:
            ports |= self._together(m, compute, control, ports)
        self._share(m, dma, ports, [port for vector in vectors for port in (vector.tcdm_i, vector.tcdm_o)])
        m.d.comb += [self.moves[i].eq(hwc.move) for i, hwc in enumerate(hwcs)]
        if p.hwc.lane_registers:
            m.d.comb += [self.lane_accesses[i].eq(hwc.lane_accesses) for i, hwc in enumerate(hwcs)]
        accepted = Cat(dma.i_load.valid & dma.i_load.ready, dma.i_store.valid & dma.i_store.ready)
        read = dma.o_program.valid & dma.o_program.ready
        granted = (self.tcdm.req & self.tcdm.gnt) != 0
        m.d.comb += control.progress.eq(
            granted | read | accepted.any() | (compute.write != 0) | dma.load_done | dma.store_done
        )
        return m

    @staticmethod
    def _read(m: Module, registers: ClusterRegisters, reader: CommandReader, dma: Dma, starting: Signal) -> None:
        """Fetch the program from DRAM."""
        settings = registers.settings
        connect(m, dma.o_program, reader.i_word)
        m.d.comb += [
            reader.start.eq(starting),
            reader.program_address.eq(settings.program_address),
            reader.program_words.eq(settings.program_words),
            dma.program_start.eq(starting),
            dma.program_address.eq(settings.program_address),
            dma.program_words.eq(settings.program_words),
        ]

    def _queue(
        self,
        m: Module,
        reader: CommandReader,
        ends: "dict[Queue, MoveQueue | ComputeQueue]",
        control: ClusterControl,
        rests: Signal,
    ) -> None:
        """A FIFO for each queue."""
        p = self.parameters
        depths = {Queue.LOAD: p.load_words, Queue.COMPUTE: p.compute_words, Queue.STORE: p.store_words}
        empty = []
        for queue in WORKING_QUEUES:
            fifo = SyncFIFOBuffered(width=32, depth=depths[queue])
            m.submodules[f"{queue.name.lower()}_words"] = ResetInserter(rests)(fifo)
            connect(m, reader.o_words[queue], fifo.w_stream)
            connect(m, fifo.r_stream, ends[queue].i_word)
            connect(m, ends[queue].state, control.queues[queue])
            empty.append(fifo.level == 0)
        m.d.comb += [
            control.queues_empty.eq(Cat(*empty).all()),
            control.read_ended.eq(reader.ended),
            control.read_held_up.eq(reader.held_up),
            control.read_illegal.eq(reader.illegal),
            control.read_endless.eq(reader.endless),
            control.read_address.eq(reader.address),
        ]

    @staticmethod
    def _move(
        m: Module, registers: ClusterRegisters, control: ClusterControl, dma: Dma, moves: dict[Queue, MoveQueue]
    ) -> None:
        """The DMA with its address windows and rings."""
        connect(m, moves[Queue.LOAD].o_word, dma.i_load)
        connect(m, moves[Queue.STORE].o_word, dma.i_store)
        m.d.comb += [
            moves[Queue.LOAD].done.eq(dma.load_done),
            moves[Queue.STORE].done.eq(dma.store_done),
            dma.halt.eq(control.halt),
            dma.clear.eq(~control.busy & control.quiet),
            *(value.eq(getattr(registers.settings, name)) for name, value in _members(dma.settings)),
        ]
        for name in CHANNELS:
            for what in ("idle", "error", "error_address"):
                m.d.comb += getattr(control, f"{name}_{what}").eq(getattr(dma, f"{name}_{what}"))

    @staticmethod
    def _compute(
        m: Module, compute: ComputeQueue, control: ClusterControl, units: "list[HwcModule | VectorUnit]"
    ) -> None:
        """The compute queue writes to the registers of the units; they are never read."""
        m.d.comb += [control.waits_for_hwcs.eq(compute.waits_for_hwcs), control.hwcs_cleared.eq(compute.cleared)]
        for i, unit in enumerate(units):
            m.d.comb += [
                unit.cfg.req.eq(compute.write[i]),
                unit.cfg.add.eq(compute.register),
                unit.cfg.wen.eq(0),
                unit.cfg.be.eq(~0),
                unit.cfg.wdata.eq(compute.data),
                unit.halt.eq(control.halt),
                compute.hwc_busy[i].eq(unit.state.busy),
                control.hwc_state[i].eq(unit.state),
                control.hwc_fault[i].eq(unit.fault),
            ]

    def _together(self, m: Module, compute: ComputeQueue, control: ClusterControl, ports: "Ports") -> "Ports":
        """The ports of I and W to the memory, after what lets HWCs read together.

        A halted HWC completes the accesses that it has begun, and waits for nobody.
        """
        found: Ports = {}
        for name, leaders in zip(SHARED_PORTS, compute.leaders, strict=True):
            m.submodules[f"multicast_{name}"] = multicast = Multicast(
                len(ports[name]), getattr(self.parameters.hwc.ports, name.upper())
            )
            m.d.comb += [multicast.leaders.eq(leaders), multicast.apart.eq(control.halt)]
            for port, inner in zip(ports[name], multicast.hwcs, strict=True):
                connect(m, port, inner)
            found[name] = list(multicast.memory)
        return found

    def _share(self, m: Module, dma: Dma, ports: "Ports", vector: list[wiring.PureInterface]) -> None:
        """Connect the ports of all masters, in the order of ``parameters.masters``."""
        of_hwcs = [port for hwc in zip(*(ports[name] for name in HWC_PORTS), strict=True) for port in hwc]
        for index, port in enumerate([*of_hwcs, *dma.load, *dma.store, *vector]):
            join_port(m, port, self.tcdm, index)


def _members(interface: wiring.PureInterface) -> list[tuple[str, Signal]]:
    return [(name, getattr(interface, name)) for name in interface.signature.members]
