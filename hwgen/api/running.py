"""Quantised networks in the simulated hardware: layers with weights there, the others on the host."""

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, overload

from numpy.typing import NDArray

from cosim.cluster.ahead import begin_network
from cosim.network.on_cluster import RanProgram, run_clustered
from cosim.network.on_hwc import network_values, run_network
from cosim.simulator.ahead import Ahead
from hwgen.api.arguments import claim_folder, refuse
from hwgen.api.arrays import GivenInputs, Inputs, write_arrays
from hwgen.api.cosimulation import tell_wait
from hwgen.api.depth_first import MOST_MACS, memory_size
from hwgen.api.depth_first_runs import DepthFirstRun, DepthFirstRunRequest
from hwgen.api.machines import HardwareLike, hardware
from hwgen.api.models import default_cluster, tell_default
from hwgen.api.network_runs import NetworkRun
from hwgen.api.networks import Network
from hwgen.api.progress import note, steps
from hwgen.api.session import call
from hwgen.api.sharing import sharing_of
from hwgen.golden.quantised.comparison import run_beside
from hwgen.golden.quantised.execution import checked_inputs, execute, images, joined, outside
from hwgen.ir.document import InputError, write_atomically
from hwgen.ir.hardware import Hardware
from hwgen.ir.network.graph import Graph
from hwgen.lower.network.cluster_plan import ClusterPlan
from hwgen.lower.network.layers import nothing_runs, weighted
from hwgen.lower.network.placement import placement, plan_on
from hwgen.readers.integers.reader import read_quantised
from hwgen.report.run.page import run_page
from hwgen.tools.toolchain import Simulator

