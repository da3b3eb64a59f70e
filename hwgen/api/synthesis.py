"""Area and clock of hardware, on an ECP5 or in standard cells: of what schedules run on, of hardware itself, of the
pipelines of stacks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from hwgen.api.arguments import Sizes, refuse, sizes_text
from hwgen.api.cosimulation import Workload
from hwgen.api.depth_first import solution_among, stack_parameters
from hwgen.api.machines import HardwareLike
from hwgen.api.machines import hardware as read_one
from hwgen.api.models import tell_shapes
from hwgen.api.progress import note, remark, steps
from hwgen.api.results import Answer, Figure
from hwgen.api.session import call
from hwgen.api.work import SetObjective, Work, fitted_works, left_out, work_of
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.pipeline import PipelineParameters
from hwgen.ir.builtin import builtin_names
from hwgen.ir.document import InputError, load_yaml
from hwgen.ir.hardware import Hardware
from hwgen.lower.cluster.program import compile_cluster
from hwgen.lower.hwc import compile_layer
from hwgen.model.area.assumed import cluster_of, hwc_of
from hwgen.model.area.estimate import EstimatedArea, estimated_cluster, estimated_hwc
from hwgen.synthesis.blocks import Block, cluster_blocks, hwc_blocks, pipeline_blocks
from hwgen.synthesis.cells import Area
from hwgen.synthesis.ecp5 import Device, Synthesis, synthesise_hwc, synthesise_pipeline
from hwgen.synthesis.silicon import Cells, Silicon, read_cells, silicon
from hwgen.synthesis.tool_run import DEVICE

__all__ = ["Arrived", "Design", "Device", "Liberty", "SynthRequest", "Synthesised", "cells_of_files", "few", "synth"]

Parameters = HwcParameters | ClusterParameters | PipelineParameters
Liberty = str | PathLike[str] | Sequence[str | PathLike[str]]
"""A Liberty file, or several: one with standard cells, others with macros of memories."""
Arrived = Callable[[str, str, dict[str, Area]], None]
"""Called with whose hardware it is, the name of a part of it, and the areas of its blocks before gates are known."""


@dataclass(frozen=True)
class Design:
    """One design that was synthesised.

    Members
    -------
    names : layers, or stacks, that run on it; the name of hardware that was given alone.
    parameters : what it is generated for.
    whole : logic, buffers, gates and clock, placed; of a cluster those of one of its HWCs. None with ``blocks``.
    blocks : area by block, of a cluster all of it; empty where the whole was placed, and with ``silicon``.
    alone : whether it is hardware that was given alone.
    silicon : its cells of a library, of a cluster of all of it; None where it was synthesised for an ECP5.
    """

    names: tuple[str, ...]
    parameters: Parameters
    whole: Synthesis | None
    blocks: Mapping[str, Block]
    alone: bool = False
    silicon: Silicon | None = None

    @property
    def kind(self) -> str:
        """HWC, Cluster or Pipeline: what ``blocks`` are of."""
        kinds = {HwcParameters: "HWC", ClusterParameters: "Cluster", PipelineParameters: "Pipeline"}
        return kinds[type(self.parameters)]

    @property
    def area(self) -> Area:
        """Cells of all of it on an ECP5; none with ``silicon``."""
        if self.whole is not None:
            return self.whole.total
        return sum((block.area for block in self.blocks.values()), Area())

    @property
    def clock_mhz(self) -> float | None:
        """The clock that it reaches, from register to register; None where nothing was placed.

        With ``silicon`` that of its logic in cells of the library, without wires.
        """
        if self.silicon is not None:
            return self.silicon.clock_mhz
        return None if self.whole is None else self.whole.clock_mhz

    @property
    def estimated(self) -> EstimatedArea | None:
        """What it was estimated to take on an ECP5, without synthesis; None of pipelines, and with ``silicon``."""
        if self.silicon is not None or isinstance(self.parameters, PipelineParameters):
            return None
        if isinstance(self.parameters, ClusterParameters):
            return estimated_cluster(self.parameters)
        return estimated_hwc(self.parameters)

    @property
    def gates(self) -> int:
        """NAND gates of two inputs of its logic, for no technology; 0 with ``silicon``, which has cells."""
        if self.whole is not None:
            return self.whole.gates.nand2
        return sum(block.gates.nand2 for block in self.blocks.values())

    def to_dict(self) -> dict[str, Any]:
        """An entry of the document."""
        if self.silicon is not None:
            return {"of": list(self.names), **self.silicon.document(), "tools": dict(self.silicon.tools)}
        if self.whole is None:
            blocks = {name: {**asdict(one.area), "gates": asdict(one.gates)} for name, one in self.blocks.items()}
            return {"of": list(self.names), "blocks": blocks, **self._estimates()}
        if isinstance(self.parameters, PipelineParameters):
            return {"stacks": list(self.names), **self.whole.as_data()}
        assert isinstance(self.parameters, HwcParameters)
        named = {"layers": [], "of": list(self.names)} if self.alone else {"layers": list(self.names)}
        return {**named, "loops": list(self.parameters.loops), **self.whole.as_data(), **self._estimates()}

    def _estimates(self) -> dict[str, Any]:
        """Estimates, as the document has them; nothing where there are none."""
        return {} if self.estimated is None else {"estimated": self.estimated.to_dict()}


@dataclass(frozen=True, repr=False, eq=False)
class Synthesised(Answer):
    """Area and clock of hardware: of each design in `designs`, of the first layer's in the attributes.

    Members
    -------
    designs : each once, with what runs on it.
    works : the schedules; empty where none were given.
    """

    designs: tuple[Design, ...]
    works: tuple[Work, ...] = ()

    @property
    def design(self) -> Design:
        """The only design. Raises `InputError` if there are several."""
        if len(self.designs) > 1:
            named = "; ".join(few(one.names) for one in self.designs)
            raise InputError(f"design: expected one, got {len(self.designs)}: found['LAYER'] has that of {named}")
        return self.designs[0]

    @property
    def area(self) -> Area:
        """Cells of the only design: ``lut4_equivalents``, ``ffs``, ``dsps``, ``block_rams``."""
        return self.design.area

    @property
    def clock_mhz(self) -> float | None:
        """The clock of the only design; None with ``blocks``, where nothing is placed."""
        return self.design.clock_mhz

    @property
    def blocks(self) -> Mapping[str, Block]:
        """Area and gates of the only design by block; empty without ``blocks``."""
        return self.design.blocks

    @property
    def area_um2(self) -> float | None:
        """Area of the only design in the cells of the library; None on an ECP5."""
        return None if self.design.silicon is None else self.design.silicon.area_um2

    def __getitem__(self, name: str) -> Design:
        found = next((one for one in self.designs if name in one.names), None)
        if found is None:
            known = ", ".join(name for one in self.designs for name in one.names)
            raise InputError(f"{name}: expected one of {known}")
        return found

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen synth --json`` prints."""
        documents = [one.to_dict() for one in self.designs]
        together = _together([one.silicon for one in self.designs if one.silicon is not None], self.designs)
        return {"hardware": documents, **together, **left_out(self.works)}

    def rows(self) -> list[dict[str, object]]:
        """One row a design, with ``blocks`` one a block: cells of an ECP5, gates, clock."""
        found: list[dict[str, object]] = []
        for one in self.designs:
            named = {"hardware": f"{one.kind} of {few(one.names)}"}
            if one.silicon is not None:
                found += [
                    {**named, "block": name or "(top)", "area_um2": block.um2, "cells": block.cells,
                     "flip_flops": block.flip_flops, "leakage_mw": block.leakage_mw}
                    for name, block in one.silicon.blocks.items()
                ]  # fmt: skip
                continue
            if one.whole is None:
                found += [
                    {**named, "block": name or "(top)", **_cells(block.area), "gates": block.gates.nand2,
                     "memory_bits": block.gates.memory_bits}
                    for name, block in one.blocks.items()
                ]  # fmt: skip
                continue
            gates = one.whole.gates
            found.append({**named, **_cells(one.area), "gates": gates.nand2, "memory_bits": gates.memory_bits,
                          "clock_mhz": one.clock_mhz})  # fmt: skip
        return found

    def summary(self) -> str:
        """The sums, and the slowest clock."""
        clocks = [one.clock_mhz for one in self.designs if one.clock_mhz is not None]
        clock = f", {min(clocks):.1f} MHz" if clocks else ", nothing placed"
        area = sum((one.area for one in self.designs), Area())
        number = "1 design" if len(self.designs) == 1 else f"{len(self.designs)} designs"
        made = [one.silicon for one in self.designs if one.silicon is not None]
        if made:
            um2, corner = sum(one.area_um2 for one in made), made[0].corner
            clock = f", {min(clocks):.0f} MHz without wires" if clocks else ", no clock"
            return f"Synthesis of {number}: {um2 / 1e6:.3f} mm2 of cells of {corner}{clock}"
        return (
            f"Synthesis of {number}: {area.lut4_equivalents:,} LUT4, {area.dsps} DSPs, "
            f"{area.block_rams} block RAMs{clock}"
        )

    def plot(self) -> Figure:
        """LUT4-equivalents, or um2, of each design: of logic and buffers, with ``blocks`` of each block."""
        from hwgen.report.charts import layer_bars  # its libraries take a second

        bars = []
        for one in self.designs:
            if one.silicon is not None:
                mapped = {name or "(top)": round(block.um2) for name, block in one.silicon.blocks.items()}
                bars.append((few(one.names), mapped))
                continue
            if one.whole is None:
                parts = {name or "(top)": block.area for name, block in one.blocks.items()}
            else:
                buffers = {f"buffer {operand}": area for operand, area in sorted(one.whole.buffers.items())}
                parts = {"logic": one.whole.logic, **buffers}
            bars.append((few(one.names), {name: area.lut4_equivalents for name, area in parts.items()}))
        unit = "um2 of cells" if any(one.silicon for one in self.designs) else "LUT4-equivalents"
        return Figure.of(layer_bars(bars, unit))


