"""Area by block of HWCs, clusters and pipelines; nothing is placed, so that a cluster takes minutes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.pipeline import PipelineParameters
from hwgen.arch.vector.shape import NARROW, VectorShape
from hwgen.export.cached import generated, generated_cluster
from hwgen.export.conversion import converted
from hwgen.export.pipeline import pipeline_verilog
from hwgen.gateware.vector.unit import VectorUnit
from hwgen.synthesis.cells import Area, Gates
from hwgen.synthesis.ecp5 import areas_and_gates

__all__ = ["Block", "cluster_blocks", "hwc_blocks", "pipeline_blocks", "unseen", "vector_blocks"]

Tell = Callable[[str], None]
Arrived = Callable[[str, dict[str, Area]], None]


def unseen(part: str, found: dict[str, Area]) -> None:
    """A receiver that drops what arrives, for those who wait for everything."""


@dataclass(frozen=True)
class Block:
    """What a block takes on an ECP5, and the same logic in gates of no technology."""

    area: Area = field(default_factory=Area)
    gates: Gates = field(default_factory=Gates)

    def __add__(self, other: Self) -> "Block":
        return Block(self.area + other.area, self.gates + other.gates)


def hwc_blocks(
    parameters: HwcParameters, *, tell: Tell = lambda stage: None, arrived: Arrived = unseen
) -> dict[str, Block]:
    """The blocks of an HWC. ``arrived`` has the areas of a part (its name, blocks) before its gates are known."""
    tell("writing its Verilog")
    return _blocks(generated(parameters), "hwc", tell=tell, arrived=arrived)


def pipeline_blocks(
    parameters: PipelineParameters, *, tell: Tell = lambda stage: None, arrived: Arrived = unseen
) -> dict[str, Block]:
    """The blocks of a pipeline."""
    tell("writing its Verilog")
    return _blocks(pipeline_verilog(parameters), "pipeline", tell=tell, arrived=arrived)


def cluster_blocks(
    parameters: ClusterParameters, *, tell: Tell = lambda stage: None, arrived: Arrived = unseen
) -> dict[str, Block]:
    """The blocks of a cluster: its HWCs, which are equal, and what is around them. One HWC is synthesised."""
    one = sum(hwc_blocks(parameters.hwc, tell=tell, arrived=arrived).values(), Block())
    tell("writing the Verilog of the cluster")
    around = _blocks(generated_cluster(parameters), "cluster", blackboxes=("hwc",), tell=tell, arrived=arrived)
    return {f"{parameters.hwcs} HWCs": sum([one] * parameters.hwcs, Block()), **around}


def vector_blocks(address_bits: int, shape: VectorShape = NARROW) -> dict[str, Block]:
    """The blocks of a vector unit alone, in a TCDM whose byte addresses have so many bits."""
    return _blocks(converted(VectorUnit(address_bits, shape=shape), "vector"), "vector", tell=lambda stage: None)


def _blocks(
    verilog: str, top: str, *, blackboxes: tuple[str, ...] = (), tell: Tell, arrived: Arrived = unseen
) -> dict[str, Block]:
    """Both of each block."""
    cells, gates = areas_and_gates(
        verilog,
        top,
        blackboxes=blackboxes,
        tell=tell,
        arrived=lambda found: arrived(f"{top} without {blackboxes[0]}" if blackboxes else top, found),
    )
    names = sorted(cells | gates)
    return {name: Block(cells.get(name, Area()), gates.get(name, Gates())) for name in names}
