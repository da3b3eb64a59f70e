"""Cosimulation speed: cycles per second of the native run loop, against the same RTL in a bare C++ simulation.

The cosimulation is the profiled build that very long runs have. The bare one has the same text, the same C++ for a
clock edge and the same flags, but no profile, and it moves the clock.
Marks: at least 0.9 of the bare one, and at least 2 million cycles a second, in processor time, since other work on
the machine is none of ours. Outputs are checked in every run, since a simulation whose results nobody reads may be
optimised away.
"""

import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from cosim.device.device import HARNESS
from cosim.hwc.jobs import Job
from cosim.hwc.layer_data import expected_output, random_data
from cosim.hwc.preparation import rehearsal
from cosim.hwc.runner import build_profiled, depth_for, hwc_device, run_jobs
from cosim.simulator.rewriting.design_text import for_long_runs
from cosim.simulator.rewriting.edge import rearrange
from cosim.simulator.verilator import FAST, OPTIMISED, REHEARSED_CYCLES
from hwgen.export.hwc import verilog
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Loop, Marker, Schedule
from hwgen.lower.hwc import Program, compile_layer
from hwgen.tools.toolchain import cache_folder, environment, fingerprint

LEAST_RATIO = 0.9
LEAST_CYCLES_PER_SECOND = 2e6
ROUNDS = 3


def layer_and_schedule() -> Schedule:
    """A sixth of the last AlexNet row of Stoutchinin et al. 2019 (Table IV), in the loop order of their Fig. 8."""
    layer = Layer(
        name="alexnet_5_part", input_channels=384, output_channels=42, input_height=13, input_width=13, kernel=3,
        padding=1,
    )  # fmt: skip
    nest = (Loop("m", 6), Loop("y", 1), Loop("x", 13), Marker(("O",)), Loop("c", 1), Marker(("I", "W")), Loop("y", 1),
            Loop("k", 1), Loop("m", 1), Loop("l", 1))  # fmt: skip
    return Schedule(layer=layer, nest=nest, lanes=Lanes(x=16))


@dataclass(frozen=True)
class Speed:
    """One measurement: simulated cycles and the seconds of processor time that they took."""

    cycles: int
    seconds: float

    @property
    def per_second(self) -> float:
        """Cycles per second of processor time."""
        return self.cycles / self.seconds


def build_bare(text: str, main: str, folder: Path) -> Path:
    """The executable of a bare simulation: the design, in the harness or alone, with a C++ main of its own."""
    own = Path(__file__).resolve().parent / "bare" / main
    with_harness = main == "bare_harness.cpp"
    sources = [HARNESS / "hwc.vlt", *hwc_device(text, 0).files] if with_harness else []
    state = hashlib.sha256("".join([text, *FAST, *OPTIMISED, fingerprint("verilator")]).encode())
    for source in (*sources, own):
        state.update(source.read_bytes())
    target = cache_folder() / "bare" / state.hexdigest()[:24]
    if (target / "Vtop").exists():
        return target / "Vtop"
    target.mkdir(parents=True, exist_ok=True)
    design = folder / "hwc.v"
    design.write_text(text, encoding="utf-8")
    top = "harness" if with_harness else "hwc"
    command = [
        "verilator",
        "-cc",
        "--exe",
        "-Mdir",
        target,
        "--top-module",
        top,
        "--prefix",
        "Vtop",
        *FAST,
        *("-CFLAGS", " ".join(OPTIMISED)),
        "-Wno-fatal",
    ]
    steps = [[*command, *sources, design, own], ["make", "-j2", "-C", target, "-f", "Vtop.mk"]]
    for number, step in enumerate(steps):
        subprocess.run([str(part) for part in step], env=environment("verilator"), check=True, capture_output=True)
        if number == 0 and with_harness:
            rearrange(target)
    return target / "Vtop"


def run_bare(executable: Path, job: Job, folder: Path) -> tuple[Speed, np.ndarray]:
    """Run a job in a bare simulation: its speed, and the memory afterwards."""
    lines = [f"register {address} {value}" for _, address, value in job.registers]
    lines += [f"start {job.start[0]} {job.start[1]}", f"status {job.status}"]
    (folder / "job").write_text("\n".join(lines) + "\n", encoding="utf-8")
    job.image.tofile(folder / "image")
    arguments = [str(folder / name) for name in ("job", "image", "memory")]
    shown = subprocess.run([str(executable), *arguments], check=True, capture_output=True, text=True).stdout
    cycles, seconds, _ = shown.split()
    return Speed(int(cycles), float(seconds)), np.fromfile(folder / "memory", dtype=np.uint32)


def the_job(program: Program, image: np.ndarray) -> Job:
    """The program as a job of the cosimulation."""
    return Job(
        name="bench",
        registers=program.registers,
        start=program.start,
        status=program.status,
        acknowledge=None,
        regions={name: (region.base, region.size) for name, region in program.regions.items()},
        image=image,
        cycle_limit=1 << 40,
    )


def measured() -> dict[str, list[Speed]] | None:
    """Every kind in turns; None, and which it was, if an output is wrong."""
    schedule = layer_and_schedule()
    data = random_data(schedule.layer, np.random.default_rng(0))
    program = compile_layer(schedule)
    text = verilog(program.parameters)
    job = the_job(program, program.image(data.inputs, data.weights, data.bias).astype(np.uint32))
    expected = expected_output(schedule.layer, data)
    found: dict[str, list[Speed]] = {"bare_harness.cpp": [], "bare_memory.cpp": [], "cosim": []}
    with TemporaryDirectory(prefix="hwgen-") as name:
        folder = Path(name)
        for _ in range(ROUNDS):
            for kind, speeds in found.items():
                if kind == "cosim":
                    device = hwc_device(text, depth_for("verilator", len(job.image)), job.ports)
                    build_profiled(device, lambda: rehearsal(program, REHEARSED_CYCLES))
                    (result,) = run_jobs(text, [job])
                    speed, memory = Speed(result.cycles, result.cpu_seconds), result.memory
                else:
                    speed, memory = run_bare(build_bare(for_long_runs(text), kind, folder), job, folder)
                if not np.array_equal(program.output(memory), expected):
                    print(f"{kind}: the output is wrong")
                    return None
                speeds.append(speed)
    return found


def main() -> bool:
    """Measure in turns, print the best of each, and say whether the marks are met."""
    found = measured()
    if found is None:
        return False
    best = {kind: max(speeds, key=lambda speed: speed.per_second) for kind, speeds in found.items()}
    bare, alone, ours = (best[kind].per_second for kind in ("bare_harness.cpp", "bare_memory.cpp", "cosim"))
    ratio = ours / bare
    marks = {
        f"{LEAST_RATIO} of the first": ratio >= LEAST_RATIO,
        f"{LEAST_CYCLES_PER_SECOND / 1e6:.0f} million cycles per CPU second": ours >= LEAST_CYCLES_PER_SECOND,
    }
    print(
        f"{best['cosim'].cycles:,} cycles, outputs checked in every run, best of {ROUNDS}; "
        "million cycles per CPU second:"
    )
    print(f"  design and harness, bare C++ main   {bare / 1e6:6.2f}")
    print(f"  design alone, memory in C++         {alone / 1e6:6.2f}  (counts nothing, checks nothing)")
    print(f"  cosimulation, native run loop       {ours / 1e6:6.2f}  {ratio:.3f} of the first")
    for mark, met in marks.items():
        print(f"  at least {mark}: {'met' if met else 'MISSED'}")
    return all(marks.values())
