"""A quantised network whose layers with weights run on one HWC, in the simulator, on the network's own numbers.

Each layer is fed what the integer reference (`hwgen.golden.quantised`) has at its input: a difference is one of this
layer alone. What the HWC cannot run is left to the host.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cosim.device.result import LayerResult, NodeResult
from cosim.hwc.results import RunnableProgram, cosimulate_programs
from cosim.simulator.pace import Forecast
from hwgen.export.cached import generated
from hwgen.golden.quantised.execution import Arrays, node_outputs
from hwgen.golden.quantised.sums import planes
from hwgen.ir.names import file_names
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Convolution, Node, Product, undilated
from hwgen.ir.network.tensors import Int8
from hwgen.lower.network.hwc_plan import NetworkPlan, PlannedLayer
from hwgen.tools.toolchain import Simulator

__all__ = ["RanLayer", "network_values", "run_network"]


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


def run_network(
    plan: NetworkPlan,
    images: Sequence[Arrays],
    folder: Path,
    *,
    simulator: Simulator = "verilator",
    jobs: int = 1,
    tell: Callable[[Forecast], None] = lambda forecast: None,
    progress: Callable[[], None] = lambda: None,
) -> list[RanLayer]:
    """Simulate every layer on every image, the layers of an image one after the other.

    Parameters
    ----------
    images : all tensors of each image by name, as the integer reference has them.
    folder : gets the operands and outputs of the layers, as `cosim.hwc.results.dump_layer` writes them.
    simulator, jobs, tell : see `cosimulate_programs`.
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
        programs, simulator=simulator, jobs=jobs, dump=folder, tell=tell, progress=lambda result: progress()
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
    return one.program.layout.packed("input", planes(operand), zero=one.program.requantisation.zero_in)


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
