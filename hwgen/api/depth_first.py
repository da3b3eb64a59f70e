"""Depth-first solutions: which of a call's arguments is one, its pipelines, what is predicted of them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from hwgen.api.arguments import is_given
from hwgen.api.machines import HardwareLike, called, hardware
from hwgen.api.networks import NetworkLike, load
from hwgen.api.results import Answer
from hwgen.arch.dram import DramPort
from hwgen.arch.pipeline import MoverParameters, PipelineParameters
from hwgen.golden.network import RowData
from hwgen.golden.phases import in_phases
from hwgen.ir.document import InputError
from hwgen.ir.excerpt import at_resolution
from hwgen.ir.layer_set import Network
from hwgen.lower.pipeline.cycles import predict_on_dram, predict_run
from hwgen.lower.pipeline.images import layout_of
from hwgen.lower.pipeline.lowering import MACS, lower_stack
from hwgen.lower.pipeline.program import KINDS, PipelineProgram
from hwgen.lower.pipeline.solution import Solution, is_solution, read_solution
from hwgen.lower.pipeline.tiles import plan_stack
from hwgen.model.pipeline.cost import stack_cost

__all__ = [
    "LARGEST_MEMORY",
    "MACS",
    "MOST_MACS",
    "StackPrediction",
    "connected_network",
    "dram_port",
    "memory_size",
    "predict_stacks",
    "predictions_of",
    "solution_among",
    "solution_file",
    "stack_parameters",
]

LARGEST_MEMORY = 1 << 40
LARGEST = 1 << 14
"""Pixels of a side of the input, at most."""
MOST_MACS = 1 << 16
"""Multipliers of a pipeline, at most."""
FRONT_FILE = "front.yaml"
"""What ``depth-first`` writes without --memory."""


def memory_size(text: str) -> int:
    """Bytes, of a size such as 256KiB; raises `InputError`."""
    match = re.fullmatch(r"([0-9]{1,12})\s*(KiB|MiB|GiB|B|)", text)
    size = int(match[1]) << {"": 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30}[match[2]] if match else 0
    if not 1 <= size <= LARGEST_MEMORY:
        raise InputError(
            f"--memory: expected a size such as 256KiB or 2MiB, from 1 byte to 1024GiB, got {text[:40]!r}"
        )
    return size


def dram_port(source: HardwareLike | None) -> DramPort | None:
    """The DRAM and the AXI port of a cluster, as `hwgen.hardware` takes one; None without one."""
    if source is None:
        return None
    cluster = hardware(source).cluster
    if cluster is None:
        raise InputError(f"--dram: expected the hardware of a cluster, got {called(source)}")
    return DramPort.of(cluster)


def solution_file(
    names: Iterable[object], macs: int | None, unfit: Mapping[str, object], *, dram: str | None = None
) -> Path | None:
    """The depth-first solution among a command's arguments, as a file or the folder that it is in; None without one.

    ``unfit``: options that do not apply to a solution, by name. Raises `InputError` if one of them is given.
    """
    given = list(names)
    path = Path(given[0]) if len(given) == 1 and isinstance(given[0], str | PathLike) else None
    if path is not None and path.is_dir():
        path = _solution_in(path)
    if path is None or not is_solution(path):
        if macs is not None:
            raise InputError("--macs: expected with a depth-first solution")
        if dram is not None:
            raise InputError("--dram: expected with a depth-first solution")
        return None
    for option, value in unfit.items():
        if is_given(value):
            raise InputError(f"{option}: not for a depth-first solution, got {path}")
    return path


def _solution_in(folder: Path) -> Path | None:
    """The solution in a folder that ``depth-first`` wrote; None if there is none."""
    files = sorted(folder.glob("*.yaml"))
    found = [path for path in files if is_solution(path)]
    if len(found) > 1:
        raise InputError(f"{folder}: expected one depth-first solution, got {', '.join(path.name for path in found)}")
    if not found and [path.name for path in files] == [FRONT_FILE]:
        raise InputError(
            f"{folder / FRONT_FILE}: a front of many solutions; for one of them: "
            "hwgen depth-first NET --memory SIZE -o DIR"
        )
    return found[0] if found else None


def stack_parameters(path: Path, macs: int | None) -> list[tuple[str, PipelineParameters]]:
    """Name of each stack of a solution, and what its pipeline is generated for."""
    solution = read_solution(path)
    return [
        (solution.name(stack), lower_stack(plan_stack(solution, stack), None, macs=macs or MACS).parameters)
        for stack in solution.stacks
    ]


@dataclass(frozen=True, repr=False)
class StackPrediction(Answer):
    """What every stack of a solution moves, holds and takes: memory, traffic by kind, cycles."""

    file: Path
    network: str
    stacks: tuple[dict[str, Any], ...]

    @property
    def bytes(self) -> int:
        """Bytes to and from the DRAM."""
        return sum(entry["total_bytes"] for entry in self.stacks)

    @property
    def cycles(self) -> int:
        """Cycles of all stacks, one after the other."""
        return sum(entry["cycles"] for entry in self.stacks)

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen predict --json`` prints."""
        return {"file": str(self.file), "stacks": list(self.stacks), "total_bytes": self.bytes, "cycles": self.cycles}

    def rows(self) -> list[dict[str, object]]:
        """One row a stack."""
        return [
            {
                "stack": one["stack"],
                "tiles": one["factor"],
                **one["memory"],
                **one["traffic"],
                "bytes": one["total_bytes"],
                "cycles": one["cycles"],
            }
            for one in self.stacks
        ]

    def summary(self) -> str:
        """The sums."""
        return f"{len(self.stacks)} stacks of {self.network}: {self.bytes:,} bytes, {self.cycles:,} cycles"


