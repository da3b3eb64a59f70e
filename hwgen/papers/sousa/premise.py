"""Fig. 1 of Sousa et al. 2022 on our own DMA, with the DRAM that Eq. 6 describes (``sousa_2022_bursts``).

A map of 128 x 128 elements of 16 bits is loaded and stored in slices, one transfer after the other. Each burst of 128
bytes costs the CAS latency, each byte its time. The DRAM's two times are fitted to the paper's three, so that these
are no evidence for Eq. 6; they show that the DRAM states it.
"""

from collections.abc import Sequence

from hwgen.arch.descriptor import Descriptor, OperandTag, RingSelect
from hwgen.arch.dma import DmaParameters
from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import Cluster
from hwgen.model.dma.cycles import load_times, store_times
from hwgen.papers.claims import Claim, about, between
from hwgen.papers.sousa.claims import CLOSE, MAP, SLICES, TIME_OFF
from hwgen.papers.sousa.model import Npu

__all__ = ["PREMISE", "figure_1_claim", "figure_1_times", "premise", "slice_transfers"]

PREMISE = "sousa_2022_bursts"
"""The hardware whose DRAM is that of the paper's premise."""


def premise() -> Cluster:
    """The cluster with that DRAM."""
    cluster = load_hardware(named_file("hardware", PREMISE)).cluster
    assert cluster is not None
    return cluster


def slice_transfers(rows: int, columns: int, element: int, tag: OperandTag, base: int) -> list[Descriptor]:
    """A map of `MAP` rows and columns from ``base`` on in slices of so much: rows of slices, columns of them."""
    pitch, length = MAP * element, columns * element
    return [
        Descriptor(length, tag, RingSelect.FIXED, base + y * pitch + x * element, 0, rows, 1, pitch, 0, length)
        for y in range(0, MAP, rows)
        for x in range(0, MAP, columns)
    ]


def figure_1_times(cluster: Cluster, npu: Npu) -> list[float]:
    """Microseconds of the three slicings by the cycle model of the DMA; one core does the MACs, as in `claims`."""
    dma, dram = DmaParameters(axi_bits=cluster.axi_bits), cluster.dram
    found = []
    for number, (_, rows, columns), _ in SLICES:
        moves = slice_transfers(rows, columns, npu.element, OperandTag.I, 0)
        assert len(moves) == number
        cycles = sum(load_times(moves, dma, dram, serial=True).cycles)
        cycles += sum(store_times(moves, dma, dram, serial=True).cycles)
        found.append((cycles + MAP * MAP / npu.macs) * npu.cycle / 1e3)
    return found


def figure_1_claim(npu: Npu) -> Claim:
    """The three times, and how much less the last one is."""
    times = figure_1_times(premise(), npu)
    printed: Sequence[float] = [time for _, _, time in SLICES]
    less = 100 * (1 - times[-1] / times[0])
    return Claim(
        "Fig. 1",
        f"{printed[0]}, {printed[1]} and {printed[2]} us for the three slicings: 45 % less time from the first to "
        "the last",
        f"{', '.join(f'{time:.1f}' for time in times)} us: {less:.0f} % less",
        "24.8 ns for each burst of 128 bytes and 59.1 ns for 128 bytes, loads and stores, are fitted to these "
        "three times, so they are no evidence: they say that the DRAM charges as Eq. 6 does. The cycle model of our "
        "own DMA, beside its RTL in the tests.",
        scope="a map of 128 x 128 elements of 16 bits, one kernel of 1 x 1",
        parts=(
            *(
                about(f"{number} slices of {rows} rows", time, paper, TIME_OFF, "us")
                for (number, (_, rows, _), _), time, paper in zip(SLICES, times, printed, strict=True)
            ),
            between("less", less, 45 - CLOSE, 45 + CLOSE, "%", "more"),
        ),
        reading=f"our own DMA, a DRAM calibrated to this figure ({PREMISE})",
    )
