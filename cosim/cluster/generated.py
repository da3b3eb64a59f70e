"""Clusters that ``hwgen generate`` wrote, read again to be simulated: Verilog and programs, to the byte."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cosim.cluster.preparation import WrittenProgram
from cosim.cluster.results import cosimulate_clusters
from cosim.device.result import LayerResult
from cosim.hwc.generated import generated_folder, require_listed, verilog_in
from cosim.simulator.pace import Forecast
from hwgen.arch.hardware_file import load_hardware
from hwgen.export.cluster import cluster_digest
from hwgen.export.cluster_program import ClusterProgramFile, read_words
from hwgen.export.hwc import digest_in
from hwgen.export.manifest import Design
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule, load_schedule
from hwgen.lower.cluster.program import compile_cluster

__all__ = ["GeneratedCluster", "read_clusters"]


@dataclass(frozen=True)
class GeneratedCluster:
    """One cluster with its programs, and the schedules that they were made of.

    Members
    -------
    streams : for each schedule the number that, with the seed, gives its random numbers.
    """

    verilog: str
    hardware: Hardware | None
    schedules: tuple[Schedule, ...]
    programs: tuple[WrittenProgram, ...]
    streams: tuple[int, ...]

    def run(
        self,
        *,
        seed: int,
        stalls: bool,
        dump: Path | None,
        names: Sequence[str],
        jobs: int = 1,
        tell: Callable[[Forecast], None] = lambda forecast: None,
        progress: Callable[[LayerResult], None],
    ) -> list[LayerResult]:
        """Run the programs; see `cosimulate_clusters`."""
        return cosimulate_clusters(
            self.schedules,
            self.hardware,
            seed=seed,
            streams=self.streams,
            stalls=stalls,
            dump=dump,
            written=self.programs,
            verilog=self.verilog,
            names=names,
            jobs=jobs,
            tell=tell,
            progress=progress,
        )


def read_clusters(folder: Path) -> list[GeneratedCluster]:
    """All clusters in a generated folder.

    Raises `InputError` for a program of another cluster, or one that the manifest does not know.
    """
    return [_cluster(folder, design) for design in generated_folder(folder).designs if design.top == "cluster"]


def _cluster(root: Path, design: Design) -> GeneratedCluster:
    folder = root / design.folder
    verilog = verilog_in(folder / "cluster.v")
    digest = digest_in(verilog)
    require_listed(folder, design)
    hardware = _hardware(folder, root)
    schedules, programs = [], []
    for name in design.files:
        path = folder / "programs" / f"{name}.json"
        file = ClusterProgramFile.read(path)
        schedule = load_schedule(folder / "schedules" / f"{name}.yaml")
        if not file.cluster == digest == cluster_digest(compile_cluster(schedule, hardware).hardware):
            raise InputError(f"{path}: expected a program of the cluster in cluster.v, {digest}, got {file.cluster}")
        schedules.append(schedule)
        programs.append(WrittenProgram(file.registers, read_words(path.with_suffix(".hex"))))
    streams = tuple(layer.number for layer in design.layers)
    return GeneratedCluster(verilog, hardware, tuple(schedules), tuple(programs), streams)


def _hardware(folder: Path, root: Path) -> Hardware | None:
    """The hardware file that was generated with a design: in its folder, or in one around it."""
    for place in (folder, *folder.parents):
        if (place / "hardware.yaml").exists():
            return load_hardware(place / "hardware.yaml")
        if place == root:
            break
    return None
