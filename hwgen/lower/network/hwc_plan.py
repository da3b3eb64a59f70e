"""A quantised network for one HWC: its layers with weights, scheduled and compiled."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.names import safe_name
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Convolution, Product, zero_share
from hwgen.ir.schedule import Schedule
from hwgen.lower.hwc import Program, compile_layer
from hwgen.lower.network.known_schedules import KNOWN
from hwgen.lower.network.layers import layer_of, may_be_laid_out, weighted
from hwgen.search.core.batch import search_layers
from hwgen.search.hwc.balanced import ANY_TRAFFIC, BalancedRequest

__all__ = ["NetworkPlan", "PlannedLayer", "plan_network"]


@dataclass(frozen=True, eq=False)
class PlannedLayer:
    """A node as a compiled layer of the HWC."""

    node: Convolution | Product
    program: Program

    @property
    def zero_share(self) -> float:
        """The part of its multiplications that the model's operator does not have, as `zero_share` has it."""
        return zero_share(self.node)


@dataclass(frozen=True, eq=False)
class NetworkPlan:
    """What of a network the HWC runs.

    Members
    -------
    layers : in the order of the graph.
    refused : the other nodes with weights, by name, and why the HWC does not run them.
    """

    layers: Sequence[PlannedLayer]
    refused: Mapping[str, str]


def plan_network(graph: Graph, hardware: Hardware, progress: Callable[[], None] = lambda: None) -> NetworkPlan:
    """Schedule and compile every node with weights; ``progress`` is called after each.

    Raises `InputError` for hardware that is not one HWC with scaled sums and given lanes, order and memories.
    """
    _require_one_hwc(hardware)
    layers, refused = [], {}
    taken: set[str] = set()
    for node in weighted(graph):
        name = safe_name(node.name, taken)
        try:
            layers.append(_planned(graph, node, name, hardware))
        except InputError as error:
            refused[node.name] = str(error).removeprefix(f"{name}: ")
        progress()
    return NetworkPlan(layers, refused)


def _require_one_hwc(hardware: Hardware) -> None:
    where = hardware.titled
    if hardware.cluster is not None:
        raise InputError(f"{where}: cluster: networks run on one HWC: expected none")
    if hardware.requantisation != "scaled":
        raise InputError(f"{where}: requantisation: expected scaled, as quantised networks need, got shift")
    for key in ("lanes", "order", "buffers"):
        if getattr(hardware, key) is None:
            raise InputError(f"{where}: {key}: missing key: all layers of a network run on one HWC")


def _planned(graph: Graph, node: Convolution | Product, name: str, hardware: Hardware) -> PlannedLayer:
    layer = layer_of(graph, node, name)
    laid_out = may_be_laid_out(graph, node)
    known = KNOWN.of(layer, laid_out, hardware)
    if not isinstance(known, Schedule):
        request = BalancedRequest((hardware.budget,), hardware, slack=ANY_TRAFFIC, laid_out=laid_out)
        known = search_layers([layer], request, jobs=1)[0][0].schedule
        KNOWN.keep(layer, laid_out, hardware, known)
    return PlannedLayer(node, compile_layer(known.of_layer(layer), hardware, node.requantisation))
