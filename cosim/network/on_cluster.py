"""A planned network on simulated clusters, one or several: the layers' outputs are chained through their DRAM."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.cluster.model import load_cluster
from cosim.cluster.preparation import INTERRUPT_CYCLES
from cosim.device.device import dram_depth
from cosim.device.dram import Region
from cosim.device.job import Outcome
from cosim.device.judge import compared, different_elements, lost, run_failures, unwanted
from cosim.device.result import LayerResult, NodeResult
from cosim.hwc.layer_data import LayerData
from cosim.hwc.results import dump_layer
from cosim.network.nodes import compared_vector
from cosim.network.on_hwc import RanLayer
from cosim.network.run import LayerSample, ProgramRun, run_programs
from cosim.simulator.pace import Forecast, cluster_paces, soonest
from cosim.system.model import load_system
from cosim.system.results import INTERRUPT_CYCLES as INTERRUPT_CYCLES_IN_SYSTEM
from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.cluster import SystemParameters
from hwgen.arch.descriptor import OperandTag
from hwgen.arch.dram import DramPort
from hwgen.arch.layer_forms import run_inputs
from hwgen.golden.quantised.execution import Arrays, node_outputs
from hwgen.ir.counts import Access
from hwgen.ir.names import file_names
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Convolution, Product
from hwgen.ir.network.tensors import Int8
from hwgen.lower.network.cluster_plan import ClusterLayer, ClusterPlan
from hwgen.lower.network.order import turns
from hwgen.lower.network.parts import LayerPart, PartCounts
from hwgen.lower.network.program import PartTimes
from hwgen.lower.system.networks import NetworkSystem, PlacedProgram
from hwgen.model.energy import prices_of
from hwgen.model.system.times import ClusterTimes, QueueName, elapsed

__all__ = ["RanProgram", "as_layer", "elapsed_cycles", "run_clustered", "stored_operand", "stored_places", "zero_in"]

Values = dict[str, NDArray]
NOTHING = np.zeros(0, np.uint32)
"""The contents of the TCDM: none, since what the host needs is in the DRAM."""


@dataclass(frozen=True, eq=False)
class RanProgram:
    """A program that was simulated.

    Members
    -------
    image, stretch, cluster : numbers of the image, of the program among those of an image, and of its cluster.
    layers : its layers, each against model and integer reference.
    predicted_cycles, cycles : from the start to the interrupt.
    predicted, measured : what was read of the program itself.
    seconds : of the run itself.
    failures : what is wrong besides the layers.
    layers_busy : for each layer, as predicted, the cycles in which the DMA loads, or stores, or units compute.
    predicted_busy, busy : the same of the whole program; measured by the cluster's registers.
    """

    image: int
    stretch: int
    cluster: int
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


def elapsed_cycles(programs: Sequence[RanProgram]) -> tuple[int, int]:
    """Predicted and measured cycles of all programs; those that ran at the same time count once."""
    together: dict[tuple[int, int], list[RanProgram]] = defaultdict(list)
    for one in programs:
        together[one.image - one.cluster, one.stretch].append(one)
    both = [
        (elapsed([one.predicted_cycles for one in each]), elapsed([one.cycles for one in each]))
        for each in together.values()
    ]
    return round(sum(predicted for predicted, _ in both)), round(sum(measured for _, measured in both))


def run_clustered(
    graph: Graph,
    plan: ClusterPlan,
    images: Sequence[Arrays],
    folder: Path | None = None,
    *,
    clusters: int = 1,
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
    clusters : on one DRAM, each of which runs an image of its own at the same time.
    stalls : random stalls at every channel to the DRAM and every port of the TCDM.
    fast, tell : see `cosim.cluster.results.cosimulate_clusters`.
    progress : called after each layer and image.
    """
    system = NetworkSystem(plan, clusters)
    runner = _Runner(graph, system, len(images), stalls, folder, progress)
    total = sum(
        elapsed([times.total for _, times in runner.times(stretch, number)])
        for number in _rounds(len(images), clusters)
        for stretch in range(len(plan.stretches))
    )
    machine = plan.stretches[0].program.hardware
    forecast = soonest(cluster_paces(machine.hwcs * clusters), [total])
    tell(forecast)
    runner.load(fast=forecast.simulator == "verilator_fast" if fast is None else fast)
    ran: list[RanProgram] = []
    values: list[Values] = []
    for number in _rounds(len(images), clusters):
        found, programs = runner.images(len(values), images[len(values) : len(values) + number])
        values += found
        ran += programs
    return ran, values


