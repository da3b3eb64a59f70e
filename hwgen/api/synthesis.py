"""Area and clock of hardware on an ECP5: of what schedules run on, of hardware itself, of the pipelines of stacks."""

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
from hwgen.synthesis.blocks import Block, cluster_blocks, hwc_blocks, pipeline_blocks
from hwgen.synthesis.cells import Area
from hwgen.synthesis.ecp5 import Device, Synthesis, synthesise_hwc, synthesise_pipeline
from hwgen.synthesis.tool_run import DEVICE

__all__ = ["Arrived", "Design", "Device", "SynthRequest", "Synthesised", "few", "synth"]

Parameters = HwcParameters | ClusterParameters | PipelineParameters
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
    blocks : area by block, of a cluster all of it; empty where the whole was placed.
    alone : whether it is hardware that was given alone.
    """

    names: tuple[str, ...]
    parameters: Parameters
    whole: Synthesis | None
    blocks: Mapping[str, Block]
    alone: bool = False

    @property
    def kind(self) -> str:
        """HWC, Cluster or Pipeline: what ``blocks`` are of."""
        kinds = {HwcParameters: "HWC", ClusterParameters: "Cluster", PipelineParameters: "Pipeline"}
        return kinds[type(self.parameters)]

    @property
    def area(self) -> Area:
        """Cells of all of it."""
        if self.whole is not None:
            return self.whole.total
        return sum((block.area for block in self.blocks.values()), Area())

    @property
    def clock_mhz(self) -> float | None:
        """The clock that it reaches, from register to register; None where nothing was placed."""
        return None if self.whole is None else self.whole.clock_mhz

    @property
    def gates(self) -> int:
        """NAND gates of two inputs of its logic, for no technology."""
        if self.whole is not None:
            return self.whole.gates.nand2
        return sum(block.gates.nand2 for block in self.blocks.values())

    def to_dict(self) -> dict[str, Any]:
        """An entry of the document."""
        if self.whole is None:
            blocks = {name: {**asdict(one.area), "gates": asdict(one.gates)} for name, one in self.blocks.items()}
            return {"of": list(self.names), "blocks": blocks}
        if isinstance(self.parameters, PipelineParameters):
            return {"stacks": list(self.names), **self.whole.as_data()}
        assert isinstance(self.parameters, HwcParameters)
        named = {"layers": [], "of": list(self.names)} if self.alone else {"layers": list(self.names)}
        return {**named, "loops": list(self.parameters.loops), **self.whole.as_data()}


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

    def __getitem__(self, name: str) -> Design:
        found = next((one for one in self.designs if name in one.names), None)
        if found is None:
            known = ", ".join(name for one in self.designs for name in one.names)
            raise InputError(f"{name}: expected one of {known}")
        return found

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen synth --json`` prints."""
        return {"hardware": [one.to_dict() for one in self.designs], **left_out(self.works)}

    def rows(self) -> list[dict[str, object]]:
        """One row a design, with ``blocks`` one a block: cells of an ECP5, gates, clock."""
        found: list[dict[str, object]] = []
        for one in self.designs:
            named = {"hardware": f"{one.kind} of {few(one.names)}"}
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
        return (
            f"Synthesis of {number}: {area.lut4_equivalents:,} LUT4, {area.dsps} DSPs, "
            f"{area.block_rams} block RAMs{clock}"
        )

    def plot(self) -> Figure:
        """LUT4-equivalents of each design: of logic and buffers, with ``blocks`` of each block."""
        from hwgen.report.charts import layer_bars  # its libraries take a second

        bars = []
        for one in self.designs:
            if one.whole is None:
                parts = {name or "(top)": block.area for name, block in one.blocks.items()}
            else:
                buffers = {f"buffer {operand}": area for operand, area in sorted(one.whole.buffers.items())}
                parts = {"logic": one.whole.logic, **buffers}
            bars.append((few(one.names), {name: area.lut4_equivalents for name, area in parts.items()}))
        return Figure.of(layer_bars(bars, "LUT4-equivalents"))


def _cells(area: Area) -> dict[str, object]:
    return {"lut4_equivalents": area.lut4_equivalents, **asdict(area)}


