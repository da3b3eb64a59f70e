"""A quantised network whose layers with weights run on one HWC, in the simulator, on the network's own numbers.

Each layer is fed what the integer reference (`hwgen.golden.quantised`) has at its input: a difference is one of this
layer alone. What the HWC cannot run is left to the host.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cosim.hwc.comparison import LayerResult
from cosim.hwc.results import RunnableProgram, cosimulate_programs
from cosim.network.nodes import NodeResult
from hwgen.export.cached import generated
from hwgen.golden.quantised.execution import Arrays, node_outputs
from hwgen.golden.quantised.sums import planes
from hwgen.ir.document import InputError, validated
from hwgen.ir.hardware import Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.names import file_names, safe_name
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Convolution, HostOperator, Node, Product, undilated, zero_share
from hwgen.ir.network.tensors import Int8
from hwgen.ir.schedule import Schedule
from hwgen.lower.hwc import Program, compile_layer
from hwgen.search.core.batch import search_layers
from hwgen.search.hwc.balanced import TRAFFIC_SLACK, BalancedRequest
from hwgen.tools.toolchain import Simulator

__all__ = [
    "NetworkPlan",
    "PlannedLayer",
    "RanLayer",
    "layer_of",
    "network_values",
    "plan_network",
    "refusals",
    "run_network",
    "weighted",
]


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


@dataclass(frozen=True, eq=False)
class RanLayer:
    """A layer that was simulated.

    Members
    -------
    image : number of the image.
    result : counts, cycles and the output, compared with the model and the reference of a layer.
    output : what the HWC left in memory, in the shape of the node's output.
    different : elements of it that differ from the network's integer reference.
    """

    node: Node
    image: int
    result: LayerResult | NodeResult
    output: Int8
    different: int

    @property
    def exact(self) -> bool:
        """Whether every element is the integer reference's."""
        return self.result.output_exact and not self.different

    @property
    def passed(self) -> bool:
        """Whether the counts are the predicted ones, too, and nothing else is wrong."""
        return self.exact and self.result.passed


def weighted(graph: Graph) -> list[Convolution | Product]:
    """The nodes with weights: convolutions and products."""
    return [one for one in graph.nodes if isinstance(one, Convolution | Product)]


def refusals(graph: Graph, refused: Mapping[str, str]) -> dict[str, str]:
    """By node, why the hardware does not run it: what a plan refuses, and what has work and no integer form."""
    hosts = {one.name: one.reason for one in graph.nodes if isinstance(one, HostOperator) and one.macs}
    return hosts | dict(refused)


def plan_network(graph: Graph, hardware: Hardware, progress: Callable[[], None] = lambda: None) -> NetworkPlan:
    """Schedule and compile every node with weights; ``progress`` is called after each.

    Raises `InputError` for hardware that is not one HWC with scaled sums and given lanes, order and memories.
    """
    _require_one_hwc(hardware)
    layers, refused = [], {}
    taken: set[str] = set()
    schedules: dict[str, Schedule] = {}
    for node in weighted(graph):
        name = safe_name(node.name, taken)
        try:
            layers.append(_planned(graph, node, name, hardware, schedules))
        except InputError as error:
            refused[node.name] = str(error).removeprefix(f"{name}: ")
        progress()
    return NetworkPlan(layers, refused)


def _require_one_hwc(hardware: Hardware) -> None:
    where = f"hardware {hardware.name}"
    if hardware.cluster is not None:
        raise InputError(f"{where}: cluster: networks run on one HWC: expected none")
    if hardware.requantisation != "scaled":
        raise InputError(f"{where}: requantisation: expected scaled, as quantised networks need, got shift")
    for key in ("lanes", "order", "buffers"):
        if getattr(hardware, key) is None:
            raise InputError(f"{where}: {key}: expected them given, all layers running on one HWC")


def _planned(
    graph: Graph, node: Convolution | Product, name: str, hardware: Hardware, schedules: dict[str, Schedule]
) -> PlannedLayer:
    layer = layer_of(graph, node, name)
    shape = json.dumps(layer.shape_data, sort_keys=True)
    if shape not in schedules:
        request = BalancedRequest((hardware.budget,), hardware, slack=TRAFFIC_SLACK)
        schedules[shape] = search_layers([layer], request, jobs=1)[0][0].schedule
    schedule = schedules[shape].model_copy(update={"layer": layer})
    return PlannedLayer(node, compile_layer(schedule, hardware, node.requantisation))


