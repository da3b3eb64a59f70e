"""Block diagram of the DMA."""

from hwgen.arch.bus import WORD_BITS
from hwgen.gateware.bus.axi import Register
from hwgen.gateware.dma.align import ByteAligner
from hwgen.gateware.dma.descriptor_front import ChannelFront
from hwgen.gateware.dma.gather import LineReader
from hwgen.gateware.dma.program_fetch import ProgramFetcher
from hwgen.gateware.dma.scatter import Scatterer
from hwgen.gateware.dma.segment import Segmenter
from hwgen.gateware.dma.write import LineWriter
from manual.designs import cluster
from manual.figures.drawing import Drawing

__all__ = ["dma_drawing"]


def dma_drawing() -> Drawing:
    """The load channel, the store channel and the fetch of programs."""
    p = cluster().dma
    d = Drawing("Block diagram of the DMA", 600)
    axi = d.box((8, 8, 92, 26), "axi", kind="port")
    program = d.box((270, 8, 122, 26), "o_program", kind="port")
    fetch = d.box((270, 66, 122, 58), "Program fetch", "reserves room", "for each burst", of=ProgramFetcher)
    d.wire([fetch.top(), program.bottom()])
    d.label((338, 55), f"{WORD_BITS} bit")
    channels = d.frame((8, 160, 384, 58), "AXI4 channels")
    d.box((16, 182, 100, 28), "AR: program first", kind="inner", of=Register)
    d.box((124, 182, 68, 28), "R: by ID", kind="inner")
    d.box((208, 182, 68, 28), "W", kind="inner")
    d.box((284, 182, 100, 28), "AW and B", kind="inner")
    d.wire([axi.bottom(), (54, channels.y)], both=True)
    d.label((60, 100), f"{p.axi_bits} bit")
    d.wire([fetch.bottom(), (331, channels.y)], both=True)
    d.label((325, 145), "bursts, beats", "end")

    words = [d.box((8, 484, 80, 26), "i_load", kind="port"), d.box((312, 484, 80, 26), "i_store", kind="port")]
    fronts = [
        d.box((22, 262, 82, 58), "Load front", "checks", "descriptors", of=ChannelFront),
        d.box((296, 262, 82, 58), "Store front", "checks", "descriptors", of=ChannelFront),
    ]
    segmenters = [d.box((x, 374, 82, 58), "Segmenter", "runs that", "do not wrap", of=Segmenter) for x in (22, 296)]
    for word, front, segmenter, edge in zip(words, fronts, segmenters, (13, 387), strict=True):
        middle = front.x + front.width / 2
        d.wire([front.top(), (middle, 210)])
        d.wire([front.bottom(), segmenter.top()], control=True)
        side = front.left() if edge < middle else front.right()
        d.wire([(edge, word.y + 8), (edge, side[1]), side])
        d.label((middle + 6, 247), "bursts")
        d.label((middle + 6, 352), "runs")
    d.label((92, 501), f"{WORD_BITS} bit")
    d.label((308, 501), f"{WORD_BITS} bit", "end")

    aligners = [
        d.box((116, 262, 82, 58), "Aligner", "beats", "to lines", of=ByteAligner),
        d.box((204, 262, 82, 58), "Aligner", "lines", "to beats", of=ByteAligner),
    ]
    scatterer = d.box((116, 326, 82, 44), "Scatterer", "single bytes", of=Scatterer)
    writer = d.box((116, 412, 82, 58), "Line writer", f"{p.ports} words", "a cycle", of=LineWriter)
    reader = d.box((204, 412, 82, 58), "Line reader", f"{p.ports} words", "a cycle", of=LineReader)
    d.wire([(157, 210), aligners[0].top()])
    d.wire([aligners[1].top(), (245, 210)])
    d.label((163, 236), f"{p.axi_bits} bit")
    d.label((251, 236), f"{p.axi_bits} bit")
    d.wire([scatterer.bottom(), writer.top()])
    d.wire([reader.top(), aligners[1].bottom()])
    d.wire([segmenters[0].right(0.4), (110, segmenters[0].right(0.4)[1]), (110, 300), (116, 300)], control=True)
    d.wire([segmenters[1].left(0.7), (291, segmenters[1].left(0.7)[1]), (291, 439), reader.right()], control=True)
    ports = [d.box((116, 540, 82, 26), "load", kind="port"), d.box((204, 540, 82, 26), "store", kind="port")]
    d.wire([writer.bottom(), ports[0].top()])
    d.wire([ports[1].top(), reader.bottom()], both=True)
    d.label((201, 586), f"{p.ports} TCDM ports each, {WORD_BITS} bit", "middle")
    return d