def _rounds(images: int, clusters: int) -> list[int]:
    """How many images run at the same time, one time after the other."""
    whole, rest = divmod(images, clusters)
    return [clusters] * whole + [rest] * bool(rest)


class _Runner:
    """Runs as many images at a time as there are clusters."""

    def __init__(
        self,
        graph: Graph,
        system: NetworkSystem,
        number: int,
        stalls: bool,
        folder: Path | None,
        progress: Callable[[], None],
    ) -> None:
        plan = system.plan
        self._graph, self._plan, self._system = graph, plan, system
        self._machine = plan.stretches[0].program.hardware
        self._stalls, self._folder, self._progress = stalls, folder, progress
        self._port = DramPort(self._machine.axi_bits, system.timing)
        self._times: dict[tuple[int, int], list[tuple[list[PartTimes], ClusterTimes]]] = {}
        layers = {layer.node.name: layer.part for layer in plan.layers if isinstance(layer.part, LayerPart)}
        names = [part.program.schedule.layer.name for part in layers.values()]
        files = file_names([f"{name}.{image}" if image else name for image in range(number) for name in names])
        self._names = dict(zip(product(range(number), layers), files, strict=True))

    def times(self, stretch: int, clusters: int) -> list[tuple[list[PartTimes], ClusterTimes]]:
        """The predicted cycles of a stretch on some clusters at the same time, and of its parts."""
        if (stretch, clusters) not in self._times:
            self._times[stretch, clusters] = self._system.part_times(stretch, clusters)
        return self._times[stretch, clusters]

    def load(self, *, fast: bool) -> None:
        """Build the simulator; ``fast``: for long runs."""
        depth, clusters = dram_depth(self._system.size // WORD_BYTES + 1), self._system.clusters
        self._model = (
            load_cluster(self._machine, dram_log2=depth, fast=fast)
            if clusters == 1
            else load_system(
                SystemParameters(self._machine, clusters), dram_log2=depth, fast=fast, slow=self._stalls or not fast
            )
        )

    def images(self, first: int, images: Sequence[Arrays]) -> tuple[list[Values], list[RanProgram]]:
        """All programs of some images, numbered from ``first`` on, and the host between them."""
        computed = {name for node in self._graph.nodes for name in node.outputs}
        values = [{name: array for name, array in tensors.items() if name not in computed} for tensors in images]
        generators = [np.random.default_rng(first + number) for number in range(self._system.clusters)]
        memory = self._system.image(generators)
        ran: list[RanProgram] = []
        stretch = 0
        for here, nodes in self._plan.order.steps:
            if here:
                memory, programs = self._programs(first, stretch, memory, values, images)
                ran += programs
                stretch += 1
                continue
            for node in nodes:
                for one in values:
                    one.update(zip(node.outputs, node_outputs(self._graph, node, one), strict=True))
        return values, ran

    def _programs(
        self, first: int, at: int, memory: NDArray[np.uint32], values: Sequence[Values], images: Sequence[Arrays]
    ) -> tuple[NDArray[np.uint32], list[RanProgram]]:
        """Write what the host gives, run, and read what the layers have made."""
        stretch, bases, system = self._plan.stretches[at], self._plan.rooms.bases, self._system
        placed = [system.program(at, cluster) for cluster in range(len(images))]
        octets = memory.view(np.uint8)
        for one, own in zip(placed, values, strict=True):
            for layer in stretch.layers:
                for source, name in zip(layer.sources, layer.node.inputs, strict=True):
                    if source in stretch.given:
                        content = stored_operand(layer, own[name]).reshape(-1).view(np.uint8)
                        base = one.place(bases[source])
                        octets[base : base + content.size] = content
        rates = np.random.default_rng([first, at]).integers(1, 120, 6).tolist() if self._stalls else [0] * 6
        times = self.times(at, len(images))
        runs, whole = run_programs(
            self._model,
            placed,
            memory,
            seen=system.seen,
            timing=system.timing,
            cycle_limit=int(100_000 + 4 * max(each.total for _, each in times) * (16 if self._stalls else 1)),
            random=1 + first,
            axi_stalls=(rates[0], rates[1], rates[2], rates[3], rates[4]),
            tcdm_stalls=rates[5],
        )
        programs = []
        for cluster, (run, tensors, own) in enumerate(zip(runs, images, values, strict=True)):
            program = self._judged(
                at, placed[cluster], run, whole, (first + cluster, cluster), times[cluster], tensors
            )
            programs.append(program)
            made = system.seen(whole.memory, cluster)
            for layer, ran in zip(stretch.layers, program.layers, strict=True):
                if layer.node.output in self._plan.order.asked or turns(layer.node):
                    own[layer.node.output] = _made(layer, layer.part.output(made, NOTHING))
                else:
                    own[layer.node.output] = ran.output
        return whole.memory, programs

    def _judged(
        self,
        at: int,
        placed: PlacedProgram,
        run: ProgramRun,
        whole: Outcome,
        numbers: tuple[int, int],
        predicted_times: tuple[Sequence[PartTimes], ClusterTimes],
        tensors: Arrays,
    ) -> RanProgram:
        """``numbers`` : of the image and of the cluster."""
        (image, cluster), (parts, times), unit = numbers, predicted_times, run.unit
        stretch = self._plan.stretches[at]
        predictions = stretch.program.predictions(self._port)
        ran = []
        for layer, prediction, took, sample in zip(stretch.layers, predictions, parts, run.layers, strict=True):
            ran.append(self._layer(layer, prediction, took.cycles, sample, image, tensors))
            self._progress()
        fetched = sum((Access(**one) for (kind, _), one in unit.dram.items() if kind is OperandTag.P), Access())
        predicted = stretch.program.fetched(self._port)
        mine = replace(predicted, elements=0)
        failures = [] if fetched == mine else [f"program: {fetched}, predicted {mine}"]
        regions = [
            Region(placed.place(base), placed.place(base) + end - base, kind)
            for layer in stretch.layers
            for base, end, kind in layer.part.dram_regions
        ]
        failures += unwanted(regions, unit.unwanted)
        if cluster == 0:  # what is wrong with the run is said once
            late = INTERRUPT_CYCLES if self._system.clusters == 1 else INTERRUPT_CYCLES_IN_SYSTEM
            failures += [*run_failures(whole, late), *lost(whole)]
        measured = replace(fetched, elements=fetched.bytes // WORD_BYTES)
        return RanProgram(
            image,
            at,
            cluster,
            tuple(ran),
            round(times.total),
            unit.cycles,
            predicted,
            measured,
            whole.seconds,
            tuple(failures),
            tuple(part.busy for part in parts),
            times.busy,
            {queue: unit.registers[f"busy_{queue}"] for queue in times.busy},
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
        wrong = different_elements(output, as_layer(layer, reference))
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
            "prices": prices_of(self._machine.hwc, self._plan.hardware.cluster),
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


def _operand(layer: ClusterLayer, operand: NDArray[Any]) -> NDArray[Any]:
    """The input as the network's layer has it, [C, H, W]; that of other nodes as it is."""
    if not isinstance(layer.part, LayerPart):
        return np.ascontiguousarray(operand)
    shape = layer.part.program.schedule.layer.of_network
    turned = operand.reshape(-1, operand.shape[-1]).T if isinstance(layer.node, Product) else operand
    sizes = shape.input_channels, shape.input_height, shape.input_width
    return np.ascontiguousarray(turned).reshape(sizes)


def stored_operand(layer: ClusterLayer, operand: Int8) -> Int8:
    """The input as it is in the DRAM."""
    found = _operand(layer, operand)
    if not isinstance(layer.part, LayerPart):
        return found
    return run_inputs(layer.part.program.schedule.layer, found, zero_in(layer)).astype(np.int8)


def stored_places(layer: ClusterLayer, shape: tuple[int, ...]) -> NDArray[np.signedinteger]:
    """The place in the input, of this shape, of each byte as `stored_operand` has them; -1: it is `zero_in`."""
    found = _operand(layer, np.arange(prod(shape)).reshape(shape))
    if not isinstance(layer.part, LayerPart):
        return found
    return run_inputs(layer.part.program.schedule.layer, found, -1)


def zero_in(layer: ClusterLayer) -> int:
    """The byte that padding reads as, where that is laid out in the DRAM."""
    return layer.part.program.requantisation.zero_in if isinstance(layer.part, LayerPart) else 0


def as_layer(layer: ClusterLayer, output: Int8) -> Int8:
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