def few(names: Sequence[str]) -> str:
    """Some names, and how many there are more."""
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, kw_only=True)
class SynthRequest:
    """What is to be synthesised, and how; see `synth`. ``arrived`` : hears of areas before all is known."""

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
    arrived: Arrived = lambda whose, part, found: None

    @call
    def answer(self) -> Synthesised:
        """Synthesise each design once; raises `ToolError` where a tool is missing or fails."""
        of_schedules = {"--buffer": self.buffer, "--per-layer": self.per_layer, "--partial": self.partial,
                        "--fitted": self.fitted, "--objective": self.objective,
                        "--traffic-slack": self.slack}  # fmt: skip
        given = self._hardware_alone()
        if given is not None:
            refuse(
                {**of_schedules, "--macs": self.macs}, "expected with schedules or a layer set, got hardware alone"
            )
            return Synthesised(self._designs({self._of_hardware(given): [given.name]}, alone=True))
        if self.workload is None or self.workload == []:
            raise InputError("SCHEDULE: expected schedules, a layer set, or hardware")
        solution = solution_among(self.workload, self.macs, {"--hardware": self.hardware, **of_schedules})
        if solution is not None:
            return Synthesised(self._designs(_grouped(stack_parameters(solution, self.macs))))
        works = work_of(
            self.workload, buffer=None if self.buffer is None else sizes_text(self.buffer), hardware=self.hardware,
            per_layer=self.per_layer, objective=self.objective, slack=self.slack, alone=True, partial=self.partial,
        )  # fmt: skip
        tell_shapes(self.workload, works, given=self.hardware is not None)
        if self.fitted:
            works = fitted_works(works)
        return Synthesised(self._designs(_grouped(self._of_works(works))), tuple(works))

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
        return cluster_of(given, hwc) if self.blocks and given.cluster is not None else hwc

    def _of_works(self, works: Sequence[Work]) -> Iterable[tuple[str, Parameters]]:
        """The name of each layer, and what it runs on: of a cluster one of its HWCs, with ``blocks`` all of it."""
        for work in works:
            for schedule in work.schedules:
                if not work.on_cluster:
                    yield schedule.layer.name, compile_layer(schedule, work.hardware).parameters
                    continue
                compiled = compile_cluster(schedule, work.hardware)
                yield schedule.layer.name, compiled.hardware if self.blocks else compiled.parameters

    def _designs(self, wanted: Mapping[Parameters, list[str]], *, alone: bool = False) -> tuple[Design, ...]:
        with steps(len(wanted), "synthesising") as step:
            found = []
            for parameters, names in wanted.items():
                found.append(self._design(parameters, tuple(names), alone=alone))
                step()
        return tuple(found)

    def _design(self, parameters: Parameters, names: tuple[str, ...], *, alone: bool) -> Design:
        whose = few(names)

        def tell(stage: str) -> None:
            note(f"synthesis of the hardware of {whose}: {stage}")

        def arrived(part: str, found: dict[str, Area]) -> None:
            self.arrived(whose, part, found)

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
) -> Synthesised:
    """Synthesise hardware for a Lattice ECP5, with Yosys and nextpnr, in minutes: area, clock, critical path.

    Parameters
    ----------
    workload : a plan, nests, files of schedules; a network, which is scheduled first (``buffer``, ``per_layer``,
        ``objective``, ``slack``, ``partial``: as in `hwgen.cosim`); or hardware alone.
    hardware : what the schedules run on; None: what the plan, or a file beside the schedules, says.
    fitted : coordinates as narrow as the layers allow.
    blocks : area by block, of a cluster all of it; nothing is placed. Else of a cluster one of its HWCs is placed.
    clock : the clock that is asked for, in MHz.
    seed : of the placement.
    """
    return SynthRequest(
        workload=workload, hardware=hardware, buffer=buffer, per_layer=per_layer, objective=objective, slack=slack,
        partial=partial, fitted=fitted, blocks=blocks, device=Device(wanted_mhz=clock, seed=seed),
    ).answer()  # fmt: skip
