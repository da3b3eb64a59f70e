"""The DRAM traffic of a network, simulated depth-first on a pipeline and layer by layer on a cluster.

Depth-first the network is one stack on a pipeline that is generated for it. Layer by layer the cluster runs the
convolutions one after the other, each by the schedule of fewest DRAM bytes (`hwgen.search.cluster.optimal`); each
reads from DRAM what the one before wrote. Rows that the cluster cannot run (pools, adds) are computed by the
reference and cost it nothing. Weights, shifts and activations are the same in both.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.cluster.model import load_cluster
from cosim.cluster.preparation import prepare_cluster
from cosim.cluster.run import run_clusters
from cosim.device.device import dram_depth
from cosim.device.judge import judge
from cosim.device.result import LayerResult
from cosim.hwc.layer_data import LayerData
from cosim.pipeline.comparison import NetworkData, StackResult, prepare, random_network_data, run_stacks
from hwgen.export.pipeline import pipeline_storage
from hwgen.golden.network import row_output
from hwgen.ir.counts import Counts
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer_set import Node
from hwgen.ir.level import DRAM
from hwgen.ir.requantisation import GivenRequantisation
from hwgen.lower.pipeline.images import in_scan_order
from hwgen.lower.pipeline.solution import Solution
from hwgen.model.pipeline.cost import Traffic
from hwgen.search.cluster.optimal import search_cluster

__all__ = ["BothWays", "LayeredRun", "Moved", "as_large_as", "run_both_ways", "run_layers"]

Map = NDArray[np.int8]
LEAST_TCDM = 1 << 10


@dataclass(frozen=True)
class Moved:
    """Bytes to and from DRAM: of maps, of weights and biases, and of the cluster's program."""

    maps_read: int = 0
    maps_written: int = 0
    weights: int = 0
    biases: int = 0
    program: int = 0

    def __add__(self, other: "Moved") -> "Moved":
        return Moved(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(Moved)))

    @property
    def tensors(self) -> int:
        """All bytes except the program's."""
        return self.maps_read + self.maps_written + self.weights + self.biases


@dataclass(frozen=True)
class LayeredRun:
    """A network layer by layer on a cluster.

    Members
    -------
    hardware : the cluster.
    results : of the convolutions.
    maps : all maps; those of the cluster as it wrote them to DRAM.
    left_out : for each row that the reference computed, the bytes of the maps that it would read and write.
    """

    hardware: Hardware
    results: tuple[LayerResult, ...]
    maps: Mapping[str, Map]
    left_out: Mapping[str, int]

    @property
    def predicted(self) -> Moved:
        """The model's prediction."""
        return sum((_of_counts(one.predicted) for one in self.results), Moved())

    @property
    def measured(self) -> Moved:
        """The harness' counts."""
        return sum((_of_counts(one.measured) for one in self.results), Moved())

    @property
    def on_chip(self) -> int:
        """Bytes of the TCDM and of the HWCs' buffers."""
        return _cluster(self.hardware).tcdm + _local_bytes(self.hardware)


@dataclass(frozen=True)
class BothWays:
    """A simulated stack, and the same network simulated layer by layer."""

    name: str
    depth_first: StackResult
    layered: LayeredRun

    @property
    def predicted(self) -> Moved:
        """The model's prediction of depth-first execution."""
        stages = self.depth_first.run.program.plan.stages
        biases = sum(4 * stage.node.output_channels for stage in stages if stage.node.operator.weighted)
        return _of_traffic(self.depth_first.run.traffic, biases)

    @property
    def measured(self) -> Moved:
        """The harness' counts of depth-first execution."""
        return _of_traffic(self.depth_first.measured, self.depth_first.bias)

    @property
    def on_chip(self) -> int:
        """Bytes of the pipeline's memories, queues and pixel registers."""
        return _pipeline_bytes(self.depth_first)

    @property
    def failures(self) -> list[str]:
        """One line for each thing that is wrong."""
        lines = [f"depth-first: {line}" for line in self.depth_first.failures]
        lines += [f"{one.layer}: {line}" for one in self.layered.results for line in one.failures]
        for way, predicted, measured in (
            ("depth-first", self.predicted, self.measured),
            ("layer by layer", self.layered.predicted, self.layered.measured),
        ):
            pairs = zip(asdict(predicted).items(), asdict(measured).values(), strict=True)
            lines += [f"{way}: {name}: {got} bytes, {said} predicted" for (name, said), got in pairs if got != said]
        return [*lines, *self._different_outputs()]

    def _different_outputs(self) -> list[str]:
        """One line for each output in which the two executions differ."""
        plan, lines = self.depth_first.run.program.plan, []
        for one in plan.maps:
            if one.written:
                layered = in_scan_order(self.layered.maps[one.name], plan.axis)
                wrong = int((self.depth_first.left(one.number) != layered).sum())
                lines += [f"{one.name}: {wrong} of {layered.size} bytes differ between the two ways"] if wrong else []
        return lines

    def as_json(self) -> dict[str, Any]:
        """The value as plain data."""
        layered = self.layered
        least = sum(layer.input_elements + layer.weight_elements + layer.output_elements
                    for layer in (one.schedule.layer for one in layered.results))  # fmt: skip
        return {
            "network": self.name,
            "depth_first": {
                "on_chip": self.on_chip,
                "tiles": self.depth_first.run.program.plan.factor,
                **_document(self.predicted, self.measured),
                "cycles": self.depth_first.cycles,
            },
            "layer_by_layer": {
                "on_chip": layered.on_chip,
                "tcdm": _cluster(layered.hardware).tcdm,
                **_document(layered.predicted, layered.measured),
                "compulsory": least,
                "left_out": dict(layered.left_out),
                "cycles": sum(one.cycles for one in layered.results),
            },
            "failures": self.failures,
        }


