"""What is to be generated: the request, which checks itself, and what was written."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from hwgen.api.arguments import Sizes, claim_folder, sizes_text
from hwgen.api.cosimulation import Workload
from hwgen.api.depth_first import solution_among
from hwgen.api.generation.clusters import GeneratedCluster, make_clusters
from hwgen.api.generation.folders import write_made
from hwgen.api.generation.hwcs import GeneratedHwc, make_hardware
from hwgen.api.generation.networks import GeneratedNetwork, generate_network
from hwgen.api.generation.pipelines import GeneratedPipelines, generate_stacks
from hwgen.api.generation.systems import GeneratedSystem, make_systems
from hwgen.api.machines import HardwareLike
from hwgen.api.models import network_on, require_whole, tell_default
from hwgen.api.networks import Network
from hwgen.api.results import Answer
from hwgen.api.session import call
from hwgen.api.sharing import Sharing, sharing_of
from hwgen.api.work import SetObjective, Work, balance_data, fitted_works, left_out, work_of
from hwgen.ir.document import InputError

__all__ = ["GenerateRequest", "Generated", "GeneratedLayers", "generate"]


@dataclass(frozen=True, repr=False, eq=False)
class GeneratedLayers(Answer):
    """HWCs, clusters or systems, with the programs of layers.

    Members
    -------
    folder : where the files are.
    works : the schedules, by the hardware that they run on.
    """

    folder: Path
    works: tuple[Work, ...]
    hwcs: tuple[GeneratedHwc, ...] = ()
    clusters: tuple[GeneratedCluster, ...] = ()
    systems: tuple[GeneratedSystem, ...] = ()

    @property
    def designs(self) -> tuple[GeneratedHwc | GeneratedCluster | GeneratedSystem, ...]:
        """All designs: each with its folder, its parameters and its files."""
        return (*self.clusters, *self.hwcs, *self.systems)

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen generate --json`` prints."""
        if self.systems:
            return {"systems": [one.as_json() for one in self.systems], **left_out(self.works)}
        documents = {
            "clusters": [one.as_json() for one in self.clusters],
            "hardware": [one.as_json() for one in self.hwcs],
        }
        weighed = balance_data(self.works[0].balance)
        return {**{key: found for key, found in documents.items() if found}, **weighed, **left_out(self.works)}

    def rows(self) -> list[dict[str, object]]:
        """One row a layer: the design that runs it."""
        return [
            {"folder": str(one.folder), "top": one.top, "layer": program.schedule.layer.name}
            for one in self.designs
            for program in one.programs
        ]

    def summary(self) -> str:
        """What was written, and where."""
        layers = sum(len(one.programs) for one in self.designs)
        return f"{len(self.designs)} designs with programs of {layers} layers in {self.folder}"


Generated = GeneratedLayers | GeneratedNetwork | GeneratedPipelines
"""What was written."""


