"""What is around the HWCs of a cluster, and the vector unit: see `hwgen.model.area.hwc_terms`."""

from hwgen.arch.bus import WORD_BITS, WORD_BYTES
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import WORKING_QUEUES
from hwgen.arch.dma import CHUNK_BYTES, CHUNKS_AHEAD, DmaParameters
from hwgen.arch.vector.shape import VectorShape
from hwgen.model.area.hwc_terms import bits
from hwgen.model.area.memories import synchronous
from hwgen.model.area.structure import Structure, Terms

__all__ = ["CLUSTER_BLOCKS", "cluster_structure", "dma_structure", "vector_structure"]

CLUSTER_BLOCKS = ("interconnect", "queues", "dma", "vector")
"""Blocks of a cluster beside its HWCs."""
READERS = ("_i", "_w")
"""How the names of masters end that never write; those of the DMA's store channel read alone, too."""


def cluster_structure(p: ClusterParameters) -> Structure:
    """The structure of what is around the HWCs: TCDM and interconnect, queues of commands, DMA, vector unit."""
    dma = dma_structure(p.dma)
    vector = vector_structure(p.vector_shape, p.dma.tcdm_address_bits) if p.vector else Structure({})
    return Structure(
        {"interconnect": _interconnect(p), "queues": _queues(p), **dma.terms, **vector.terms},
        dma.lut_rams + vector.lut_rams,
        _tcdm_block_rams(p) + len(WORKING_QUEUES) + dma.block_rams + vector.block_rams,
        dma.dsps + vector.dsps,
    )


def dma_structure(p: DmaParameters) -> Structure:
    """The structure of a DMA."""
    program = synchronous(CHUNKS_AHEAD * CHUNK_BYTES // p.beat_bytes, p.axi_bits)
    return Structure(
        {
            "dma": {
                "1": 1,
                "ports": p.ports,
                "turns": p.beat_bytes * bits(p.beat_bytes),
                "address": p.tcdm_address_bits,
                "address, ports": p.tcdm_address_bits * p.ports,
            }
        },
        block_rams=program.block_rams,
        dsps=4,
    )


def vector_structure(shape: VectorShape, address_bits: int) -> Structure:
    """The structure of a vector unit in a TCDM whose byte addresses have ``address_bits``."""
    return Structure(
        {
            "vector": {
                "1": 1,
                "elements": shape.elements,
                "wide": shape.wide,
                "outputs": shape.outputs,
                "strips": shape.has_strips * shape.elements,
                "word": shape.word_bytes - WORD_BYTES,
                "address": address_bits,
            }
        },
        block_rams=shape.outputs if shape.word_bytes == WORD_BYTES else 0,  # tables, of which wide words are in LUTs
        dsps=1 + 2 * shape.outputs,
    )


def _interconnect(p: ClusterParameters) -> Terms:
    """Every master asks every bank, and hears from every bank."""
    tcdm = p.tcdm
    banks, words, line = tcdm.banks, tcdm.words_of, bits(max(2, tcdm.depth))
    writers = sum(not name.endswith(READERS) and not name.startswith("store") for name in p.masters)
    widths = sorted(set(words))
    return {
        "1": 1,
        "banks": banks,
        "masters": tcdm.masters,
        "lines": banks * tcdm.masters * line,
        "written": banks * writers * WORD_BITS,
        "answers": banks * (tcdm.masters - writers / 2) * WORD_BITS,
        "asked": banks * tcdm.masters,
        "contests": sum(banks // width * tcdm.masters for width in widths),
    }


def _queues(p: ClusterParameters) -> Terms:
    """Queues of commands, registers, and what lets HWCs read together."""
    shared = p.multicast * p.hwcs
    return {
        "1": 1,
        "units": p.units,
        "masters": p.tcdm.masters,
        "shared": shared,
        "shared words": shared * (p.hwc.ports.I + p.hwc.ports.W) / WORD_BITS,
        "shared pairs": shared * p.hwcs,
    }


def _tcdm_block_rams(p: ClusterParameters) -> int:
    """Block RAMs of the TCDM, whose words are written byte by byte."""
    depth = p.tcdm.depth
    return p.tcdm.banks * (2 if depth <= 1 << 10 else 4 * -(-depth // (1 << 11)))
