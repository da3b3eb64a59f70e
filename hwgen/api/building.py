"""A quantised network as a whole design for an FPGA board: bitstream, host program, and both simulated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.board.run import FAST_CYCLES, BoardRun, line_cycles, simulate_board
from cosim.network.on_cluster import as_layer, stored_operand, stored_places, zero_in
from hwgen.api.arguments import claim_folder
from hwgen.api.arrays import GivenInputs, Inputs
from hwgen.api.machines import HardwareLike, hardware
from hwgen.api.progress import note, remark, steps
from hwgen.api.results import Answer
from hwgen.api.session import call
from hwgen.arch.boards import BOARDS, Board, Fpga, Pins, pll_of
from hwgen.arch.layout import Region
from hwgen.arch.parameter_error import ParameterError
from hwgen.export.board.design import BoardParameters, board_verilog
from hwgen.export.board.files import HOST, BoardMap, BoardProgram, host_files
from hwgen.export.board.top import BoardClock, constraints, top_verilog
from hwgen.export.manifest import write_generated
from hwgen.export.network_program import program_names
from hwgen.golden.quantised.execution import Arrays, checked_inputs, execute, images
from hwgen.ir.document import InputError, is_model, nearest
from hwgen.ir.hardware import Hardware
from hwgen.ir.names import plain_name
from hwgen.ir.network.graph import Graph
from hwgen.lower.network.cluster_plan import ClusterPlan, Stretch, plan_cluster
from hwgen.lower.network.layers import nothing_runs, weighted
from hwgen.lower.network.order import turns
from hwgen.lower.network.placement import DEFAULT_CLUSTER
from hwgen.lower.system.networks import NetworkSystem
from hwgen.model.area.estimate import estimated_area, estimated_cluster
from hwgen.readers.integers.reader import read_quantised
from hwgen.readers.onnx.reader import is_quantised
from hwgen.synthesis.bitstream import Bitstream, make_bitstream

__all__ = ["DEFAULT_BOARD", "WORKING_BOARDS", "BuildRequest", "Built", "Use", "build"]

WORKING_BOARDS = tuple(name for name, board in BOARDS.items() if board.pins is not None)
DEFAULT_BOARD = "ulx3s_85f"
CLUSTERS = (DEFAULT_CLUSTER, "cluster_16_vector")
"""Built-in clusters for networks, the largest first."""
BITSTREAM = "board.bit"
AROUND_LUTS = 2000
"""LUT4 of the serial link (600) and of the memory's port (1,150 to 1,600, by its size), about."""
CERTAIN = 1.25
"""How many times what the FPGA has an estimate of LUTs is that needs no synthesis to be believed."""


@dataclass(frozen=True)
class Use:
    """What a design takes of an FPGA; ``estimated``: nothing was synthesised.

    ``mhz`` : the estimated clock of its HWCs, also of what was synthesised.
    """

    luts: int
    block_rams: int
    dsps: int
    estimated: bool
    mhz: float | None = None

    def short(self, fpga: Fpga) -> list[str]:
        """What the FPGA has too little of, and by how much."""
        about = "about " if self.estimated else ""
        pairs = {
            "LUT4": (self.luts, fpga.luts),
            "block RAMs": (self.block_rams, fpga.brams),
            "multipliers": (self.dsps, fpga.dsps),
        }
        return [
            f"{about}{wanted:,} {what}, {wanted - there:,} more than its {there:,}"
            for what, (wanted, there) in pairs.items()
            if wanted > there
        ]