def _together(made: Sequence[Silicon], designs: Sequence[Design]) -> dict[str, Any]:
    """What the document has of all designs in cells of a library together; nothing on an ECP5."""
    if not made:
        return {}
    each = [one.document() for one in made]
    several = len(each) > 1
    clocks = [one["clock_mhz"] for one in each]
    return {
        "area_um2": round(sum(one["area_um2"] for one in each), 3),
        "blocks": [
            {**block, "of": list(design.names)} if several else block
            for design, one in zip(designs, each, strict=True)
            for block in one["blocks"]
        ],
        "clock_mhz": None if None in clocks else min(clocks),
        "corner": made[0].corner,
        "power": {"leakage_mw": round(sum(one["power"]["leakage_mw"] for one in each), 6), "energy_per_mac_pj": None},
        "memories": [use for one in each for use in one["memories"]],
        "left_out": list(dict.fromkeys(line for one in each for line in one["left_out"])),
    }


def _cells(area: Area) -> dict[str, object]:
    return {"lut4_equivalents": area.lut4_equivalents, **asdict(area)}


def few(names: Sequence[str]) -> str:
    """Some names, and how many there are more."""
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, kw_only=True)
class SynthRequest:
    """What is to be synthesised, and how; see `synth`. ``arrived`` : hears of areas before all is known.

    ``liberty`` : files of a standard-cell library, in place of an ECP5.
    """

    workload: Workload | HardwareLike | None = None
    hardware: HardwareLike | None = None
    buffer: Sizes | None = None
    per_layer: bool = False
    objective: SetObjective | None = None
    slack: float | None = None
    partial: bool = False
    fitted: bool = False
    device: Device = DEVICE
    macs: int | None = None
    blocks: bool = False
    liberty: Liberty | None = None
    arrived: Arrived = lambda whose, part, found: None

    @call
    def answer(self) -> Synthesised:
        """Synthesise each design once; raises `ToolError` where a tool is missing or fails."""
        of_schedules = {"--buffer": self.buffer, "--per-layer": self.per_layer, "--partial": self.partial,
                        "--fitted": self.fitted, "--objective": self.objective,
                        "--traffic-slack": self.slack}  # fmt: skip
        if self.liberty is not None and self.blocks:
            raise InputError("--blocks: expected without --liberty, which always has the blocks")
        cells = None if self.liberty is None else cells_of_files(self.liberty)
        if cells is not None and self.device != DEVICE:
            raise InputError("--clock, --seed: expected without --liberty: nothing is placed")
        given = self._hardware_alone()
        if given is not None:
            refuse(
                {**of_schedules, "--macs": self.macs}, "expected with schedules or a layer set, got hardware alone"
            )
            return Synthesised(self._designs({self._of_hardware(given): [given.name]}, cells, alone=True))
        if self.workload is None or self.workload == []:
            raise InputError("SCHEDULE: expected schedules, a layer set, or hardware")
        solution = solution_among(self.workload, self.macs, {"--hardware": self.hardware, **of_schedules})
        if solution is not None:
            return Synthesised(self._designs(_grouped(stack_parameters(solution, self.macs)), cells))
        works = work_of(
            self.workload, buffer=None if self.buffer is None else sizes_text(self.buffer), hardware=self.hardware,
            per_layer=self.per_layer, objective=self.objective, slack=self.slack, alone=True, partial=self.partial,
        )  # fmt: skip
        tell_shapes(self.workload, works, given=self.hardware is not None)
        if self.fitted:
            works = fitted_works(works)
        return Synthesised(self._designs(_grouped(self._of_works(works)), cells), tuple(works))

    @property
    def _all_of_clusters(self) -> bool:
        """Whether of a cluster all is synthesised, else one of its HWCs, which is placed."""
        return self.blocks or self.liberty is not None

    def _hardware_alone(self) -> Hardware | None:
        """The hardware where no schedules or layers are given."""
        one = self.workload
        if isinstance(one, list | tuple) and len(one) == 1:
            one = one[0]
        if one is None or one == []:
            return None if self.hardware is None else read_one(self.hardware)
        if not is_hardware(one):
            return None
        if self.hardware is not None:
            raise InputError("--hardware: expected with schedules or a layer set, got hardware twice")
        return read_one(one)  # type: ignore[arg-type]

    def _of_hardware(self, given: Hardware) -> Parameters:
        """What hardware alone is generated for, with what its file leaves free as it is assumed."""
        hwc = hwc_of(given)
        free = [name for name in ("lanes", "buffers", "order") if getattr(given, name) is None]
        if free:
            sizes = f"{hwc.input_bytes}, {hwc.weight_bytes} and {hwc.output_bytes} bytes for I, W and O"
            assumed = {"lanes": str(hwc.lanes), "buffers": sizes, "order": " ".join(hwc.loops)}
            remark(f"{given.titled}: assumed, as it leaves them to schedules: "
                   + "; ".join(f"{name}: {assumed[name]}" for name in free))  # fmt: skip
        return cluster_of(given, hwc) if self._all_of_clusters and given.cluster is not None else hwc

    def _of_works(self, works: Sequence[Work]) -> Iterable[tuple[str, Parameters]]:
        """The name of each layer, and what it runs on: of a cluster one of its HWCs, or all of it."""
        for work in works:
            for schedule in work.schedules:
                if not work.on_cluster:
                    yield schedule.layer.name, compile_layer(schedule, work.hardware).parameters
                    continue
                compiled = compile_cluster(schedule, work.hardware)
                yield schedule.layer.name, compiled.hardware if self._all_of_clusters else compiled.parameters

    def _designs(
        self, wanted: Mapping[Parameters, list[str]], cells: Cells | None, *, alone: bool = False
    ) -> tuple[Design, ...]:
        with steps(len(wanted), "synthesising") as step:
            found = []
            for parameters, names in wanted.items():
                found.append(self._design(parameters, tuple(names), cells, alone=alone))
                step()
        return tuple(found)

    def _design(self, parameters: Parameters, names: tuple[str, ...], cells: Cells | None, *, alone: bool) -> Design:
        whose = few(names)

        def tell(stage: str) -> None:
            note(f"synthesis of the hardware of {whose}: {stage}")

        def arrived(part: str, found: dict[str, Area]) -> None:
            self.arrived(whose, part, found)

        if cells is not None:
            return Design(names, parameters, None, {}, alone, silicon(parameters, cells, tell=tell))
        if not self.blocks:
            if isinstance(parameters, PipelineParameters):
                whole = synthesise_pipeline(parameters, self.device, tell=tell)
            else:
                assert isinstance(parameters, HwcParameters)
                whole = synthesise_hwc(parameters, self.device, tell=tell)
            return Design(names, parameters, whole, {}, alone)
        if isinstance(parameters, HwcParameters):
            blocks = hwc_blocks(parameters, tell=tell, arrived=arrived)
        elif isinstance(parameters, ClusterParameters):
            blocks = cluster_blocks(parameters, tell=tell, arrived=arrived)
        else:
            blocks = pipeline_blocks(parameters, tell=tell, arrived=arrived)
        return Design(names, parameters, None, blocks, alone)


