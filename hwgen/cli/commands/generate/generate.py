"""``hwgen generate``: the Verilog of the HWC, its register map, and the run-time program of each layer."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.registers.control import Status
from hwgen.cli.commands.generate.clusters import print_clusters, write_clusters
from hwgen.cli.commands.generate.folders import write_files, write_grouped, write_program
from hwgen.cli.console import Json, print_json, print_table, require_folder
from hwgen.cli.coverage import Partial
from hwgen.cli.pipelines import MacsOption, generate_stacks, solution_file
from hwgen.cli.workload import BufferOption, HardwareOption, PerLayer, Work, Workload, left_out, work_of
from hwgen.export.hwc import files_of, storage
from hwgen.lower.hwc import Program, compile_layer

__all__ = ["Generated", "generate", "write_hardware"]

Folder = Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Where the files go.")]


@dataclass(frozen=True)
class Generated:
    """One HWC: its folder, its files by name, and the programs that run on it."""

    folder: Path
    parameters: HwcParameters
    files: Mapping[str, str]
    programs: tuple[Program, ...]

    @property
    def memories(self) -> dict[str, int]:
        """Bytes that the I, W and O memories of the Verilog hold."""
        return storage(self.parameters)["memories"]

    def write(self) -> None:
        """Write what has changed, each file whole or not at all."""
        write_files(self.folder, self.files)
        for program in self.programs:
            write_program(self.folder, program.schedule, _program(program))

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
    partial: Partial = False,
    macs: MacsOption = None,
    as_json: Json = False,
) -> None:
    """Write Verilog, register map and programs for schedules (a SET is scheduled first) or a depth-first solution."""
    require_folder(output)
    unfit = {"--buffer": buffer, "--hardware": hardware, "--per-layer": per_layer, "--partial": partial}
    solution = solution_file(workload, macs, unfit)
    if solution is not None:
        generate_stacks(solution, macs=macs, output=output, as_json=as_json)
        return
    works = work_of(workload, buffer=buffer, hardware=hardware, per_layer=per_layer, partial=partial)
    clusters = write_clusters([work for work in works if work.on_cluster], output)
    generated = write_hardware([work for work in works if not work.on_cluster], output)
    if as_json:
        documents = {
            "clusters": [one.as_json() for one in clusters],
            "hardware": [one.as_json() for one in generated],
        }
        print_json({**{key: document for key, document in documents.items() if document}, **left_out(works)})
        return
    if clusters:
        print_clusters(clusters)
    if generated:
        _print(generated)


def _print(generated: Sequence[Generated]) -> None:
    """One row per HWC."""
    rows: list[list[object]] = []
    for one in generated:
        memories, stored = one.memories, storage(one.parameters)
        rows.append([
            str(one.folder), len(one.programs), " ".join(one.parameters.loops), memories["I"], memories["W"],
            memories["O"], sum(memories.values()), stored["bias_store"]["B"], sum(stored["beside"].values()),
        ])  # fmt: skip
    columns = ["folder", "layers", "loops", "I bytes", "W bytes", "O bytes", "together", "biases",
               "queues, registers"]  # fmt: skip
    print_table("Generated hardware", columns, rows)


def write_hardware(works: Sequence[Work], folder: Path) -> list[Generated]:
    """Generate and write the HWC of each work into ``folder``; several HWCs get a folder inside it each.

    Everything is made before anything is written.
    """

    def make(inside: Path, parameters: HwcParameters, members: tuple[Program, ...]) -> Generated:
        return Generated(inside, parameters, files_of(parameters), members)

    return write_grouped(works, folder, compile_layer, lambda program: program.parameters, make)


def _program(program: Program) -> dict[str, object]:
    """What software does to run the layer: where the tensors are stored, and register values in order."""
    return {
        "layer": program.schedule.layer.name,
        "regions": {name: {"base": region.base, "bytes": region.size} for name, region in program.regions.items()},
        "registers": [
            {"name": name, "address": address, "value": value} for name, address, value in program.registers
        ],
        "start": {"address": program.start[0], "value": program.start[1]},
        "status": {"address": program.status, "done": int(Status.DONE)},
    }
