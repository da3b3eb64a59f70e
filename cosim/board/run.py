"""Runs of a board's design: the host program loads, starts and compares, counters watch the port of the memory."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from cosim.board.port import BIT_CYCLES, SimulatedPort
from cosim.cluster.model import FAST_COMPILED, QUICK_COMPILED
from cosim.device.device import Device, dram_depth
from cosim.device.dram import COUNTERS, dram_unwanted
from cosim.simulator.library import SimulatedLibrary
from cosim.simulator.registry import loaded
from hwgen.arch.bus import ID_BITS, WORD_BYTES
from hwgen.arch.dram import Dram, DramPort
from hwgen.export.board import run as host
from hwgen.export.board.design import BoardParameters, board_verilog
from hwgen.export.board.files import FACTS, BoardProgram
from hwgen.ir.counts import Access
from hwgen.tools.toolchain import ToolError

__all__ = ["FAST_CYCLES", "STREAMS", "BoardRun", "line_cycles", "predicted_traffic", "simulate_board"]

STREAMS = ("load", "program", "store")
"""What moves at the port of the memory: maps, weights and sums that are read; the program; what is written."""
PLACES = {"load": 30, "program": 2, "store": 31}
"""Where `axi_watch` counts each: by region, and whether it is written."""
FAST_CYCLES = 1_000_000
"""Cycles from which on a build that is optimised takes less time than it costs."""
WATCHED = "harness.axi"


@dataclass(frozen=True)
class BoardRun:
    """One program on one image.

    Members
    -------
    different : bytes that are not the integer reference's, by output.
    predicted_cycles, cycles : from the start of the program to its end.
    predicted, measured : what moved at the port of the memory, by `STREAMS`.
    failures : what is wrong, a line each.
    """

    image: int
    program: str
    different: Mapping[str, int]
    predicted_cycles: int
    cycles: int
    predicted: Mapping[str, Access]
    measured: Mapping[str, Access]
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether outputs and traffic are those that were to be."""
        return not self.failures

    def as_data(self) -> dict[str, object]:
        """Plain data."""
        traffic = {
            what: {stream: _data(access) for stream, access in found.items()}
            for what, found in (("predicted", self.predicted), ("measured", self.measured))
        }
        return {
            "image": self.image,
            "program": self.program,
            "exact": not any(self.different.values()),
            "equal": dict(self.predicted) == dict(self.measured),
            "cycles": {"predicted": self.predicted_cycles, "measured": self.cycles},
            "dram": traffic,
        }


def predicted_traffic(program: BoardProgram) -> dict[str, Access]:
    """What a program moves at the port of the memory, as the model has it."""
    port = DramPort(program.program.hardware.axi_bits, Dram())
    whole = program.program.program
    sums = {stream: Access() for stream in STREAMS}
    for part in whole.predictions(port):
        for (_, _, direction), access in part.counts.at("dram").accesses.items():
            stream = "store" if direction in ("write", "write_partial") else "load"
            sums[stream] += access
    sums["program"] += whole.fetched(port)
    return {stream: _counted(access) for stream, access in sums.items()}


def _counted(access: Access) -> Access:
    """What of an access is counted at the port."""
    return Access(**{name: getattr(access, name) for name in COUNTERS})


def _data(access: Access) -> dict[str, int]:
    return {name: value for name, value in asdict(access).items() if name in COUNTERS}


def line_cycles(files: Mapping[str, str | bytes]) -> int:
    """Cycles that the serial line takes for all that a host sends and reads, about."""
    moved = sum(len(content) for name, content in files.items() if name.startswith("data/"))
    return 10 * BIT_CYCLES * moved