def _grouped(named: Iterable[tuple[str, Parameters]]) -> dict[Parameters, list[str]]:
    """Each design once, with the names of what runs on it."""
    found: dict[Parameters, list[str]] = {}
    for name, parameters in named:
        found.setdefault(parameters, []).append(name)
    return found


def cells_of_files(liberty: Liberty) -> Cells:
    """The library in a Liberty file, or in several; raises `InputError`."""
    files = [liberty] if isinstance(liberty, str | PathLike) else list(liberty)
    return read_cells([Path(file) for file in files])


def is_hardware(source: object) -> bool:
    """Whether it is hardware: read, its keys, a hardware file, or a built-in name that no layer set has."""
    match source:
        case Hardware():
            return True
        case Mapping():
            return bool(source.get("kind", "hardware") == "hardware")
        case str() | PathLike():
            path = Path(source)
            if path.is_file() and path.suffix in (".yaml", ".yml"):
                data = load_yaml(path)
                return isinstance(data, dict) and data.get("kind") == "hardware"
            name = str(source)
            return name in builtin_names("hardware") and name not in builtin_names("layersets")
    return False


def synth(
    workload: Workload | HardwareLike,
    hardware: HardwareLike | None = None,
    *,
    buffer: Sizes | None = None,
    per_layer: bool = False,
    objective: SetObjective | None = None,
    slack: float | None = None,
    partial: bool = False,
    fitted: bool = False,
    blocks: bool = False,
    clock: float = Device.wanted_mhz,
    seed: int = Device.seed,
    liberty: Liberty | None = None,
) -> Synthesised:
    """Synthesise hardware for a Lattice ECP5, with Yosys and nextpnr, in minutes: area, clock, critical path.

    With ``liberty`` by Yosys for the cells of a library: area by block, memories, leakage, the clock of the logic.

    Parameters
    ----------
    workload : a plan, nests, files of schedules; a network, which is scheduled first (``buffer``, ``per_layer``,
        ``objective``, ``slack``, ``partial``: as in `hwgen.cosim`); or hardware alone.
    hardware : what the schedules run on; None: what the plan, or a file beside the schedules, says.
    fitted : coordinates as narrow as the layers allow.
    blocks : area by block, of a cluster all of it; nothing is placed. Else of a cluster one of its HWCs is placed.
    clock : the clock that is asked for, in MHz.
    seed : of the placement.
    liberty : a Liberty file of standard cells in place of the ECP5, or several: beside it those with macros of
        memories. Of a cluster all of it, ``blocks`` or not. What is not in the figures is in `Silicon.left_out`.
    """
    return SynthRequest(
        workload=workload, hardware=hardware, buffer=buffer, per_layer=per_layer, objective=objective, slack=slack,
        partial=partial, fitted=fitted, blocks=blocks, device=Device(wanted_mhz=clock, seed=seed),
        liberty=liberty,
    ).answer()  # fmt: skip