def layer_of(graph: Graph, node: Convolution | Product, name: str) -> Layer:
    """The node as a layer; a product of rows is a 1 x 1 convolution with a pixel for each row."""
    outputs, channels = node.weights.shape[:2]
    if isinstance(node, Product):
        rows = int(np.prod(node.shape[:-1]))
        data = {"op": "fc" if rows == 1 else "conv", "input_channels": channels, "input_height": 1,
                "input_width": rows, "output_height": 1, "output_width": rows, "kernel": (1, 1)}  # fmt: skip
    else:
        window = undilated(node).window
        _, height, width = _of_map(graph.tensors[node.inputs[0]].shape)
        _, down, across = _of_map(node.shape)
        depthwise = node.groups > 1 and channels == 1
        top, left, bottom, right = window.padding  # below 0 at an end: what is there is in no window
        data = {"op": "depthwise_conv" if depthwise else "conv", "input_channels": channels * node.groups,
                "input_height": height, "input_width": width, "output_height": down, "output_width": across,
                "kernel": window.kernel, "stride": window.stride, "groups": node.groups,
                "padding": (top, left, max(bottom, 0), max(right, 0))}  # fmt: skip
    return validated(Layer, {"name": name, "output_channels": outputs, **data}, name)


def _of_map(shape: Sequence[int]) -> tuple[int, int, int]:
    """Channels, rows and columns."""
    _, channels, *rows, columns = shape
    return channels, rows[0] if rows else 1, columns


def run_network(
    plan: NetworkPlan,
    images: Sequence[Arrays],
    folder: Path,
    *,
    simulator: Simulator = "verilator",
    jobs: int = 1,
    progress: Callable[[], None] = lambda: None,
) -> list[RanLayer]:
    """Simulate every layer on every image, the layers of an image one after the other.

    Parameters
    ----------
    images : all tensors of each image by name, as the integer reference has them.
    folder : gets the operands and outputs of the layers, as `cosim.hwc.results.dump_layer` writes them.
    simulator, jobs : see `cosimulate_programs`.
    progress : called after each layer and image.
    """
    parameters = [_parameters(one) for one in plan.layers]
    steps = [(image, at) for image in range(len(images)) for at in range(len(plan.layers))]
    programs = []
    for index, (image, at) in enumerate(steps):
        program = plan.layers[at].program
        contents = {"input": _input(plan.layers[at], images[image]), **parameters[at]}
        programs.append(RunnableProgram(program, generated(program.parameters), index, contents))
    results = cosimulate_programs(
        programs, simulator=simulator, jobs=jobs, dump=folder, progress=lambda result: progress()
    )
    names = file_names([one.program.schedule.layer.name for one in programs])
    ran = []
    for (image, at), result, name in zip(steps, results, names, strict=True):
        node = plan.layers[at].node
        output = _output(node, np.load(folder / f"{name}.O.npy"))
        different = int(np.count_nonzero(output != images[image][node.output]))
        ran.append(RanLayer(node, image, result, output, different))
    return ran


def _input(one: PlannedLayer, tensors: Arrays) -> NDArray[np.int8]:
    """The bytes of the layer's input."""
    operand = tensors[one.node.inputs[0]]
    if isinstance(one.node, Product):
        return one.program.layout.packed("input", operand.reshape(-1, operand.shape[-1]).T[:, None, :])
    return one.program.layout.packed("input", planes(operand))


def _parameters(one: PlannedLayer) -> dict[str, NDArray[np.int8]]:
    """The bytes of the layer's weights, and of its biases with their scales."""
    node, layout = one.node, one.program.layout
    weights = node.weights[:, :, None, None] if isinstance(node, Product) else undilated(node).weights
    return {
        "weights": layout.packed("weights", weights),
        "bias": layout.packed("bias", node.bias, node.requantisation.scales),
    }


def _output(node: Convolution | Product, output: Int8) -> Int8:
    """What a layer [M, E, F] makes, in the shape of the node's output."""
    return (output[:, 0].T if isinstance(node, Product) else output).reshape(node.shape)


def network_values(graph: Graph, tensors: Arrays, ran: Sequence[RanLayer]) -> dict[str, NDArray]:
    """Every tensor of one image, with what the HWC left in memory in place of the outputs of the layers that ran.

    ``tensors`` : as the integer reference has them; inputs and constants are taken from it.
    """
    made = {one.node.name: one.output for one in ran}
    computed = {name for node in graph.nodes for name in node.outputs}
    found = {name: array for name, array in tensors.items() if name not in computed}
    for node in graph.nodes:
        outputs = [made[node.name]] if node.name in made else node_outputs(graph, node, found)
        found.update(zip(node.outputs, outputs, strict=True))
    return found