@dataclass(frozen=True, repr=False, eq=False)
class Built(Answer):
    """A design for a board.

    Members
    -------
    folder : where the files are.
    board : its name.
    bitstream : the file in the folder; None where there is none.
    fits : whether the FPGA has room for it, as far as that is known.
    limit : why there is no bitstream that can be used; None where nothing is in its way.
    use : cells.
    clock_mhz : the highest clock of the placed design; None where nothing was placed.
    wanted_mhz : the clock that it gets.
    memory_bytes, memory_rams : of the memory that stands as the DRAM.
    cycles : predicted, of all programs of one image.
    runs : what was simulated.
    """

    folder: Path
    network: str
    board: str
    hardware: str
    bitstream: str | None
    fits: bool
    limit: str | None
    use: Use
    clock_mhz: float | None
    wanted_mhz: float
    memory_bytes: int
    memory_rams: int
    cycles: int
    files: tuple[str, ...]
    runs: tuple[BoardRun, ...] = ()
    seconds: float | None = None

    @property
    def fast_enough(self) -> bool:
        """Whether it reaches the clock that it gets: placed, else by the estimate."""
        return _reaches(self.use, self.clock_mhz, self.wanted_mhz)

    @property
    def passed(self) -> bool:
        """Whether it fits, is as fast as it was to be, and all that was simulated is as it was to be."""
        return self.limit is None and all(one.passed for one in self.runs)

    @property
    def failures(self) -> tuple[str, ...]:
        """What a simulation found wrong, a line each."""
        return tuple(line for one in self.runs for line in one.failures)

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen build --json`` prints."""
        return {
            "bitstream": self.bitstream,
            "fits": self.fits,
            "luts": self.use.luts,
            "block_rams": self.use.block_rams,
            "clock_mhz": self.clock_mhz,
            "host": HOST,
            "dsps": self.use.dsps,
            "estimated": self.use.estimated,
            "estimated_mhz": self.use.mhz,
            "limit": self.limit,
            "network": self.network,
            "board": self.board,
            "hardware": self.hardware,
            "wanted_mhz": self.wanted_mhz,
            "memory": {"bytes": self.memory_bytes, "block_rams": self.memory_rams},
            "cycles": self.cycles,
            "files": list(self.files),
            "simulated": [one.as_data() for one in self.runs] or None,
        }

    def rows(self) -> list[dict[str, object]]:
        """One row a program and image that was simulated."""
        return [
            {
                "image": one.image,
                "program": one.program,
                "exact": not any(one.different.values()),
                "equal": dict(one.predicted) == dict(one.measured),
                "predicted_cycles": one.predicted_cycles,
                "cycles": one.cycles,
            }
            for one in self.runs
        ]

    def summary(self) -> str:
        """What there is, in one line."""
        about = "about " if self.use.estimated else ""
        area = f"{about}{self.use.luts:,} LUT4, {self.use.block_rams} block RAMs, {self.use.dsps} multipliers"
        clock = "" if self.clock_mhz is None else f", {self.clock_mhz:.1f} MHz"
        checks = f"; simulated: {'exact' if not self.failures else 'NOT EQUAL'}" if self.runs else ""
        return (
            f"{self.network} on {self.board}: {area}{clock}{checks}{'' if self.limit is None else f'; {self.limit}'}"
        )


@dataclass(frozen=True, eq=False)
class _Planned:
    """A network with everything that a board needs of it."""

    name: str
    graph: Graph
    system: NetworkSystem
    parameters: BoardParameters
    programs: tuple[BoardProgram, ...]
    images: int

    @property
    def plan(self) -> ClusterPlan:
        return self.system.plan


@dataclass(frozen=True, kw_only=True)
class BuildRequest:
    """What is to be built for what board; see `build`."""

    model: str | PathLike[str]
    output: Path
    board: str = DEFAULT_BOARD
    hardware: HardwareLike | None = None
    given: Inputs | None = None
    mean: str | None = None
    std: str | None = None
    seed: int | None = None
    mhz: float | None = None
    resident: bool = False
    simulate: bool = False

    @call
    def answer(self) -> Built:
        """Build it; with ``simulate`` it is simulated, and no bitstream made."""
        board, pins = _board(self.board)
        clock, model = _clock(board, self.mhz), _quantised(self.model)
        seed = 0 if self.given is None and self.seed is None else self.seed
        given = GivenInputs.of(self.given, seed, self.mean, self.std)
        machine, resident = self._machine(board.fpga)
        claim_folder(self.output)
        graph, tensors = _read(model, given)
        if self.hardware is None:
            remark(f"no hardware is given: the built-in {machine.name}, maps that fit staying in its TCDM")
        planned = _planned(model, graph, tensors, machine, resident=resident)
        use = _estimate(planned.parameters)
        facts = {"network": planned.name, "board": self.board, "clock_mhz": clock.mhz}
        weights = planned.plan.parameters.tobytes()
        files = {
            "board.v": board_verilog(planned.parameters),
            "top.v": top_verilog(pins, clock),
            "board.lpf": constraints(board, pins),
            **host_files(planned.parameters, planned.programs, weights, facts, count=planned.images, baud=clock.baud),
        }
        placed: Bitstream | None = None
        if not self.simulate and not _hopeless(use, board.fpga):
            placed = _placed(files, board, clock, self.output)
            area = placed.area
            use = Use(area.lut4_equivalents, area.block_rams, area.dsps, estimated=False, mhz=use.mhz)
        limit, fits = _limit(self.board, use, board.fpga, clock, placed)
        if placed is not None and placed.content is not None and limit is None:
            files |= {BITSTREAM: placed.content, "nextpnr.log": placed.log}
        stale = write_generated(self.output, (), files)
        if stale:
            note(f"{self.output}: removed {len(stale)} files of an earlier run, such as {stale[0]}")
        runs: Sequence[BoardRun] = ()
        if self.simulate:
            runs = _simulated(self.output, planned, files)
        return Built(
            self.output, planned.name, self.board, machine.name,
            BITSTREAM if BITSTREAM in files else None, fits, limit, use,
            None if placed is None else placed.clock_mhz, clock.mhz,
            planned.parameters.memory_bytes, planned.parameters.memory_rams,
            sum(one.cycles for one in planned.programs), tuple(sorted(files)), tuple(runs),
        )  # fmt: skip

    def _machine(self, fpga: Fpga) -> tuple[Hardware, bool]:
        """The cluster, without a DRAM of its own, and whether maps stay in its TCDM."""
        machine, resident = _default(fpga) if self.hardware is None else (hardware(self.hardware), self.resident)
        if machine.cluster is None or machine.requantisation != "scaled":
            raise InputError(
                f"{machine.titled}: expected a cluster with requantisation scaled, as hwgen run takes it"
            )
        return machine.model_copy(update={"cluster": machine.cluster.model_copy(update={"dram": None})}), resident


def build(
    model: str | PathLike[str],
    board: str = DEFAULT_BOARD,
    *,
    folder: str | PathLike[str],
    hardware: HardwareLike | None = None,
    inputs: Inputs | None = None,
    mean: str | None = None,
    std: str | None = None,
    seed: int | None = None,
    mhz: float | None = None,
    resident: bool = False,
    simulate: bool = False,
) -> Built:
    """Make the whole design of a quantised network for an FPGA board: bitstream, host program, expected outputs.

    Parameters
    ----------
    model : a file of ONNX or TFLite.
    board : its name; `WORKING_BOARDS` has those whose pins are known.
    folder : for the files. What an earlier call wrote there goes.
    hardware : the cluster; None: that of `hwgen.run`, or a smaller one where the FPGA has no room for that, maps that
        fit staying in its TCDM. The memory of the board stands as its DRAM.
    inputs, mean, std : pictures and arrays, as `hwgen.run` takes them; the host program gives them to the design and
        compares. None: one random image.
    seed : of random inputs.
    mhz : the clock, made by a PLL; the highest one up to it that the PLL can make. None: the board's oscillator.
    resident : maps that fit stay in the TCDM from node to node.
    simulate : run the design in Verilator with the host program at the other end of its serial line, instead of
        making a bitstream.
    """
    return BuildRequest(
        model=model, output=Path(folder), board=board, hardware=hardware, given=inputs, mean=mean, std=std, seed=seed,
        mhz=mhz, resident=resident, simulate=simulate,
    ).answer()  # fmt: skip


# --- what is asked for ---


def _board(name: str) -> tuple[Board, Pins]:
    board = BOARDS.get(name)
    works = ", ".join(WORKING_BOARDS)
    if board is None:
        raise InputError(f"--board: expected one of {works}, got {name[:40]}{nearest(name, WORKING_BOARDS)}")
    if board.pins is None:
        raise InputError(f"--board: the pins of {name} are not known here: expected one of {works}")
    return board, board.pins


def _clock(board: Board, mhz: float | None) -> BoardClock:
    if mhz is None or mhz == board.oscillator_mhz:
        return BoardClock(board.oscillator_mhz, None)
    try:
        return BoardClock(board.oscillator_mhz, pll_of(board.oscillator_mhz, mhz))
    except ParameterError as error:
        raise InputError(f"--mhz: {error}") from None


def _quantised(given: str | PathLike[str]) -> Path:
    model = Path(given)
    if not is_model(model):
        raise InputError(f"{model}: expected a quantised network, .onnx or .tflite")
    if model.is_file() and not is_quantised(model):
        raise InputError(f"{model}: expected a quantised network, as hwgen run takes it")
    return model


def _default(fpga: Fpga) -> tuple[Hardware, bool]:
    """The largest built-in cluster that the FPGA has room for, else the smallest; and that maps stay in its TCDM."""
    for name in CLUSTERS:
        machine = hardware(name)
        area = estimated_area(machine)
        if area.lut4 <= fpga.luts and area.dsps <= fpga.dsps and area.block_rams <= fpga.brams:
            break
    return machine, True


# --- the network ---


def _read(model: Path, given: GivenInputs) -> tuple[Graph, list[Arrays]]:
    """The network, and every tensor of each image, as the integer reference has them."""
    note(f"reading {model}")
    graph = read_quantised(model)
    if graph.together:
        note(f"the first axis is no batch of images: {graph.together}")
    arrays, where = given.of_network(graph), given.where(model)
    count = checked_inputs(graph, arrays, where)
    return graph, [execute(graph, image) for image in images(graph, arrays, count)]


def _planned(model: Path, graph: Graph, tensors: Sequence[Arrays], machine: Hardware, *, resident: bool) -> _Planned:
    with steps(len(weighted(graph)), "scheduling") as step:
        plan = plan_cluster(graph, machine, step, resident=resident)
    if not plan.stretches:
        raise InputError(f"{model}: {nothing_runs(graph, machine.name, plan.refused)}")
    system, name = NetworkSystem(plan, 1), plain_name(model.stem) or "network"
    programs = []
    for number, own in enumerate(program_names(name, len(plan.stretches))):
        (_, times), = system.part_times(number)  # fmt: skip
        maps = _maps(graph, plan, plan.stretches[number], tensors)
        programs.append(BoardProgram(own, system.program(number, 0), *maps, round(times.total)))
    if len(programs) > 1:
        remark(f"{name}: {len(programs)} programs: what software does between them is done now, for these images")
    parameters = BoardParameters.of(plan.stretches[0].program.hardware, system.size)
    return _Planned(name, graph, system, parameters, tuple(programs), len(tensors))


def _maps(
    graph: Graph, plan: ClusterPlan, stretch: Stretch, tensors: Sequence[Arrays]
) -> tuple[tuple[BoardMap, ...], tuple[BoardMap, ...]]:
    """What the host stores before a program, and what it reads after it."""
    given: dict[str, BoardMap] = {}
    for layer in stretch.layers:
        for source, name in zip(layer.sources, layer.node.inputs, strict=True):
            if source in stretch.given:
                contents = [stored_operand(layer, one[name]) for one in tensors]
                one = _map(graph, source, name, plan.rooms.bases[source], contents, answers=False)
                places = stored_places(layer, graph.tensors[name].shape).astype("<i4").reshape(-1)
                laid_out = not np.array_equal(places, np.arange(places.size))
                given[source] = replace(one, places=places.tobytes() if laid_out else None, padding=zero_in(layer))
    made = []
    for layer in stretch.layers:
        name = layer.node.output
        if name in plan.order.asked or turns(layer.node):
            contents = [as_layer(layer, one[name]) for one in tensors]
            made.append(
                _map(graph, name, name, plan.rooms.bases[name], contents, answers=_answers(graph, plan, name))
            )
    return tuple(given.values()), tuple(made)


def _map(graph: Graph, name: str, tensor: str, base: int, contents: Sequence[NDArray], *, answers: bool) -> BoardMap:
    form = graph.tensors[tensor].quantisation
    assert form is not None, "only Quantise and Dequantise have tensors of numbers"
    data = tuple(np.ascontiguousarray(one).astype(np.int8).tobytes() for one in contents)
    elements = graph.tensors[tensor].elements
    return BoardMap(name, Region(base, len(data[0])), form.scale, form.zero, answers, data, elements)


def _answers(graph: Graph, plan: ClusterPlan, name: str) -> bool:
    """Whether a map is one row of numbers from which an output of the model follows, so that its largest is the
    answer."""
    shape = graph.tensors[name].shape
    if prod(shape) != max(shape) or prod(shape) == 1:
        return False
    follows = {name}
    for node in graph.nodes:
        if follows & {plan.order.roots.get(one, one) for one in node.inputs} | follows & set(node.inputs):
            follows |= set(node.outputs)
    return bool(follows & set(graph.outputs))


# --- what it takes ---


def _estimate(parameters: BoardParameters) -> Use:
    area = estimated_cluster(parameters.cluster)
    rams = area.block_rams + parameters.memory_rams
    return Use(area.lut4 + AROUND_LUTS, rams, area.dsps, estimated=True, mhz=area.mhz)


def _hopeless(use: Use, fpga: Fpga) -> bool:
    """Whether an estimate is so far beyond the FPGA that synthesis would say nothing new; memories are known."""
    return use.block_rams > fpga.brams or use.luts > CERTAIN * fpga.luts


def _reaches(use: Use, placed_mhz: float | None, wanted_mhz: float) -> bool:
    """Whether the clock is reached, as far as that is known."""
    reached = placed_mhz or use.mhz
    return reached is None or reached >= wanted_mhz


def _limit(name: str, use: Use, fpga: Fpga, clock: BoardClock, placed: Bitstream | None) -> tuple[str | None, bool]:
    """Why there is no bitstream that can be used, and whether the design fits."""
    short = use.short(fpga)
    if short:
        return f"{name} is too small: it takes {'; '.join(short)}", False
    mhz = None if placed is None else placed.clock_mhz
    if _reaches(use, mhz, clock.mhz):
        return None, True
    reached = f"about {use.mhz:.1f} MHz by the estimate" if mhz is None else f"{mhz:.1f} MHz"
    return f"{name}: the design fits, but reaches {reached}, {clock.mhz:g} MHz are wanted (--mhz)", True


def _placed(files: Mapping[str, str | bytes], board: Board, clock: BoardClock, folder: Path) -> Bitstream:
    verilog = f"{files['top.v']!s}{files['board.v']!s}"
    return make_bitstream(verilog, str(files["board.lpf"]), board, clock.mhz, failed=folder, tell=note)


def _simulated(folder: Path, planned: _Planned, files: Mapping[str, str | bytes]) -> list[BoardRun]:
    count = planned.images
    cycles = line_cycles(files) + count * sum(one.cycles for one in planned.programs)
    note(f"verilator: about {cycles:,} cycles, byte by byte over the serial line")
    with steps(count * len(planned.programs), "simulating") as step:
        return simulate_board(folder, planned.parameters, planned.programs, fast=cycles > FAST_CYCLES, progress=step)
