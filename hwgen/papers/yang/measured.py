"""Layers of Yang et al. 2016 on a cluster that was designed with their schedules: what the RTL's buses counted."""

from collections.abc import Sequence
from dataclasses import dataclass

from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.papers.claims import Claim, cases
from hwgen.papers.yang.design_claims import MOST_OF_MACS
from hwgen.papers.yang.designs import fc_layers
from hwgen.papers.yang.rows import BENCHMARKS, benchmark_layers

__all__ = ["FULL", "SMALL", "ClusterRow", "DesignScale", "cluster_claims", "cluster_lines"]


@dataclass(frozen=True)
class DesignScale:
    """Layers, bytes of all memories on chip, number of HWCs, and lanes of a cluster that is designed for them.

    Members
    -------
    connected : fully connected layers with their numbers of images: a cluster of one HWC for each of them.
    connected_bytes : of all memories of such a cluster.
    """

    text: str
    layers: tuple[Layer, ...]
    bytes: int
    hwcs: int
    lanes: Lanes
    connected: tuple[Layer, ...] = ()
    connected_bytes: int = 0


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


def _connected(most: int, **sizes: int) -> tuple[Layer, ...]:
    """FC1 with one image, and with as many as are allowed; ``sizes``: cut down."""
    one = next(layer for layer in fc_layers() if layer.name == "FC1")
    return tuple(Layer(**{**one.model_dump(), **sizes, "batch": images}) for images in (1, most))


FULL = DesignScale(
    "as published", tuple(benchmark_layers(("Conv3", "Conv4", "Conv5"))), 1 << 18, 4, Lanes(m=4, c=4),
    _connected(64), 1 << 13,
)  # fmt: skip
"""Conv1 and Conv2 have 780 and 23 thousand million multiply-accumulates, too many for a simulator, as has FC2 with a
batch. FC1 has 20,000 weights, which are more than the memories on chip."""
SMALL = DesignScale(
    "cut down to 8 to 16 channels of 8 x 8", _small(), 1 << 13, 2, Lanes(m=2, c=2),
    _connected(4, input_channels=72, output_channels=40), 1 << 11,
)  # fmt: skip


@dataclass(frozen=True)
class ClusterRow:
    """What was counted of a layer.

    Members
    -------
    dram_bytes, tcdm_bytes : that cross at the DRAM and at the ports of all HWCs.
    dram, tcdm, local, mac : pJ of what these levels serve, by the counts; of the datapath's accesses as predicted.
    equal : every count of every operand at every level is the predicted one, and the output is right.
    predicted, cycles : of the whole layer.
    images : of which the layer has the weights.
    nested : whether every byte at the DRAM, and between shared memory, local buffers and lanes, is that of the model
        of hierarchies for the same nest; None of several HWCs, of which some read together.
    lane_vectors : vectors that the lanes access in the local buffers, each at once.
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
    images: int = 1
    nested: bool | None = None
    lane_vectors: int = 0

    @property
    def share(self) -> float:
        """Energy of the memories in parts of that of the multiply-accumulates."""
        return (self.dram + self.tcdm + self.local) / self.mac


def cluster_claims(rows: Sequence[ClusterRow], scale: DesignScale) -> list[Claim]:
    """What the paper states of accesses and energy, judged by what was counted."""
    return [*_of_convolutions([row for row in rows if row.nested is None], scale), *_of_images(rows, scale)]


def _of_images(rows: Sequence[ClusterRow], scale: DesignScale) -> list[Claim]:
    """What it states of loops over images; none without fully connected layers."""
    connected = [row for row in rows if row.nested is not None]
    if not connected:
        return []
    first = {row.layer: row.dram_bytes / row.images for row in connected if row.images == 1}
    more = [row for row in connected if row.images > 1]
    return [
        Claim(
            "3.1, in the RTL",
            "one sometimes wants to block over images as well, especially in fully connected layers",
            "; ".join(
                f"{row.layer}, {row.images} images: {row.dram_bytes / row.images:,.0f} bytes of the DRAM for each"
                for row in connected
            ),
            f"Each on a cluster of one HWC with {scale.connected_bytes >> 10} KiB on chip that is designed for it, "
            f"layers {scale.text}: loops over images around the tiles, so that a tile of weights serves several. "
            "Accesses are those that the model of hierarchies has for the nest on four levels, DRAM, shared memory, "
            "local buffers and registers at the lanes: to the byte, but for vectors at the lanes that are not full.",
            scope=f"{len(first)} of the 2 fully connected layers of Table 4: FC2 takes too long to simulate",
            parts=(
                *cases("accesses of a hierarchy", (bool(row.nested) and row.equal for row in connected)),
                *cases("fewer bytes an image", (row.dram_bytes / row.images < first[row.layer] for row in more)),
            ),
        )
    ]


def _of_convolutions(rows: Sequence[ClusterRow], scale: DesignScale) -> list[Claim]:
    """What it states of loop orders and energy."""
    where = f"{scale.hwcs} HWCs, {scale.bytes >> 10} KiB on chip, layers {scale.text}"
    return [
        Claim(
            "3.4, Eq. 1, in the RTL",
            "the order of the loops sets the number of references to each level of the memory hierarchy",
            f"{sum(row.equal for row in rows)} of {len(rows)} layers make the predicted accesses at DRAM and shared "
            "memory, to the byte, and at the local buffers, to the vector",
            f"{where}. Our counts are exact at edges and halos, where Table 2 is not. Operands of 8 bits; the "
            "paper's have 16. One image, three levels on chip: shared memory, local buffers, registers at the lanes.",
            scope=_of_layers(rows),
            parts=cases("layers", (row.equal for row in rows)),
        ),
        Claim(
            "Fig. 8, in the RTL",
            f"with 8 MB the memories take less than {MOST_OF_MACS:.0%} of the energy of the multiply-accumulates",
            ", ".join(f"{row.layer} {100 * row.share:.0f} %" for row in rows),
            f"{where}: energy of the accesses that were counted, those of the local buffers as predicted, with the "
            "prices of 64 bits. There is less memory than the paper's, so it is no evidence against the statement.",
            scope=_of_layers(rows),
        ),
    ]


def _of_layers(rows: Sequence[ClusterRow]) -> str:
    return f"{len(rows)} of the {len(BENCHMARKS)} convolutions of Table 4: Conv1 and Conv2 take too long to simulate"


def cluster_lines(rows: Sequence[ClusterRow], hardware: str) -> list[str]:
    """The rows as a table in Markdown."""
    columns = (
        "layer", "images", "DRAM bytes", "bytes at the HWCs", "vectors at the lanes", "DRAM uJ", "shared uJ",
        "local uJ", "MACs uJ", "memory / MACs", "as predicted", "cycles predicted", "cycles",
    )  # fmt: skip
    text = f"{hardware} Bytes are those of I, W and O; the energy has biases and the program, too."
    return [text, "", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|", *map(_line, rows)]


def _line(row: ClusterRow) -> str:
    energies = (f"{energy / 1e6:.4g}" for energy in (row.dram, row.tcdm, row.local, row.mac))
    moved = (f"{number:,}" for number in (row.dram_bytes, row.tcdm_bytes, row.lane_vectors))
    right = "yes" if row.equal else "NO"
    cells = (row.layer, str(row.images), *moved, *energies, f"{row.share:.2f}", right, f"{row.predicted:,}",
             f"{row.cycles:,}")  # fmt: skip
    return f"| {' | '.join(cells)} |"
