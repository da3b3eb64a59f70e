"""What no plan of a network goes below in cycles on a cluster or an HWC: of lanes, ports, weights and vector unit."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import beat_bytes
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.names import safe_name
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Concatenation, Movement, Node
from hwgen.lower.network.cluster_plan import require_vector_node
from hwgen.lower.network.guess import RooflineGuess
from hwgen.lower.network.layers import layer_of, may_be_laid_out, weighted
from hwgen.lower.network.tables import with_tables
from hwgen.lower.vector.tasks import is_for_vector
from hwgen.model.cycle_bound import least_busy
from hwgen.search.layer_forms import forms_of

__all__ = ["NetworkBound", "bound_of_layer", "computed_elements"]


class NetworkBound:
    """The bound of one network; maps may stay in the TCDM, so that the DMA moves the weights at the least, and the
    vector unit works beside the HWCs.

    Members
    -------
    has_vector_nodes : whether there is something that a vector unit can run.
    """

    def __init__(self, graph: Graph) -> None:
        graph, _ = with_tables(graph)
        self._layers: list[tuple[Layer, bool]] = []
        taken: set[str] = set()
        for node in weighted(graph):
            try:
                layer = layer_of(graph, node, safe_name(node.name, taken))
            except InputError:  # the host runs it
                continue
            self._layers.append((layer, may_be_laid_out(graph, node)))
        self._guess = RooflineGuess([layer for layer, _ in self._layers], stay=True)
        self._busy: dict[tuple[object, ...], NDArray[np.float64]] = {}
        self.has_vector_nodes, self._computed = False, 0
        for other in graph.nodes:
            if is_for_vector(other):
                try:
                    require_vector_node(graph, other)
                except InputError:
                    continue
                self.has_vector_nodes = True
                self._computed += computed_elements(other, graph.tensors[other.output].elements)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the layers."""
        return sum(layer.macs for layer, _ in self._layers)

    def cycles(self, hardware: Hardware) -> int:
        """The bound on a cluster with given lanes: layers one after the other, all weights beside them.

        On an HWC alone the weights come through its port.
        """
        busy = round(float(self._busy_with(hardware).sum()))
        weights = sum(layer.weight_elements for layer, _ in self._layers)
        ports, cluster = hardware.ports, hardware.cluster
        at_once = ports.weight_bytes if cluster is None else beat_bytes(cluster.axi_bits)
        return max(busy, self._computes(hardware), -(-weights // at_once))

    def guess(self, hardware: Hardware) -> float:
        """About the cycles of a plan, before there is any."""
        return self._guess.cycles(hardware, self._busy_with(hardware)) + self._computes(hardware)

    def _computes(self, hardware: Hardware) -> int:
        """Cycles of the vector unit at the least."""
        cluster = hardware.cluster
        return 0 if cluster is None or not cluster.vector else self._computed // cluster.vector_elements

    def _busy_with(self, hardware: Hardware) -> NDArray[np.float64]:
        """Cycles that each layer keeps HWCs busy at the least."""
        lanes, output_bytes, window = hardware.shape, hardware.ports.output_bytes, hardware.column_window
        hwcs = 1 if hardware.cluster is None else hardware.cluster.hwcs
        key = lanes, output_bytes, hwcs, window
        if key not in self._busy:
            each = [
                bound_of_layer(layer, lanes, output_bytes, hwcs, laid_out=laid_out, window=window)
                for layer, laid_out in self._layers
            ]
            self._busy[key] = np.array(each, float)
        return self._busy[key]


def bound_of_layer(
    layer: Layer, lanes: Lanes, output_bytes: int, hwcs: int, *, laid_out: bool = True, window: bool = False
) -> int:
    """Cycles that a layer of a network keeps HWCs busy at the least: lanes, or ports to which outputs go.

    ``output_bytes`` : of an access of O's port. ``laid_out`` : taps of its kernel may be channels. ``window`` : their
    columns may pass through a window.
    """
    outputs = -(-layer.output_elements // output_bytes)
    return -(-max(_least_busy(layer, lanes, laid_out, window), outputs) // hwcs)


def computed_elements(node: Node, elements: int) -> int:
    """Elements of a node's output that the vector unit has to make: none of what the DMA may copy."""
    return 0 if isinstance(node, Concatenation | Movement) else elements


@lru_cache(maxsize=1 << 14)
def _least_busy(layer: Layer, lanes: Lanes, laid_out: bool, window: bool) -> int:
    """Cycles of one HWC at the least, in the form of the fewest."""
    return min(least_busy(form, lanes) for form in forms_of(layer, lanes, laid_out=laid_out, window=window))
