"""Block diagram of a cluster."""

from hwgen.arch.cluster import HWC_PORTS
from hwgen.gateware.bus.apb import ApbBridge
from hwgen.gateware.cluster.cluster import HwcModule
from hwgen.gateware.cluster.command_queues import CommandReader, MoveQueue
from hwgen.gateware.cluster.compute_queue import ComputeQueue
from hwgen.gateware.cluster.control import ClusterControl
from hwgen.gateware.cluster.registers import ClusterRegisters
from hwgen.gateware.cluster.tcdm_banks import TcdmBanks
from hwgen.gateware.dma.dma import Dma
from manual.designs import cluster
from manual.figures.drawing import Drawing

__all__ = ["cluster_drawing"]


def cluster_drawing() -> Drawing:
    """Registers and control, three command queues, HWCs and DMA on the shared memory."""
    p = cluster()
    d = Drawing("Block diagram of a cluster", 590)
    apb = d.box((8, 8, 80, 26), "apb", kind="port")
    irq = d.box((120, 8, 80, 26), "irq", kind="port")
    axi = d.box((304, 8, 80, 26), "axi", kind="port")
    bridge = d.box((8, 74, 80, 44), "Bridge", "APB4", of=ApbBridge)
    registers = d.box((120, 74, 144, 44), "Registers", "settings, counters", of=ClusterRegisters)
    d.wire([apb.bottom(), bridge.top()], both=True)
    d.label((54, 58), "32 bit")
    d.wire([bridge.right(), registers.left()], both=True)
    d.wire([(160, 74), irq.bottom()])
    dma = d.box((296, 74, 96, 292), "DMA", "loads, stores,", "fetches the", "program", of=Dma)
    d.wire([axi.bottom(), dma.top()], both=True)
    d.label((350, 58), f"{p.axi_bits} bit")
    d.wire([registers.right(), (296, 96)], control=True)

    reader = d.box((120, 160, 144, 44), "Command reader", "checks, distributes", of=CommandReader)
    d.box((8, 160, 80, 44), "Control", "tokens, faults", of=ClusterControl)
    d.wire([(296, 182), reader.right()])
    d.wire([(212, 118), (212, 160)], control=True)
    d.wire([(48, 160), (48, 139), (160, 139), (160, 118)], control=True, both=True)

    queues = [
        d.box((8, 252, 84, 58), "Load", "queue,", f"{p.load_words} words", of=MoveQueue),
        d.box((100, 252, 84, 58), "Compute", "queue,", f"{p.compute_words} words", of=ComputeQueue),
        d.box((192, 252, 84, 58), "Store", "queue,", f"{p.store_words} words", of=MoveQueue),
    ]
    for queue in queues:
        x = queue.x + 56
        d.wire([(192, 204), (192, 228), (x, 228), (x, 252)])
        d.wire([(48, 204), (48, 240), (queue.x + 24, 240), (queue.x + 24, 252)], control=True)
    d.label((128, 222), "32 bit")
    d.wire([queues[2].right(), (296, 281)])
    d.wire([queues[0].bottom(), (50, 334), (296, 334)])
    d.label((192, 348), "descriptors")

    hwcs = [d.box((8 + 68 * i, 400, 60, 44), f"HWC {i}", of=HwcModule) for i in range(min(p.hwcs, 4))]
    assert p.hwcs == len(hwcs), "the drawing has room for four"
    d.wire([queues[1].bottom(), (142, 372)])
    d.label((148, 366), "register writes")
    for hwc in hwcs:
        d.wire([(142, 372), (hwc.x + 30, 372), hwc.top()])
    about = (
        f"{p.tcdm_banks} banks of {p.tcdm.depth} words of 32 bit,",
        "one request a bank and cycle,",
        f"round robin among {len(p.masters)} ports",
    )
    tcdm = d.box((8, 506, 384, 74), "TCDM", *about, kind="memory", of=TcdmBanks)
    for hwc in hwcs:
        for place in (0.25, 0.5, 0.75):
            x = hwc.x + place * hwc.width
            d.wire([(x, 444), (x, tcdm.y)], both=True)
    d.label((290, 474), f"{len(HWC_PORTS)} ports an HWC,\n32 bit each")
    d.wire([(380, 366), (380, tcdm.y)], both=True)
    d.label((374, 392), f"{2 * p.dma.ports} ports,\n32 bit each", "end")
    return d
