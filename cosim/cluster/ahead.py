"""The simulator of a cluster that a file describes, built while what it will run is still planned."""

from cosim.cluster.model import cluster_device
from cosim.device.device import dram_depth
from cosim.simulator.ahead import TIMES_LEAST, Ahead
from cosim.simulator.pace import cluster_paces, soonest
from cosim.simulator.registry import SIMULATORS
from hwgen.arch.bus import WORD_BYTES
from hwgen.ir.hardware import Hardware
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import dense_weights
from hwgen.lower.network.bound import NetworkBound
from hwgen.lower.network.layers import weighted
from hwgen.model.area.assumed import cluster_of, hwc_of

__all__ = ["begin_network"]

MOST_WEIGHTS = 1.25
"""What biases and gaps add to the bytes of weights, at most, as a factor."""
MAPS_AT_ONCE = 3
"""Maps of the largest one's size that are there at the same time, at most, for a guess."""
PROGRAM_BYTES = 1 << 18
"""What the program takes, about, at most."""


def begin_network(ahead: Ahead, graph: Graph, hardware: Hardware, images: int) -> None:
    """Begin to build one cluster, if its file says all of it, and the network which build is the best."""
    if hardware.cluster is None or not ahead.may_build(hardware):
        return

    def build() -> None:
        depths = {dram_depth(-(-size // WORD_BYTES) + 1) for size in _image_bytes(graph)}
        parameters = cluster_of(hardware, hwc_of(hardware))
        least = images * NetworkBound(graph).cycles(hardware)
        names = {soonest(cluster_paces(parameters.hwcs), [times * least]).simulator for times in TIMES_LEAST}
        if len(depths) == len(names) == 1:
            SIMULATORS[names.pop()].build(cluster_device(parameters, depths.pop()), "library")

    ahead.start(build)


def _image_bytes(graph: Graph) -> tuple[int, int]:
    """Bytes of the DRAM that are used, at least and, about, at most."""
    weights = sum(dense_weights(node).size for node in weighted(graph))
    largest = max(one.elements for one in graph.tensors.values())
    return weights, int(MOST_WEIGHTS * weights) + MAPS_AT_ONCE * largest + PROGRAM_BYTES
