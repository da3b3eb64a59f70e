"""What a run of a quantised network in the simulated hardware found: layers, programs, outputs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.network.on_cluster import RanProgram, elapsed_cycles
from cosim.network.on_hwc import RanLayer
from hwgen.api.cosimulation import Checked
from hwgen.api.runtime import runtime_documents
from hwgen.golden.quantised.comparison import Beside
from hwgen.ir.network.graph import Graph
from hwgen.lower.network.cluster_plan import ClusterPlan
from hwgen.lower.network.forecast import pairs_beside
from hwgen.lower.network.hwc_plan import NetworkPlan
from hwgen.lower.network.layers import refusals
from hwgen.lower.network.placement import Placement
from hwgen.lower.system.networks import NetworkSystem
from hwgen.model.system.times import QueueName

__all__ = ["NetworkRun"]


@dataclass(frozen=True, eq=False, repr=False)
class NetworkRun(Checked):
    """A run: the network, what ran where, and ONNX Runtime, or LiteRT, on the same inputs.

    Members
    -------
    outputs : of the model, as they follow from the hardware.
    files : the file of each output; empty without a folder.
    ran : the layers that the hardware ran, with everything predicted and measured.
    programs : of a cluster, what ran as one.
    clusters : how many ran images at the same time.
    beside : the integer reference, and its comparison.
    """

    graph: Graph
    plan: NetworkPlan | ClusterPlan
    place: Placement
    ran: Sequence[RanLayer]
    beside: Beside
    outputs: Mapping[str, NDArray]
    files: Mapping[str, str]
    programs: Sequence[RanProgram] = ()
    clusters: int = 1

    @property
    def host(self) -> list[str]:
        """Names of the nodes that the host ran."""
        return [node.name for node in self.place.host(self.graph)]

    @property
    def both_cycles(self) -> tuple[int, int]:
        """Predicted and measured cycles, of all layers and images; of clusters, of whole programs, those that ran at
        the same time once."""
        if self.programs:
            return elapsed_cycles(self.programs)
        results = [one.result for one in self.ran]
        return sum(one.predicted_cycles for one in results), sum(one.cycles for one in results)

    @property
    def beside_layers(self) -> dict[str, str]:
        """The nodes that run beside the layer before them on a cluster, as far as they can, each with that layer."""
        stretches = self.plan.stretches if isinstance(self.plan, ClusterPlan) else ()
        return {node: layer for stretch in stretches for node, layer in pairs_beside(stretch).items()}

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the layers that ran, of all images, as the model has them."""
        return sum(one.node.macs for one in self.ran)

    @property
    def zeros(self) -> dict[str, float]:
        """The part of each node's multiplications that the model's operator does not have."""
        return {one.node.name: one.zero_share for one in self.plan.layers if one.zero_share}

    @property
    def utilisation(self) -> float:
        """Multiply-accumulates by what the multipliers could have done while the layers ran."""
        lanes = (
            self.plan.lanes * self.clusters
            if isinstance(self.plan, ClusterPlan)
            else self.plan.layers[0].program.schedule.lanes.product
        )
        return self.macs / max(self.both_cycles[1] * lanes, 1)

    @property
    def passed(self) -> bool:
        """Whether all checks hold, in the hardware and against ONNX Runtime."""
        passed = all(one.passed for one in self.ran) and all(one.passed for one in self.programs)
        return passed and self.beside.holds and not self.strayed

    @property
    def strayed(self) -> list[str]:
        """Outputs that do not follow from the hardware as they do from the integer reference."""
        wanted = self.beside.outputs
        return [name for name, made in self.outputs.items() if not np.array_equal(made, wanted[name], equal_nan=True)]

    @property
    def exact(self) -> bool:
        """Whether what the RTL left in memory is the integer reference's, in every element."""
        return all(one.exact for one in self.ran)

    @property
    def equal(self) -> bool:
        """Whether every count that was measured is the predicted one."""
        return all(one.result.equal for one in self.ran)

    @property
    def cycles(self) -> int:
        """Measured cycles, of all layers and images; of a cluster, of whole programs."""
        return self.both_cycles[1]

    @property
    def energy(self) -> float | None:
        """Energy in pJ of what was measured; None where nothing says what an access costs."""
        found = self.document()["energy"]
        return None if found is None else float(found["measured"])

    @property
    def failures(self) -> tuple[str, ...]:
        """Everything that is wrong, a line each."""
        lines = [f"{one.result.layer}: {line}" for one in self.ran for line in one.result.failures]
        lines += [line for one in self.programs for line in one.failures]
        lines += [
            f"{one.node.name}: {one.different} elements differ from the integer reference of the network"
            for one in self.ran
            if one.different
        ]
        return (*lines, *(f"output {name}: not as the integer reference has it" for name in self.strayed))

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen run --json`` prints."""
        return _document(self)

    def rows(self) -> list[dict[str, object]]:
        """One row a layer and image."""
        return [
            {
                "layer": one.node.name,
                "image": one.image,
                "equal": one.result.equal,
                "exact": one.exact,
                "cycles": one.result.cycles,
                "predicted_cycles": one.result.predicted_cycles,
                "utilisation": one.result.utilisation,
            }
            for one in self.ran
        ]

    def summary(self) -> str:
        """The checks, and the sums."""
        checks = "all counts equal, all outputs exact" if self.passed else f"NOT EQUAL: {self.difference}"
        return f"Run of {self.graph.name}: {len(self.plan.layers)} layers, {checks}; {self.cycles:,} cycles"


def _programs_document(done: NetworkRun) -> dict[str, Any]:
    """What only a cluster has."""
    if not isinstance(done.plan, ClusterPlan):
        return {}
    rooms = done.plan.rooms
    return {
        "clusters": done.clusters,
        "programs": [
            {
                "image": one.image,
                "cluster": one.cluster,
                "layers": [layer.node.name for layer in one.layers],
                "cycles": {"predicted": one.predicted_cycles, "measured": one.cycles},
                "predicted": asdict(one.predicted),
                "measured": asdict(one.measured),
                "busy": {"predicted": _rounded(one.predicted_busy), "measured": dict(one.busy)},
                "passed": one.passed,
                "failures": list(one.failures),
            }
            for one in done.programs
        ],
        "dram": {
            "peak": rooms.peak,
            "bound": rooms.bound,
            "parameters": done.plan.parameters.size,
            "size": NetworkSystem(done.plan, done.clusters).size,
        },
        "resident": done.plan.resident_data(),
    }


def _rounded(busy: Mapping[QueueName, float]) -> dict[str, int]:
    return {queue: round(cycles) for queue, cycles in busy.items()}


def _document(done: NetworkRun) -> dict[str, Any]:
    predicted, measured = done.both_cycles
    layers = [
        {
            "node": one.node.name,
            "kind": one.node.label,
            "shape": list(one.node.shape),
            "image": one.image,
            "exact": one.exact,
            **one.result.as_json(),
        }
        for one in done.ran
    ]
    busy, beside = [each for program in done.programs for each in program.layers_busy], done.beside_layers
    for layer, cycles in zip(layers, busy, strict=bool(busy)):
        layer["busy"] = {"predicted": _rounded(cycles)}
        layer["beside"] = beside.get(str(layer["node"]))
    energies = [layer["energy"] for layer in layers]
    return {
        "network": done.graph.name,
        "outputs": done.files,
        "exact": all(one.exact for one in done.ran),
        "host": done.host,
        "refused": refusals(done.graph, done.plan.refused),
        "zeros": {name: round(share, 4) for name, share in done.zeros.items()},
        **runtime_documents(done.beside),
        "layers": layers,
        "cycles": {"predicted": predicted, "measured": measured},
        "utilisation": round(done.utilisation, 4),
        **_programs_document(done),
        "energy": None
        if None in energies
        else {source: sum(one[source]["total"] for one in energies) for source in ("predicted", "measured")},
    }
