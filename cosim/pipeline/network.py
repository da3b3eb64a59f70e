"""The beginning of a quantised network on pipelines, in the simulator, on the network's own numbers.

Each stack is fed what the integer reference (`hwgen.golden.quantised`) has at its inputs: a difference is one of this
stack alone. The host runs what follows.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosim.pipeline.comparison import NetworkData, StackResult, prepare, run_stacks
from hwgen.arch.dram import DramPort
from hwgen.arch.pipeline import MoverParameters
from hwgen.golden.quantised.execution import Arrays, node_outputs
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.tensors import Int8
from hwgen.lower.pipeline.quantised import Beginning
from hwgen.lower.pipeline.solution import Solution
from hwgen.model.pipeline.cost import Stack
from hwgen.tools.toolchain import Simulator

__all__ = ["RanStack", "run_beginning", "values_after"]


@dataclass(frozen=True, eq=False)
class RanStack:
    """A stack that was simulated on one image.

    Members
    -------
    result : traffic, cycles and outputs, compared with the model and the integer reference.
    outputs : what the pipeline left in memory, by tensor of the graph and in its shape.
    """

    image: int
    result: StackResult
    outputs: Mapping[str, Int8]


def run_beginning(
    graph: Graph,
    beginning: Beginning,
    solution: Solution,
    images: Sequence[Arrays],
    *,
    macs: int,
    port: DramPort,
    simulator: Simulator = "verilator",
    jobs: int = 1,
    progress: Callable[[], None] = lambda: None,
) -> list[RanStack]:
    """Simulate every stack on every image, each pipeline with movers on a DRAM of its own.

    ``images``: all tensors of each image by name, as the integer reference has them. ``jobs``: stacks that are
    simulated at a time. ``progress`` is called after each stack.
    """
    movers = MoverParameters(port.axi_bits)
    maps = [NetworkData(dict(beginning.rows), beginning.maps(tensors)) for tensors in images]

    def run(stack: Stack) -> list[RanStack]:
        runs = [
            prepare(
                solution.name(stack), solution, stack, data, macs=macs, random=number + 1, movers=movers,
                dram=port.dram,
            )
            for number, data in enumerate(maps)
        ]  # fmt: skip
        results = run_stacks(runs, simulator=simulator)
        progress()
        return [RanStack(number, result, _outputs(graph, beginning, result)) for number, result in enumerate(results)]

    with ThreadPoolExecutor(jobs) as pool:
        return [one for ran in pool.map(run, solution.stacks) for one in ran]


def _outputs(graph: Graph, beginning: Beginning, result: StackResult) -> dict[str, Int8]:
    plan, found = result.run.program.plan, {}
    for one in plan.maps:
        if one.written:
            pixels = result.left(one.number).view(np.int8).reshape(one.lines, one.columns, one.channels)
            planes = pixels.transpose((2, 0, 1) if plan.axis == "W" else (2, 1, 0))
            tensor = beginning.tensors[one.name]
            found[tensor] = np.ascontiguousarray(planes).reshape(graph.shape(tensor))
    return found


def values_after(graph: Graph, beginning: Beginning, tensors: Arrays, made: Mapping[str, Int8]) -> dict[str, NDArray]:
    """Every tensor of one image that follows from what the pipelines left in memory.

    ``tensors`` : as the integer reference has them; inputs and constants are taken from it. ``made`` : outputs of the
    stacks, by tensor. What stays inside a stack is left out.
    """
    computed = {name for node in graph.nodes for name in node.outputs}
    found = {name: array for name, array in tensors.items() if name not in computed}
    found.update(made)
    for node in graph.nodes:
        if node.name not in beginning.nodes and all(name in found or not name for name in node.inputs):
            found.update(zip(node.outputs, node_outputs(graph, node, found), strict=True))
    return found
