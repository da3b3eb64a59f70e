"""Fig. 4 of Cecconi et al. 2017 in the RTL: transfers of tiles by the simulated DMA, computation off."""

import numpy as np

from cosim.device.dram import Region
from cosim.dma.model import DRAM_LOG2, load_model
from cosim.dma.run import TCDM_BYTES, DmaJob, DmaResult, Memories, moved, run_dma
from hwgen.arch.descriptor import Descriptor
from hwgen.arch.dma import DmaParameters
from hwgen.arch.dram import Dram, DramPort
from hwgen.model.dma.cycles import Times, transfer_accesses, transfer_words
from hwgen.papers.cecconi.transfers import Chosen, Timed, places

__all__ = ["counts_differ", "moved_in_rtl"]

LARGE_LOG2 = 24
"""A DRAM for every layer of FlowNet S, in words: three quarters of it are data, the rest descriptors and times."""


def moved_in_rtl(chosen: Chosen, dma: DmaParameters, dram: Dram) -> tuple[Timed, bool]:
    """Move the transfers one after the other, loads first; their cycles, and whether data and counts are right."""
    operands = places(chosen.layer)
    last = max(end for _, end in operands.values())
    log2 = next(size for size in (DRAM_LOG2, LARGE_LOG2) if last <= 3 << size)
    generator = np.random.default_rng(1)
    memories = Memories(
        generator.integers(0, 256, 3 << log2, dtype=np.uint8), generator.integers(0, 256, TCDM_BYTES, dtype=np.uint8)
    )
    job = DmaJob(
        chosen.moved.loads,
        chosen.moved.stores,
        {},
        memories,
        serial=True,
        stores_last=True,
        timing=dram,
        dram_window=(0, 3 << log2),
        regions=tuple(Region(first, end, tag) for tag, (first, end) in operands.items()),
        cycle_limit=1 << 30,
    )
    result = run_dma(load_model(dma, log2), job)
    expected = moved(job)
    right = (
        not result.timed_out and not any(result.violations.values()) and not any(code for code, _ in result.errors)
    )
    right = right and np.array_equal(result.memories.dram, expected.dram)
    right = right and np.array_equal(result.memories.tcdm, expected.tcdm)
    right = right and not counts_differ(chosen, DramPort(dma.axi_bits, dram), result)
    return Timed(Times(tuple(result.begins), tuple(result.ends)).cycles), right


def counts_differ(chosen: Chosen, port: DramPort, result: DmaResult) -> list[str]:
    """What was not counted as predicted, at the DRAM and at the TCDM."""
    found = []
    channels: tuple[tuple[Descriptor, ...], ...] = (chosen.moved.loads, chosen.moved.stores)
    for written, moves in enumerate(channels):
        for tag, access in transfer_accesses(moves, port).items():
            for name, counted in result.counts[tag, bool(written)].items():
                if counted != getattr(access, name):
                    found.append(f"{tag.name} {name}: {counted}, predicted {getattr(access, name)}")
        expected = (sum(transfer_words(moves).values()), sum(move.bytes for move in moves))
        if result.accesses[written] != expected:
            found.append(f"TCDM words, bytes: {result.accesses[written]}, predicted {expected}")
    return found