def simulate_board(
    folder: Path,
    parameters: BoardParameters,
    programs: Sequence[BoardProgram],
    *,
    fast: bool = False,
    verilog: str | None = None,
    progress: Callable[[], None] = lambda: None,
) -> list[BoardRun]:
    """Run what is in a folder: its programs on its images, in order; `ToolError` where the design does not answer.

    Parameters
    ----------
    folder : with ``board.json`` and what that names.
    programs : those that the folder has.
    fast : optimised for long runs; else built in less time.
    verilog : the text of the design, if it is another one than that of the parameters.
    progress : called after each program.
    """
    facts: dict[str, Any] = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    line = _load(parameters, fast=fast, verilog=verilog)
    line.power_up(1)
    line.set(rst=1, clear=1, bit_cycles=BIT_CYCLES)
    line.run(4)
    line.set(rst=0)
    line.run(64)
    words = np.zeros(parameters.memory_bytes // WORD_BYTES, np.uint32)
    for one in programs:
        at = one.program.address // WORD_BYTES
        words[at : at + len(one.program.words)] = one.program.words
    line.write(words)
    port = SimulatedPort(line)
    board = host.Board(port, facts)
    try:
        board.connect()
        host.load(board, folder, facts)
        return _runs(line, board, folder, facts, programs, progress)
    except host.BoardError as error:
        raise ToolError(f"the simulated design: {error}") from None


def _runs(
    line: SimulatedLibrary,
    board: host.Board,
    folder: Path,
    facts: dict[str, Any],
    programs: Sequence[BoardProgram],
    progress: Callable[[], None],
) -> list[BoardRun]:
    found = []
    steps = host.runs(board, folder, facts)
    for number in range(len(facts["images"]) * len(programs)):
        program = programs[number % len(programs)]
        first = program.program.address
        line.set(clear=1, program_first=first, program_end=first + WORD_BYTES * len(program.program.words))
        line.run(3)
        line.set(clear=0)
        line.run(3)
        found.append(_judged(program, next(steps), line))
        progress()
    return found


def _judged(program: BoardProgram, outcome: host.Outcome, line: SimulatedLibrary) -> BoardRun:
    counted = {name: line.counters(variable, WATCHED).tolist() for name, variable in COUNTERS.items()}
    measured = {
        stream: Access(**{name: int(values[place]) for name, values in counted.items()})
        for stream, place in PLACES.items()
    }
    predicted = predicted_traffic(program)
    elsewhere = {name: sum(values) - sum(values[at] for at in PLACES.values()) for name, values in counted.items()}
    where = f"image {outcome.image}, {program.name}"
    failures = [
        f"{where}: output {name}: {different} bytes differ from the integer reference"
        for name, different in outcome.different.items()
        if different
    ]
    failures += [
        f"{where}: {stream}: {name} at the memory: predicted {want}, measured {got}"
        for stream in STREAMS
        for name, want, got in zip(
            COUNTERS, _data(predicted[stream]).values(), _data(measured[stream]).values(), strict=True
        )
        if want != got
    ]
    if any(elsewhere.values()):
        failures.append(f"{where}: bursts of a kind that no program makes: {elsewhere}")
    unwanted = dram_unwanted(line)
    if unwanted.bursts or unwanted.beats:
        failures.append(f"{where}: {unwanted.bursts} bursts and {unwanted.beats} beats that no descriptor asks for")
    if line.get("wrong_stops"):
        failures.append(f"{where}: {line.get('wrong_stops')} bytes of the design without a stop bit")
    return BoardRun(
        outcome.image, program.name, outcome.different, program.cycles, outcome.cycles, predicted, measured,
        tuple(failures),
    )  # fmt: skip


@cache
def _load(parameters: BoardParameters, *, fast: bool, verilog: str | None) -> SimulatedLibrary:
    device = Device(
        designs={"board.v": verilog or board_verilog(parameters)},
        sources=("board/board.sv", "system/axi_watch.sv", "dram/descriptor_runs.sv"),
        public="board/board.vlt",
        sizes={
            "DataBits": parameters.cluster.axi_bits,
            "MasterIdBits": ID_BITS,
            "DramLog2": dram_depth(parameters.memory_bytes // WORD_BYTES),
        },
        loaded=True,
        rewritten=False,
        quick=QUICK_COMPILED,
        fast=FAST_COMPILED,
    )
    return loaded(device, fast=fast)