@dataclass(frozen=True, kw_only=True)
class GenerateRequest:
    """What is to be generated, and how; see `generate`."""

    workload: Workload
    output: Path
    buffer: Sizes | None = None
    hardware: HardwareLike | None = None
    per_layer: bool = False
    objective: SetObjective | None = None
    slack: float | None = None
    partial: bool = False
    fitted: bool = False
    operands: Path | None = None
    macs: int | None = None
    clusters: int | None = None
    partition: str | None = None
    resident: bool = False
    keep_init: bool = False

    @call
    def answer(self) -> Generated:
        """Write the files."""
        claim_folder(self.output)
        sharing = sharing_of(self.clusters, self.partition)
        unfit = {"--buffer": self.buffer, "--hardware": self.hardware, "--per-layer": self.per_layer,
                 "--partial": self.partial, "--fitted": self.fitted, "--operands": self.operands,
                 "--objective": self.objective, "--traffic-slack": self.slack}  # fmt: skip
        named = _named(self.workload)
        network = network_on(
            named, self.hardware, {**unfit, "--hardware": None, "--macs": self.macs, "--partition": self.partition},
            partial=self.partial, resident=self.resident,
        )  # fmt: skip
        if network is not None:
            model, machine, resident = network
            made = generate_network(
                model, machine, self.output, resident=resident, keep_init=self.keep_init,
                clusters=1 if sharing is None else sharing.clusters,
            )  # fmt: skip
            if self.hardware is None:
                tell_default()
            return made
        if self.resident:
            raise InputError("--resident: expected a quantised network, and a cluster with requantisation scaled")
        solution = solution_among(self.workload, self.macs, {**unfit, "--clusters": self.clusters})
        if solution is not None:
            return generate_stacks(solution, macs=self.macs, output=self.output, keep_init=self.keep_init)
        require_whole(named, partial=self.partial)
        works = work_of(
            self.workload, buffer=None if self.buffer is None else sizes_text(self.buffer), hardware=self.hardware,
            per_layer=self.per_layer, objective=self.objective, slack=self.slack, partial=self.partial,
        )  # fmt: skip
        return self._of_works(fitted_works(works) if self.fitted else works, sharing)

    def _of_works(self, works: Sequence[Work], sharing: Sharing | None) -> GeneratedLayers:
        on_clusters = [work for work in works if work.on_cluster]
        if on_clusters and self.operands is not None:
            raise InputError("--operands: not for clusters: their tensors are stored in DRAM as they are")
        if sharing is not None:
            systems = make_systems(works, self.output, sharing, keep_init=self.keep_init)
            write_made(works, self.output, systems)
            return GeneratedLayers(self.output, tuple(works), systems=tuple(systems))
        clusters = make_clusters(on_clusters, self.output, keep_init=self.keep_init)
        hwcs = make_hardware([work for work in works if not work.on_cluster], self.output, self.operands,
                             keep_init=self.keep_init)  # fmt: skip
        write_made(works, self.output, [*clusters, *hwcs])
        return GeneratedLayers(self.output, tuple(works), tuple(hwcs), tuple(clusters))


def generate(
    workload: Workload,
    output: str | PathLike[str],
    hardware: HardwareLike | None = None,
    *,
    buffer: Sizes | None = None,
    per_layer: bool = False,
    objective: SetObjective | None = None,
    slack: float | None = None,
    partial: bool = False,
    fitted: bool = False,
    operands: str | PathLike[str] | None = None,
    clusters: int | None = None,
    partition: str | None = None,
    resident: bool = False,
    keep_init: bool = False,
) -> Generated:
    """Write the Verilog, the registers, a driver in C, and the program of each layer.

    Parameters
    ----------
    workload : a plan, nests, files and folders of schedules; a network, which is scheduled first, as in `cosim`; a
        quantised model, without ``hardware`` or with one whose requantisation is scaled: it becomes programs of a
        cluster with its weights; a depth-first solution.
    output : folder for the files. What an earlier call wrote there goes.
    hardware : the HWC or the cluster; None: what the plan, or a file beside the schedules, says; of a quantised model
        the built-in cluster of 64 multipliers with a vector unit, maps that fit staying in its TCDM.
    fitted : as narrow as the layers allow; settings that they have alike are constants.
    operands : folder with weights, biases and inputs of the layers as .npy, which become part of the programs.
    clusters, partition : share each layer of a cluster's schedules out to several of it, in a way such as ``KS``. Of
        a quantised model each of the clusters has programs of all of it, for an image of its own.
    resident : of a quantised network: maps that fit stay in the TCDM from node to node.
    keep_init : registers have initial values, for targets that load them.
    """
    return GenerateRequest(
        workload=workload, output=Path(output), hardware=hardware, buffer=buffer, per_layer=per_layer,
        objective=objective, slack=slack, partial=partial, fitted=fitted,
        operands=None if operands is None else Path(operands), clusters=clusters, partition=partition,
        resident=resident, keep_init=keep_init,
    ).answer()  # fmt: skip


def _named(workload: object) -> list[str]:
    """The files that a workload is by name; a network that was loaded is that of its file."""
    several = workload if isinstance(workload, list | tuple) else [workload]
    found = [one.given if isinstance(one, Network) else one for one in several]
    return [str(one) for one in found if isinstance(one, str | PathLike)]