def run_both_ways(
    name: str,
    solution: Solution,
    hardware: Hardware,
    *,
    macs: int,
    random: int = 1,
    equal_memory: bool = True,
    fast: bool = True,
) -> BothWays:
    """Run a network of one stack depth-first and layer by layer.

    Parameters
    ----------
    hardware : the cluster.
    macs : multipliers of the pipeline.
    random : seed of the data.
    equal_memory : give the cluster as much memory as the pipeline has, instead of what ``hardware`` says.
    fast : build simulators for long runs.
    """
    (stack,) = solution.stacks
    data = random_network_data(solution.network, np.random.default_rng(random), draw_shifts=True)
    run = prepare(name, solution, stack, data, macs=macs, random=random)
    (result,) = run_stacks([run], fast=fast)
    if equal_memory:
        hardware = as_large_as(hardware, _pipeline_bytes(result))
    return BothWays(name, result, run_layers(solution.network.layers, data, hardware, fast=fast))


def run_layers(rows: tuple[Node, ...], data: NetworkData, hardware: Hardware, *, fast: bool = True) -> LayeredRun:
    """Run a network's rows one after the other, each convolution by its schedule of fewest DRAM bytes."""
    made = {row.name for row in rows}
    maps = {name: one for name, one in data.maps.items() if name not in made}
    results: list[LayerResult] = []
    left_out: dict[str, int] = {}
    for row in rows:
        operands, computes = [maps[name] for name in row.inputs], data.rows[row.name]
        if not row.operator.schedulable:
            maps[row.name] = row_output(row, computes, operands)
            left_out[row.name] = sum(one.size for one in (*operands, maps[row.name]))
            continue
        values = LayerData(_flat(row, operands[0]), computes.weights, computes.bias)
        layer = row.layer().requantised(GivenRequantisation.of(computes.requantisation, values.bits))
        schedule = search_cluster(layer, hardware).schedule
        task = prepare_cluster(schedule, hardware, data=values)
        model = load_cluster(task.program.hardware, dram_log2=dram_depth(len(task.job.image)), fast=fast)
        outcome = run_clusters(model, task.job)
        results.append(judge(task.wanted, outcome))
        maps[row.name] = task.program.output(outcome.memory)
    return LayeredRun(hardware, tuple(results), maps, left_out)


def _flat(row: Node, operand: Map) -> Map:
    """The operand in the shape that the layer reads; fc reads all of it as channels."""
    return operand.reshape(row.input_channels, row.input_height, row.input_width)


def as_large_as(hardware: Hardware, size: int) -> Hardware:
    """The same cluster with a TCDM such that all of its memories have ``size`` bytes, or a little more."""
    cluster = _cluster(hardware)
    word = 4 * cluster.banks
    tcdm = -(-max(size - _local_bytes(hardware), LEAST_TCDM) // word) * word
    smaller = Cluster(**{**dict(cluster), "tcdm": tcdm})
    return hardware.model_copy(update={"cluster": smaller})


def _cluster(hardware: Hardware) -> Cluster:
    if hardware.cluster is None:
        raise InputError(f"{hardware.name}: cluster: expected one")
    return hardware.cluster


def _local_bytes(hardware: Hardware) -> int:
    sizes = hardware.budget if hardware.buffers is None else sum(hardware.buffers.values())
    return _cluster(hardware).hwcs * sizes


def _pipeline_bytes(result: StackResult) -> int:
    return sum(sum(sizes.values()) for sizes in pipeline_storage(result.run.parameters).values())


def _of_traffic(traffic: Traffic, biases: int) -> Moved:
    read = traffic.input + traffic.skip_in + traffic.overlap_in
    written = traffic.output + traffic.skip_out + traffic.overlap_out
    return Moved(read, written, traffic.weights, biases)


def _of_counts(counts: Counts) -> Moved:
    found = Moved()
    for (_, operand, direction), access in counts.at(DRAM.name).accesses.items():
        maps = "maps_read" if direction.startswith("read") else "maps_written"
        name = {"W": "weights", "B": "biases", "P": "program"}.get(operand, maps)
        found = replace(found, **{name: getattr(found, name) + access.bytes})
    return found


def _document(predicted: Moved, measured: Moved) -> dict[str, Any]:
    return {"predicted": asdict(predicted), "measured": asdict(measured), "tensors": measured.tensors}
