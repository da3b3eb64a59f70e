"""``hwgen generate``: the Verilog of the HWC, its register map, and the run-time program of each layer."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from hwgen.api.arguments import claim_folder
from hwgen.api.depth_first import solution_file
from hwgen.api.sharing import sharing_of
from hwgen.api.work import Work, balance_data, fitted_works, left_out, work_of
from hwgen.arch.hwc import HwcParameters
from hwgen.cli.clusters import ClustersOption, PartitionOption
from hwgen.cli.commands.generate.clusters import make_clusters, print_clusters
from hwgen.cli.commands.generate.folders import Contents, grouped, program_names, schedule_file, write_made
from hwgen.cli.commands.generate.networks import generate_network, network_on, require_whole
from hwgen.cli.commands.generate.pipelines import generate_stacks
from hwgen.cli.commands.generate.systems import make_systems, print_systems
from hwgen.cli.console import Json, print_json, print_table
from hwgen.cli.coverage import Partial
from hwgen.cli.operands import Operands, OperandsOption, read_operands
from hwgen.cli.pipelines import MacsOption
from hwgen.cli.workload import (
    BufferOption,
    FittedOption,
    HardwareOption,
    ObjectiveOption,
    PerLayer,
    ResidentOption,
    SlackOption,
    Workload,
    tell_set,
)
from hwgen.export.cached import generated
from hwgen.export.hwc import digest, files_of, storage
from hwgen.export.hwc_program import program_files
from hwgen.ir.document import InputError
from hwgen.lower.hwc import Program, compile_layer

__all__ = ["Generated", "generate", "make_hardware"]

Folder = Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Where the files go.")]

KeepInit = Annotated[
    bool, typer.Option("--keep-init", help="Registers have initial values, for targets that load them.")
]


@dataclass(frozen=True)
class Generated:
    """One HWC: its folder, its files by name, the programs that run on it, and the operands of some of them."""

    folder: Path
    parameters: HwcParameters
    files: Mapping[str, str]
    programs: tuple[Program, ...]
    operands: tuple[Operands, ...]
    top: Literal["hwc"] = "hwc"

    @property
    def digest(self) -> str:
        """Names the state of its Verilog."""
        return digest(self.parameters)

    @property
    def memories(self) -> dict[str, int]:
        """Bytes that the I, W and O memories of the Verilog hold."""
        return storage(self.parameters)["memories"]

    def contents(self) -> Contents:
        """All of its files."""
        contents: Contents = dict(self.files)
        names = program_names(self.programs)
        for name, program, operands in zip(names, self.programs, self.operands, strict=True):
            files = program_files(name, program, operands)
            contents |= {f"programs/{file}": text for file, text in files.items()}
            contents |= schedule_file(name, program.schedule)
        return contents

    def as_json(self) -> dict[str, object]:
        """What was generated: bytes of each memory, files, layers."""
        return {
            "folder": str(self.folder),
            "allocated_bytes": sum(self.memories.values()),
            **storage(self.parameters),
            "parameters": asdict(self.parameters),
            "files": sorted(self.files),
            "layers": [program.schedule.layer.name for program in self.programs],
        }


def generate(
    workload: Workload,
    *,
    output: Folder,
    buffer: BufferOption = None,
    hardware: HardwareOption = None,
    per_layer: PerLayer = False,
    objective: ObjectiveOption = None,
    slack: SlackOption = None,
    partial: Partial = False,
    fitted: FittedOption = False,
    operands: OperandsOption = None,
    macs: MacsOption = None,
    clusters: ClustersOption = None,
    partition: PartitionOption = None,
    resident: ResidentOption = False,
    keep_init: KeepInit = False,
    as_json: Json = False,
) -> None:
    """Write Verilog, register map and programs for schedules (a SET is scheduled first) or a depth-first solution.

    For hardware whose requantisation is scaled a SET that is a file MODEL.onnx is a quantised network: it becomes
    programs of a cluster, with its weights; what the cluster cannot run is left to software between them.
    """
    claim_folder(output)
    sharing = sharing_of(clusters, partition)
    unfit = {"--buffer": buffer, "--hardware": hardware, "--per-layer": per_layer, "--partial": partial,
             "--fitted": fitted, "--operands": operands, "--objective": objective,
             "--traffic-slack": slack, "--clusters": clusters}  # fmt: skip
    network = network_on(workload, hardware, {**unfit, "--hardware": None, "--macs": macs})
    if network is not None:
        generate_network(*network, output, resident=resident, keep_init=keep_init, as_json=as_json)
        return
    if resident:
        raise InputError("--resident: expected a quantised network, and a cluster with requantisation scaled")
    solution = solution_file(workload, macs, unfit)
    if solution is not None:
        generate_stacks(solution, macs=macs, output=output, as_json=as_json, keep_init=keep_init)
        return
    require_whole(workload, partial=partial)
    works = work_of(
        workload, buffer=buffer, hardware=hardware, per_layer=per_layer, objective=objective, slack=slack,
        partial=partial,
    )  # fmt: skip
    if fitted:
        works = fitted_works(works)
    on_clusters = [work for work in works if work.on_cluster]
    if on_clusters and operands is not None:
        raise InputError("--operands: not for clusters: their tensors are stored in DRAM as they are")
    if sharing is not None:
        systems = make_systems(works, output, sharing, keep_init=keep_init)
        write_made(works, output, systems)
        if as_json:
            print_json({"systems": [one.as_json() for one in systems], **left_out(works)})
        else:
            print_systems(systems)
            tell_set(works)
        return
    made = make_clusters(on_clusters, output, keep_init=keep_init)
    hwcs = make_hardware([work for work in works if not work.on_cluster], output, operands, keep_init=keep_init)
    write_made(works, output, [*made, *hwcs])
    if as_json:
        documents = {
            "clusters": [one.as_json() for one in made],
            "hardware": [one.as_json() for one in hwcs],
        }
        weighed = balance_data(works[0].balance)
        print_json(
            {**{key: document for key, document in documents.items() if document}, **weighed, **left_out(works)}
        )
        return
    if made:
        print_clusters(made)
    if hwcs:
        _print(hwcs)
    tell_set(works)


def _print(hwcs: Sequence[Generated]) -> None:
    """One row per HWC."""
    rows: list[list[object]] = []
    for one in hwcs:
        memories, stored = one.memories, storage(one.parameters)
        rows.append([
            str(one.folder), len(one.programs), " ".join(one.parameters.loops), memories["I"], memories["W"],
            memories["O"], sum(memories.values()), stored["bias_store"]["B"], sum(stored["beside"].values()),
        ])  # fmt: skip
    columns = ["folder", "layers", "loops", "I bytes", "W bytes", "O bytes", "together", "biases",
               "queues, registers"]  # fmt: skip
    print_table("Generated hardware", columns, rows, wide=["biases", "queues, registers"])


def make_hardware(
    works: Sequence[Work], folder: Path, operands: Path | None = None, *, keep_init: bool = False
) -> list[Generated]:
    """Generate the HWC of each work for ``folder``; several HWCs get a folder inside it each.

    ``operands`` : a folder with the layers' operands. ``keep_init`` : registers have initial values.
    """

    def make(inside: Path, parameters: HwcParameters, members: tuple[Program, ...]) -> Generated:
        given = tuple(read_operands(operands, program.schedule) for program in members)
        text = generated(parameters, keep_init=keep_init)
        return Generated(inside, parameters, files_of(parameters, text), members, given)

    return grouped(works, folder, compile_layer, lambda program: program.parameters, make)