__all__ = ["RunRequest", "run", "run_request"]


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What network is to run on what; see `run`."""

    model: str | PathLike[str]
    hardware: HardwareLike | None = None
    given: Inputs | None = None
    mean: str | None = None
    std: str | None = None
    seed: int | None = None
    output: Path | None = None
    simulator: Simulator = "verilator"
    jobs: int = 1
    resident: bool = False
    clusters: int | None = None

    @call
    def answer(self) -> NetworkRun:
        """Run it; write outputs, operands of the layers and a page where a folder is given."""
        given = GivenInputs.of(self.given, self.seed, self.mean, self.std)
        claim_folder(self.output)
        sharing = sharing_of(self.clusters, None)
        machine, resident = self._machine()
        if machine.cluster is not None and self.simulator != "verilator":
            raise InputError("--sim: expected verilator with a cluster")
        if machine.cluster is None:
            clustered = {"--resident": self.resident, "--clusters": self.clusters}
            refuse(clustered, f"expected a cluster, got the HWC {machine.name}")
        model = Path(self.model)
        note(f"reading {model}")
        graph = read_quantised(model)
        if graph.together:
            note(f"the first axis is no batch of images: {graph.together}")
        arrays, where = given.of_network(graph, self.clusters or 1), given.where(model)
        on = machine, resident, 1 if sharing is None else sharing.clusters
        count = checked_inputs(graph, arrays, where)
        with Ahead(wanted=on[2] == 1) as ahead:
            begin_network(ahead, graph, machine, count)
            if self.output is not None:
                return self._ran(model, graph, on, arrays, count, where, self.output)
            with TemporaryDirectory(prefix="hwgen-") as folder:
                return self._ran(model, graph, on, arrays, count, where, Path(folder))

    def _machine(self) -> tuple[Hardware, bool]:
        """The hardware, and whether maps stay in its TCDM."""
        if self.hardware is not None:
            return hardware(self.hardware), self.resident
        return default_cluster()

    def _ran(
        self,
        model: Path,
        graph: Graph,
        on: tuple[Hardware, bool, int],
        arrays: dict[str, NDArray],
        count: int,
        where: str,
        folder: Path,
    ) -> NetworkRun:
        machine, resident, clusters = on
        if self.hardware is None:
            tell_default()
        with steps(len(weighted(graph)), "scheduling") as step:
            plan = plan_on(graph, machine, step, resident=resident, clusters=clusters)
        if not plan.layers:
            raise InputError(f"{model}: {nothing_runs(graph, machine.name, plan.refused)}")
        beside = run_beside(model, graph, arrays, where)
        tensors = [execute(graph, image) for image in images(graph, arrays, count)]
        note(f"{self.simulator}: {len(plan.layers)} layers")
        programs: list[RanProgram] = []
        with steps(len(plan.layers) * count, "cosimulating") as step:
            if isinstance(plan, ClusterPlan):
                programs, values = run_clustered(
                    graph, plan, tensors, folder / "layers", clusters=clusters, tell=tell_wait, progress=step
                )
                ran = [layer for program in programs for layer in program.layers]
            else:
                ran = run_network(
                    plan, tensors, folder / "layers", simulator=self.simulator, jobs=self.jobs, tell=tell_wait,
                    progress=step,
                )  # fmt: skip
                values = [
                    network_values(graph, one, [layer for layer in ran if layer.image == at])
                    for at, one in enumerate(tensors)
                ]
        outputs = {name: joined([outside(graph, name, one) for one in values]) for name in graph.outputs}
        files: dict[str, str] = {}
        if self.output is not None:
            files = write_arrays(self.output, replace(beside, outputs=outputs), tensors=False)
        place = placement(graph, plan, machine)
        found = NetworkRun(graph, plan, place, ran, beside, outputs, files, programs, clusters)
        if self.output is not None:
            write_atomically(self.output / "run.html", run_page(found.document(), machine.name).encode())
        return found


def run_request(
    model: str | PathLike[str],
    given: Inputs | None,
    hardware: HardwareLike | None,
    *,
    mean: str | None,
    std: str | None,
    seed: int | None,
    output: Path | None,
    simulator: Simulator,
    jobs: int,
    resident: bool,
    clusters: int | None,
    depth_first: bool,
    memory: str | int | None,
    macs: int | None,
    dram: HardwareLike | None,
    until: str | None,
) -> RunRequest | DepthFirstRunRequest:
    """The request of a run, of which some options are for layers and others for depth-first stacks; see `run`."""
    if not depth_first:
        pipelines = {"--memory": memory, "--macs": macs, "--dram": dram, "--until": until}
        refuse(pipelines, "expected with --depth-first")
        return RunRequest(
            model=model, hardware=hardware, given=given, mean=mean, std=std, seed=seed, output=output,
            simulator=simulator, jobs=jobs, resident=resident, clusters=clusters,
        )  # fmt: skip
    refuse({"--clusters": clusters}, "not with --depth-first, whose rest runs on one")
    if macs is not None and not 1 <= macs <= MOST_MACS:
        raise InputError(f"--macs: expected 1 to {MOST_MACS}, got {macs}")
    return DepthFirstRunRequest(
        model=Path(model), given=given, mean=mean, std=std, seed=seed, output=output, simulator=simulator, jobs=jobs,
        memory=None if memory is None else memory_size(str(memory)), macs=macs, dram=dram, hardware=hardware,
        resident=resident, until=until,
    )  # fmt: skip


@overload
def run(
    model: str | PathLike[str] | Network,
    inputs: Inputs | None,
    hardware: HardwareLike | None = None,
    *,
    output: str | PathLike[str] | None = None,
    mean: str | None = None,
    std: str | None = None,
    seed: int | None = None,
    simulator: Simulator = "verilator",
    jobs: int = 1,
    resident: bool = False,
    clusters: int | None = None,
    depth_first: Literal[False] = False,
) -> NetworkRun: ...
@overload
def run(
    model: str | PathLike[str] | Network,
    inputs: Inputs | None,
    hardware: HardwareLike | None = None,
    *,
    output: str | PathLike[str] | None = None,
    mean: str | None = None,
    std: str | None = None,
    seed: int | None = None,
    simulator: Simulator = "verilator",
    jobs: int = 1,
    resident: bool = False,
    depth_first: Literal[True],
    memory: str | int | None = None,
    macs: int | None = None,
    dram: HardwareLike | None = None,
    until: str | None = None,
) -> DepthFirstRun: ...
def run(
    model: str | PathLike[str] | Network,
    inputs: Inputs | None,
    hardware: HardwareLike | None = None,
    *,
    output: str | PathLike[str] | None = None,
    mean: str | None = None,
    std: str | None = None,
    seed: int | None = None,
    simulator: Simulator = "verilator",
    jobs: int = 1,
    resident: bool = False,
    clusters: int | None = None,
    depth_first: bool = False,
    memory: str | int | None = None,
    macs: int | None = None,
    dram: HardwareLike | None = None,
    until: str | None = None,
) -> NetworkRun | DepthFirstRun:
    """Run a quantised network: its layers with weights in the simulated hardware, the others on the host.

    Every output is compared with the integer reference, every count with the model, and the reference with ONNX
    Runtime, or with LiteRT for TFLite.

    Parameters
    ----------
    model : the model's file, or what `load` made of it.
    inputs : an array, or the file of one or of a picture; several by name; None: random ones of this ``seed``.
    hardware : the HWC or the cluster, with requantisation scaled; None: the built-in cluster of 64 multipliers with a
        vector unit, maps that fit staying in its TCDM.
    output : folder for the outputs, the layers' operands, and a page.
    mean, std : of a picture's pixels the network's numbers are (pixel - mean) / std, as text, such as ``"127.5"``.
    simulator, jobs : as in `cosim`.
    resident : on a cluster: maps that fit stay in the TCDM from node to node.
    clusters : number of clusters, 2 to 16, that share a DRAM: each runs an image of its own at the same time.
    depth_first : nodes that the network begins with run as stacks on pipelines of line buffers; what follows runs on
        the cluster that is given as ``hardware``, else on the host. With a cluster as much is depth-first as both
        together take the fewest cycles with.
    memory : depth-first, bytes on chip at most, such as ``"16KiB"``; None: what the least traffic needs.
    macs : depth-first, multipliers of each pipeline.
    dram : depth-first, the cluster whose DRAM the pipelines are on; None: the one that is given, or the built-in one
        for networks.
    until : depth-first, the name of the last node that runs so.
    """
    return run_request(
        model.given if isinstance(model, Network) else model, inputs, hardware, mean=mean, std=std, seed=seed,
        output=None if output is None else Path(output), simulator=simulator, jobs=jobs, resident=resident,
        clusters=clusters, depth_first=depth_first, memory=memory, macs=macs, dram=dram,
        until=until,
    ).answer()  # fmt: skip
