"""A planned network in the simulated cluster: the layers' outputs are chained through its DRAM."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cosim.cluster.model import SimulatedCluster, load_cluster
from cosim.cluster.preparation import INTERRUPT_CYCLES
from cosim.device.device import dram_depth
from cosim.device.dram import Region
from cosim.device.judge import compared, different_elements, run_failures, unwanted
from cosim.device.result import LayerResult, NodeResult
from cosim.hwc.layer_data import LayerData
from cosim.hwc.results import dump_layer
from cosim.network.nodes import compared_vector
from cosim.network.on_hwc import RanLayer
from cosim.network.run import LayerSample, NetworkRun, run_program
from cosim.simulator.pace import Forecast, cluster_paces, soonest
from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.descriptor import OperandTag
from hwgen.arch.dram import Dram, DramPort
from hwgen.arch.layer_forms import run_inputs
from hwgen.golden.quantised.execution import Arrays, node_outputs
from hwgen.ir.counts import Access
from hwgen.ir.names import file_names
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Convolution, Product
from hwgen.ir.network.tensors import Int8
from hwgen.lower.network.cluster_plan import ClusterLayer, ClusterPlan, Stretch
from hwgen.lower.network.order import turns
from hwgen.lower.network.parts import LayerPart, PartCounts
from hwgen.lower.network.program import PartTimes
from hwgen.model.energy import prices_of
from hwgen.model.system.times import ClusterTimes, QueueName

__all__ = ["RanProgram", "run_clustered"]

Values = dict[str, NDArray]
NOTHING = np.zeros(0, np.uint32)
"""The contents of the TCDM: none, since what the host needs is in the DRAM."""


@dataclass(frozen=True, eq=False)
class RanProgram:
    """A program that was simulated.

    Members
    -------
    image : number of the image.
    layers : its layers, each against model and integer reference.
    predicted_cycles, cycles : from the start to the interrupt.
    predicted, measured : what was read of the program itself.
    seconds : of the run itself.
    failures : what is wrong besides the layers.
    layers_busy : for each layer, as predicted, the cycles in which the DMA loads, or stores, or units compute.
    predicted_busy, busy : the same of the whole program; measured by the cluster's registers.
    """

    image: int
    layers: tuple[RanLayer, ...]
    predicted_cycles: int
    cycles: int
    predicted: Access
    measured: Access
    seconds: float
    failures: tuple[str, ...]
    layers_busy: tuple[Mapping[QueueName, float], ...]
    predicted_busy: Mapping[QueueName, float]
    busy: Mapping[QueueName, int]

    @property
    def passed(self) -> bool:
        """Whether everything held."""
        return not self.failures and all(layer.passed for layer in self.layers)


def run_clustered(
    graph: Graph,
    plan: ClusterPlan,
    images: Sequence[Arrays],
    folder: Path | None = None,
    *,
    stalls: bool = False,
    fast: bool | None = None,
    tell: Callable[[Forecast], None] = lambda forecast: None,
    progress: Callable[[], None] = lambda: None,
) -> tuple[list[RanProgram], list[Values]]:
    """Run the network on every image: the programs, and every tensor that the host had or that came of them.

    Parameters
    ----------
    images : all tensors of each image by name, as the integer reference has them; inputs and constants are used, the
        others are what outputs are compared with.
    folder : gets the operands and outputs of the layers, as `cosim.hwc.results.dump_layer` writes them.
    stalls : random stalls at every channel to the DRAM and every port of the TCDM.
    fast, tell : see `cosim.cluster.results.cosimulate_clusters`.
    progress : called after each layer and image.
    """
    cluster = plan.hardware.cluster
    timing = (cluster and cluster.dram) or Dram()
    machine = plan.stretches[0].program.hardware
    times = [stretch.program.part_times(timing) for stretch in plan.stretches]
    forecast = soonest(cluster_paces(machine.hwcs), [len(images) * sum(whole.total for _, whole in times)])
    tell(forecast)
    long = forecast.simulator == "verilator_fast" if fast is None else fast
    model = load_cluster(machine, dram_log2=dram_depth(plan.size // WORD_BYTES + 1), fast=long)
    one = _Runner(graph, plan, model, timing, times, len(images), stalls, folder, progress)
    ran: list[RanProgram] = []
    values: list[Values] = []
    for number, tensors in enumerate(images):
        found, programs = one.image(number, tensors)
        values.append(found)
        ran += programs
    return ran, values


class _Runner:
    """Runs images one after the other."""

    def __init__(
        self,
        graph: Graph,
        plan: ClusterPlan,
        model: SimulatedCluster,
        timing: Dram,
        times: Sequence[tuple[Sequence[PartTimes], ClusterTimes]],
        number: int,
        stalls: bool,
        folder: Path | None,
        progress: Callable[[], None],
    ) -> None:
        self._graph, self._plan, self._model, self._timing = graph, plan, model, timing
        self._hwc = plan.stretches[0].program.hardware.hwc
        self._times, self._stalls, self._folder, self._progress = times, stalls, folder, progress
        self._port = DramPort(plan.stretches[0].program.hardware.axi_bits, timing)
        layers = {layer.node.name: layer.part for layer in plan.layers if isinstance(layer.part, LayerPart)}
        names = [part.program.schedule.layer.name for part in layers.values()]
        files = file_names([f"{name}.{image}" if image else name for image in range(number) for name in names])
        self._names = dict(zip(product(range(number), layers), files, strict=True))

    def image(self, number: int, tensors: Arrays) -> tuple[Values, list[RanProgram]]:
        """All programs, and the host between them."""
        computed = {name for node in self._graph.nodes for name in node.outputs}
        values = {name: array for name, array in tensors.items() if name not in computed}
        memory = self._plan.image(np.random.default_rng(number))
        ran: list[RanProgram] = []
        for here, nodes in self._plan.order.steps:
            if here:
                at = len(ran)
                memory, program = self._program(number, at, memory, values, tensors)
                ran.append(program)
                continue
            for node in nodes:
                values.update(zip(node.outputs, node_outputs(self._graph, node, values), strict=True))
        return values, ran

    def _program(
        self, number: int, at: int, memory: NDArray[np.uint32], values: Values, tensors: Arrays
    ) -> tuple[NDArray[np.uint32], RanProgram]:
        """Write what the host gives, run, and read what the layers have made."""
        stretch, bases = self._plan.stretches[at], self._plan.rooms.bases
        octets = memory.view(np.uint8)
        for layer in stretch.layers:
            for source, name in zip(layer.sources, layer.node.inputs, strict=True):
                if source in stretch.given:
                    content = _stored(layer, values[name]).reshape(-1).view(np.uint8)
                    octets[bases[source] : bases[source] + content.size] = content
        rates = np.random.default_rng([number, at]).integers(1, 120, 6).tolist() if self._stalls else [0] * 6
        parts, times = self._times[at]
        run = run_program(
            self._model,
            stretch.program,
            memory,
            timing=self._timing,
            cycle_limit=int(100_000 + 4 * times.total * (16 if self._stalls else 1)),
            random=1 + number,
            axi_stalls=(rates[0], rates[1], rates[2], rates[3], rates[4]),
            tcdm_stalls=rates[5],
        )
        program = self._judged(stretch, run, number, parts, times, tensors)
        for layer, ran in zip(stretch.layers, program.layers, strict=True):
            if layer.node.output in self._plan.order.asked or turns(layer.node):
                values[layer.node.output] = _made(layer, layer.part.output(run.whole.memory, NOTHING))
            else:
                values[layer.node.output] = ran.output
        return run.whole.memory, program

    def _judged(
        self,
        stretch: Stretch,
        run: NetworkRun,
        number: int,
        parts: Sequence[PartTimes],
        times: ClusterTimes,
        tensors: Arrays,
    ) -> RanProgram:
        predictions = stretch.program.predictions(self._port)
        ran = []
        for layer, prediction, took, sample in zip(stretch.layers, predictions, parts, run.layers, strict=True):
            ran.append(self._layer(layer, prediction, took.cycles, sample, number, tensors))
            self._progress()
        fetched = sum(
            (Access(**one) for (kind, _), one in run.whole.only.dram.items() if kind is OperandTag.P), Access()
        )
        predicted = stretch.program.fetched(self._port)
        mine = replace(predicted, elements=0)
        failures = [] if fetched == mine else [f"program: {fetched}, predicted {mine}"]
        regions = [Region(*one) for layer in stretch.layers for one in layer.part.dram_regions]
        failures += [*unwanted(regions, run.whole.only.unwanted), *run_failures(run.whole, INTERRUPT_CYCLES)]
        measured = replace(fetched, elements=fetched.bytes // WORD_BYTES)
        whole = run.whole
        return RanProgram(
            number,
            tuple(ran),
            round(times.total),
            whole.cycles,
            predicted,
            measured,
            whole.seconds,
            tuple(failures),
            tuple(part.busy for part in parts),
            times.busy,
            {queue: whole.only.registers[f"busy_{queue}"] for queue in times.busy},
        )

    def _layer(
        self,
        layer: ClusterLayer,
        prediction: PartCounts,
        cycles: float,
        sample: LayerSample,
        number: int,
        tensors: Arrays,
    ) -> RanLayer:
        node, part = layer.node, layer.part
        output, reference = part.output(sample.memory, sample.shared), tensors[node.output]
        wrong = different_elements(output, _as_layer(layer, reference))
        if isinstance(part, LayerPart):
            count = compared(part.program.schedule, prediction.counts, prediction.hwcs, sample.tcdm, sample.dram)
        else:
            count = compared_vector(prediction.counts, sample.tcdm, sample.dram, apart=part.apart)
        measures = {
            "predicted": count.predicted,
            "measured": count.measured,
            "equal": not count.failures,
            "output_exact": not wrong,
            "predicted_cycles": round(cycles),
            "cycles": sample.cycles,
            "failures": (*count.failures, *wrong),
            "prices": prices_of(self._hwc, self._plan.hardware.cluster),
        }
        made = _made(layer, output)
        different = int(np.count_nonzero(made != reference))
        if not isinstance(part, LayerPart):
            return RanLayer(node, number, NodeResult(node.name, **measures), made, different)  # type: ignore[arg-type]
        schedule, hwcs = part.program.schedule, part.hardware.hwcs
        result = LayerResult(schedule, "verilator", hwcs=hwcs, seconds=0.0, **measures)  # type: ignore[arg-type]
        if self._folder is not None and isinstance(node, Convolution | Product):
            data = LayerData(_operand(layer, tensors[node.inputs[0]]), layer.weights, node.bias)
            dump_layer(self._folder, self._names[number, node.name], part.program, data, output)
        return RanLayer(node, number, result, made, different)


def _operand(layer: ClusterLayer, operand: Int8) -> Int8:
    """The input as the network's layer has it, [C, H, W]; that of other nodes as it is."""
    if not isinstance(layer.part, LayerPart):
        return np.ascontiguousarray(operand)
    shape = layer.part.program.schedule.layer.of_network
    turned = operand.reshape(-1, operand.shape[-1]).T if isinstance(layer.node, Product) else operand
    sizes = shape.input_channels, shape.input_height, shape.input_width
    return np.ascontiguousarray(turned).reshape(sizes)


def _stored(layer: ClusterLayer, operand: Int8) -> Int8:
    """The input as it is in the DRAM."""
    found = _operand(layer, operand)
    if not isinstance(layer.part, LayerPart):
        return found
    program = layer.part.program
    return run_inputs(program.schedule.layer, found, program.requantisation.zero_in).astype(np.int8)


def _as_layer(layer: ClusterLayer, output: Int8) -> Int8:
    """The output of a node as the part of its program has it, [M, E, F]."""
    if not isinstance(layer.part, LayerPart):
        target = layer.part.target
        return output.reshape(target.channels, target.rows, target.columns)
    shape = layer.part.program.schedule.layer
    turned = output.reshape(-1, output.shape[-1]).T if isinstance(layer.node, Product) else output
    return turned.reshape(shape.output_channels, shape.output_height, shape.output_width)


def _made(layer: ClusterLayer, output: NDArray[np.signedinteger]) -> Int8:
    """What a part [M, E, F] makes, in the shape of the node's output."""
    found: Int8 = output.astype(np.int8)
    return (found[:, 0].T if isinstance(layer.node, Product) else found).reshape(layer.node.shape)
