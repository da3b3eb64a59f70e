"""Block diagram of an HWC."""

from amaranth.hdl import Shape

from hwgen.gateware.bus.tcdm import TcdmMaster
from hwgen.gateware.hwc.datapath import Datapath
from hwgen.gateware.hwc.input.stream import InputStream
from hwgen.gateware.hwc.output.stream import OutputStream
from hwgen.gateware.hwc.registers import ControlRegisters
from hwgen.gateware.hwc.sequencer import Sequencer
from hwgen.gateware.hwc.token import operation
from hwgen.gateware.hwc.weight_stream import WeightStream
from manual.designs import hwc
from manual.figures.drawing import Drawing
from manual.ports import signature_of

__all__ = ["hwc_drawing"]

COLUMNS = (8, 141, 274)
WIDE = 118


def hwc_drawing() -> Drawing:
    """Three operand streams around the datapath; widths are those of the HWC that the manual shows."""
    p = hwc()
    d = Drawing("Block diagram of an HWC", 560)
    datapath_ports = signature_of(Datapath, p).members
    bits = {name: Shape.cast(datapath_ports[name].shape).width for name in ("input_data", "weight_data", "load_data")}
    streams = [
        d.box((COLUMNS[0], 150, WIDE, 74), "Input stream", "fetches new rows", "or columns;",
              f"ring of {p.input_bytes} B", of=InputStream),
        d.box((COLUMNS[1], 150, WIDE, 74), "Weight stream", "fetches packed", "tiles;", f"ring of {p.weight_bytes} B",
              of=WeightStream),
        d.box((COLUMNS[2], 150, WIDE, 158), "Output stream", "loads and drains", "partial sums;", "adds bias,",
              "requantises,", "packs words", of=OutputStream),
    ]  # fmt: skip
    for x, name, stream in zip(COLUMNS, ("tcdm_i", "tcdm_w", "tcdm_o"), streams, strict=True):
        port = d.box((x, 8, WIDE, 26), name, kind="port")
        master = d.box((x, 74, WIDE, 44), "TCDM master", "2 outstanding", of=TcdmMaster)
        d.wire([port.bottom(), master.top()], both=True)
        d.label((x + WIDE / 2 + 7, 59), "32 bit")
        d.wire([master.bottom(), stream.top()], both=True)

    sequencer = d.box((48, 264, 170, 44), "Sequencer", "walks the loop nest", of=Sequencer)
    for stream, x in ((streams[0], 90), (streams[1], 176)):
        d.wire([(x, stream.y + stream.height), (x, sequencer.y)], control=True)
    d.label((133, 248), "tokens", "middle")
    d.wire([(274, 286), sequencer.right()], both=True, control=True)

    datapath = d.frame((8, 356, 384, 92), "Datapath", of=Datapath)
    multipliers = d.box((18, 384, 152, 52), f"{p.lanes.product} lanes", "multiply, accumulate", kind="inner")
    memory = d.box((246, 384, 136, 52), "O memory", f"{p.output_bytes} B, partial sums", kind="memory")
    d.wire([multipliers.right(), memory.left()], both=True)
    d.label((208, 402), "sums", "middle")
    d.wire([(26, 224), (26, datapath.y)])
    d.label((32, 336), f"I: {bits['input_data']} bit")
    d.wire([(133, 308), (133, datapath.y)], control=True)
    d.label((139, 336), f"operation:\n{operation(p).size} bit")
    d.wire([(240, 224), (240, datapath.y)])
    d.label((246, 336), f"W: {bits['weight_data']} bit")
    d.wire([(306, 308), (306, datapath.y)])
    d.wire([(360, datapath.y), (360, 308)])
    d.label((333, 336), f"{bits['load_data']}\nbit", "middle")

    registers = d.box(
        (110, 492, 180, 58), "Registers", "settings of the layer,", "status, counters", of=ControlRegisters
    )
    cfg = d.box((8, 508, 68, 26), "cfg", kind="port")
    irq = d.box((324, 508, 68, 26), "irq", kind="port")
    d.wire([cfg.right(), registers.left()], both=True)
    d.wire([registers.right(), irq.left()])
    d.wire([registers.top(), (200, 448)], control=True)
    d.label((206, 474), "settings, to every block")
    return d
