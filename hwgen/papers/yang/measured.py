"""Layers of Yang et al. 2016 on a cluster that was designed with their schedules: what the RTL's buses counted."""

from collections.abc import Sequence
from dataclasses import dataclass

from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.papers.claims import Claim, cases
from hwgen.papers.yang.design_claims import MOST_OF_MACS
from hwgen.papers.yang.rows import BENCHMARKS, benchmark_layers

__all__ = ["FULL", "SMALL", "ClusterRow", "DesignScale", "cluster_claims", "cluster_lines"]


@dataclass(frozen=True)
class DesignScale:
    """Layers, bytes of all memories on chip, number of HWCs, and lanes of a cluster that is designed for them."""

    text: str
    layers: tuple[Layer, ...]
    bytes: int
    hwcs: int
    lanes: Lanes


def _small() -> tuple[Layer, ...]:
    return tuple(
        Layer(
            **{
                **layer.model_dump(),
                "input_channels": 8,
                "output_channels": 16,
                "input_height": 8,
                "input_width": 8,
                "output_height": 8,
                "output_width": 8,
            }
        )
        for layer in benchmark_layers(("Conv3", "Conv5"))
    )


FULL = DesignScale("as published", tuple(benchmark_layers(("Conv3", "Conv4", "Conv5"))), 1 << 18, 4, Lanes(m=4, c=4))
"""Conv1 and Conv2 have 780 and 23 thousand million multiply-accumulates, too many for a simulator."""
SMALL = DesignScale("cut down to 8 to 16 channels of 8 x 8", _small(), 1 << 13, 2, Lanes(m=2, c=2))


@dataclass(frozen=True)
class ClusterRow:
    """What was counted of a layer.

    Members
    -------
    dram_bytes, tcdm_bytes : that cross at the DRAM and at the ports of all HWCs.
    dram, tcdm, local, mac : pJ of what these levels serve, by the counts; of the datapath's accesses as predicted.
    equal : every count of every operand at every level is the predicted one, and the output is right.
    predicted, cycles : of the whole layer.
    """

    layer: str
    dram_bytes: int
    tcdm_bytes: int
    dram: float
    tcdm: float
    local: float
    mac: float
    equal: bool
    predicted: int
    cycles: int

    @property
    def share(self) -> float:
        """Energy of the memories in parts of that of the multiply-accumulates."""
        return (self.dram + self.tcdm + self.local) / self.mac


def cluster_claims(rows: Sequence[ClusterRow], scale: DesignScale) -> list[Claim]:
    """What the paper states of accesses and energy, judged by what was counted."""
    where = f"{scale.hwcs} HWCs, {scale.bytes >> 10} KiB on chip, layers {scale.text}"
    return [
        Claim(
            "3.4, Eq. 1, in the RTL",
            "the order of the loops sets the number of references to each level of the memory hierarchy",
            f"{sum(row.equal for row in rows)} of {len(rows)} layers make the predicted accesses at DRAM and shared "
            "memory, to the byte",
            f"{where}. Our counts are exact at edges and halos, where Table 2 is not. Operands of 8 bits; the "
            "paper's have 16. One image, two levels on chip: the RTL has no third one.",
            scope=_of_layers(rows),
            parts=cases("layers", (row.equal for row in rows)),
        ),
        Claim(
            "Fig. 8, in the RTL",
            f"with 8 MB the memories take less than {MOST_OF_MACS:.0%} of the energy of the multiply-accumulates",
            ", ".join(f"{row.layer} {100 * row.share:.0f} %" for row in rows),
            f"{where}: energy of the accesses that were counted, those of the datapath as predicted, with the prices "
            "of 64 bits. There is less memory than the paper's, so it is no evidence against the statement.",
            scope=_of_layers(rows),
        ),
    ]


def _of_layers(rows: Sequence[ClusterRow]) -> str:
    return f"{len(rows)} of the {len(BENCHMARKS)} convolutions of Table 4: Conv1 and Conv2 take too long to simulate"


def cluster_lines(rows: Sequence[ClusterRow], hardware: str) -> list[str]:
    """The rows as a table in Markdown."""
    columns = (
        "layer", "DRAM bytes", "bytes at the HWCs", "DRAM uJ", "shared uJ", "local uJ", "MACs uJ", "memory / MACs",
        "as predicted", "cycles predicted", "cycles",
    )  # fmt: skip
    text = f"{hardware} Bytes are those of I, W and O; the energy has biases and the program, too."
    return [text, "", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|", *map(_line, rows)]


def _line(row: ClusterRow) -> str:
    energies = (f"{energy / 1e6:.4g}" for energy in (row.dram, row.tcdm, row.local, row.mac))
    cells = (row.layer, f"{row.dram_bytes:,}", f"{row.tcdm_bytes:,}", *energies, f"{row.share:.2f}",
             "yes" if row.equal else "NO", f"{row.predicted:,}", f"{row.cycles:,}")  # fmt: skip
    return f"| {' | '.join(cells)} |"