def predict_stacks(path: Path, *, macs: int | None, dram: str | None = None) -> StackPrediction:
    """What every stack of a solution costs.

    ``dram``: the hardware whose DRAM the pipelines are on; None: their streams never stall.
    """
    solution = read_solution(path)
    return StackPrediction(path, solution.network.network, predictions_of(solution, macs=macs, port=dram_port(dram)))


def predictions_of(
    solution: Solution, *, macs: int | None, port: DramPort | None, rows: Mapping[str, RowData] | None = None
) -> tuple[dict[str, Any], ...]:
    """What every stack of a solution costs, as plain data. ``rows``: the data of its rows; None: it has none."""
    movers = None if port is None else MoverParameters(port.axi_bits)
    entries: list[dict[str, Any]] = []
    for stack in solution.stacks:
        program = lower_stack(plan_stack(solution, stack), rows, macs=macs or MACS, movers=movers)
        cost, traffic = stack_cost(solution.graph, stack), solution.traffic(stack)
        weights = cost.weights if solution.weights == "resident" else 0
        entries.append({
            "stack": solution.name(stack),
            "factor": stack.factor,
            "memory": {"rings": cost.ring_elements, "in_flight": cost.in_flight, "weights": weights},
            "traffic": {kind: getattr(traffic, kind) for kind in (*KINDS, "weights")},
            "total_bytes": traffic.total,
            "cycles": _cycles(program, port),
        })  # fmt: skip
    return tuple(entries)


def _cycles(program: PipelineProgram, port: DramPort | None) -> int:
    if port is None:
        return predict_run(program)
    return predict_on_dram(program, layout_of(program), port.dram)


def solution_among(
    sources: object, macs: int | None, unfit: Mapping[str, object], *, dram: str | None = None
) -> Path | None:
    """The same as `solution_file`, of schedules as calls take them."""
    if isinstance(sources, str | PathLike):
        names: list[object] = [fspath(sources)]
    else:
        names = list(sources) if isinstance(sources, list | tuple) else [sources]
    return solution_file(names, macs, unfit, dram=dram)


def connected_network(source: NetworkLike, resolution: str | None, *, phases: bool) -> Network:
    """The rows of a network, as `hwgen.load` takes one.

    ``resolution``: at another size of its input; ``phases``: with transposed convolutions replaced.
    """
    size = None if resolution is None else _resolution(resolution)
    network = load(source).table
    if size is not None:
        network = at_resolution(network, *size)
    return in_phases(network) if phases else network


def _resolution(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"([0-9]{1,6})x([0-9]{1,6})", text)
    sides = (int(match[1]), int(match[2])) if match else (0, 0)
    if not all(1 <= side <= LARGEST for side in sides):
        raise InputError(
            f"--resolution: expected a size such as 1280x720, at most {LARGEST} a side, got {text[:40]!r}"
        )
    return sides
