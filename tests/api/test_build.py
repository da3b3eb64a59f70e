"""A quantised network as a whole design for a board: simulated, refused, too large, and its host program."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hwgen
from cosim.board.run import simulate_board
from hwgen.api import building
from hwgen.api.building import WORKING_BOARDS, Built, Use
from hwgen.arch.boards import BOARDS, Fpga
from hwgen.export.board import run as host
from hwgen.ir.hardware import save_hardware
from hwgen.synthesis.bitstream import Bitstream
from hwgen.synthesis.cells import Area
from tests.cli.command_line import Run, refused
from tests.cli.json_keys import undocumented
from tests.random.quantised import quantised_model, random_model
from tests.readers.integers.models import Draft, small

HARDWARE: dict[str, Any] = {
    "name": "tiny",
    "lanes": {"m": 4, "c": 2},
    "budget": 768,
    "buffers": {"I": 256, "W": 128, "O": 384},
    "requantisation": "scaled",
    "order": ["m", "y", "x", {"buffer": "O"}, "c", {"buffer": "I"}, "k", {"buffer": "W"}, "l", "m", "y", "x"],
    "cluster": {"hwcs": 1, "tcdm": 8192, "banks": 4, "axi_bits": 64},
}
CONTRACT = ["bitstream", "fits", "luts", "block_rams", "clock_mhz", "host"]


def two_programs(path: Path) -> Path:
    """Convolution, a pool that a cluster without a vector unit leaves to software, convolution to five numbers."""
    draft = Draft([1, 2, 6, 7])
    rng = np.random.default_rng(3)
    first = draft.weights(rng.integers(-90, 90, (4, 2, 3, 3)), [0.01, 0.02, 0.005, 0.03])
    made = draft.both(draft.node("Conv", draft.both("x", 0.05, 100), first, kernel_shape=[3, 3]), 0.103, 7)
    pooled = draft.both(draft.node("MaxPool", made, kernel_shape=[2, 2], strides=[2, 2]), 0.103, 7)
    second = draft.weights(rng.integers(-90, 90, (5, 4, 2, 2)), [0.01] * 5)
    last = draft.node("Conv", pooled, second, kernel_shape=[2, 2])
    return draft.write(path, draft.both(last, 0.2, 128), [1, 5, 1, 1])


class Design:
    """A design that was built and simulated, with what it was made of."""

    def __init__(self, folder: Path, **cluster: Any) -> None:
        hardware = {**HARDWARE, "cluster": {**HARDWARE["cluster"], **cluster}}
        model = two_programs(folder / "two.onnx")
        images = np.random.default_rng(5).normal(size=(2, 2, 6, 7)).astype(np.float32) * 4
        taken: list[Any] = []
        original = simulate_board

        def watched(*given: Any, **options: Any) -> Any:
            taken.append((given, options))
            return original(*given, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(building, "simulate_board", watched)
            self.built = hwgen.build(model, folder=folder / "out", hardware=hardware, inputs=images, simulate=True)
        (self.folder, self.parameters, self.programs), _ = taken[0]
        self.facts = json.loads((self.folder / "board.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def design(tmp_path_factory: pytest.TempPathFactory) -> Design:
    return Design(tmp_path_factory.mktemp("build"))


def test_the_design_answers_the_host_program_with_the_reference(design: Design) -> None:
    built = design.built
    assert isinstance(built, Built)
    assert (built.passed, built.failures, built.fits, built.limit) == (True, (), True, None)
    assert [(one.image, one.program) for one in built.runs] == [
        (image, program) for image in (0, 1) for program in ("two_0", "two_1")
    ]
    document = built.to_dict()
    assert list(document)[: len(CONTRACT)] == CONTRACT
    assert undocumented("build", document) == []
    assert (document["bitstream"], document["clock_mhz"], document["host"]) == (None, None, "run.py")
    for one in document["simulated"]:
        assert (one["exact"], one["equal"]) == (True, True)
        assert one["dram"]["predicted"] == one["dram"]["measured"]
        assert all(one["dram"]["measured"][stream]["bytes"] > 0 for stream in ("load", "program", "store"))
        assert abs(one["cycles"]["measured"] - one["cycles"]["predicted"]) <= 0.08 * one["cycles"]["measured"]


@pytest.mark.nightly
@pytest.mark.parametrize("cluster", [{"axi_bits": 32}, {"axi_bits": 128}, {"hwcs": 2, "vector": True}], ids=str)
def test_other_clusters(cluster: dict[str, Any], tmp_path: Path) -> None:
    built = Design(tmp_path, **cluster).built
    assert (built.passed, built.failures) == (True, ())
    assert len(built.runs) == (2 if "vector" in cluster else 4)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(12))
def test_random_networks(seed: int, tmp_path: Path) -> None:
    """With a vector unit, every other one with maps that stay in the TCDM; one to three programs."""
    rng = np.random.default_rng(seed)
    quantised_model(rng, random_model(rng), tmp_path / "random.onnx")
    roomy = {**HARDWARE, "budget": 1536, "buffers": {"I": 512, "W": 256, "O": 768}}
    roomy["cluster"] = {"hwcs": 1, "tcdm": 32768, "banks": 4, "axi_bits": 64, "vector": True}
    built = hwgen.build(
        tmp_path / "random.onnx", folder=tmp_path / "out", hardware=roomy, seed=seed, resident=seed % 2 == 1,
        simulate=True,
    )  # fmt: skip
    assert (built.passed, built.failures) == (True, ())


@pytest.mark.nightly
def test_a_design_becomes_a_bitstream(run: Run, tmp_path: Path) -> None:
    """The tiny cluster, placed and routed: all of its modules are taken by the tools, and its clock is known."""
    model = two_programs(tmp_path / "two.onnx")
    save_hardware(hwgen.hardware(HARDWARE), tmp_path / "tiny.yaml")
    answer = run("build", model, "--hardware", tmp_path / "tiny.yaml", "-o", tmp_path / "out", "--json")
    found = answer.json
    assert (answer.status, found["fits"], found["estimated"], found["limit"]) == (0, True, False, None)
    assert found["clock_mhz"] >= found["wanted_mhz"] == 25
    content = (tmp_path / "out" / found["bitstream"]).read_bytes()
    assert b"LFE5U-85F" in content[:200]
    assert len(content) > 100_000


def test_the_files_are_there_and_say_what_they_hold(design: Design) -> None:
    here = {str(path.relative_to(design.folder)) for path in design.folder.rglob("*") if path.is_file()}
    assert here == {*design.built.files, "manifest.json"}
    assert {"board.v", "top.v", "board.lpf", "board.json", "run.py"} <= here
    assert (design.folder / "run.py").read_text(encoding="utf-8") == Path(host.__file__).read_text(encoding="utf-8")
    assert design.facts["clock_mhz"] == 25
    assert design.facts["line"]["baud"] == 1_000_000
    sizes = [
        one["bytes"] for program in design.facts["programs"] for one in (*program["inputs"], *program["outputs"])
    ]
    assert sizes == [2 * 6 * 7, 4 * 4 * 5, 4 * 2 * 2, 5]
    assert [[one["classes"] for one in program["outputs"]] for program in design.facts["programs"]] == [
        [False],
        [True],
    ]
    design_facts = design.facts["design"]
    assert design_facts["memory_bytes"] == design.parameters.memory_bytes
    assert max(one["base"] + one["bytes"] for one in design.facts["load"]) <= design_facts["memory_bytes"]


def test_a_wrong_output_and_other_traffic_are_said(design: Design, tmp_path: Path) -> None:
    """What is compared can differ: an expected byte that is another one, a program whose model is another one's."""
    for name in design.built.files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((design.folder / name).read_bytes())
    expected = tmp_path / design.facts["images"][1][1]["outputs"][0]
    content = bytearray(expected.read_bytes())
    content[3] ^= 1
    expected.write_bytes(content)
    other = [replace(design.programs[0], program=design.programs[1].program), design.programs[1]]
    runs = simulate_board(tmp_path, design.parameters, design.programs)
    assert [one.passed for one in runs] == [True, True, True, False]
    name = design.facts["programs"][1]["outputs"][0]["name"]
    assert runs[3].failures == (f"image 1, two_1: output {name}: 1 bytes differ from the integer reference",)
    (first, *_) = simulate_board(tmp_path, design.parameters, other)
    assert any("load: bytes at the memory: predicted" in line for line in first.failures)


def test_another_design_is_noticed(design: Design, tmp_path: Path) -> None:
    facts = json.loads((design.folder / "board.json").read_text(encoding="utf-8"))
    facts["design"]["digest"] ^= 1
    (tmp_path / "board.json").write_text(json.dumps(facts), encoding="utf-8")
    with pytest.raises(hwgen.ToolError, match="another design is on the board: digest: expected 0x"):
        simulate_board(tmp_path, design.parameters, design.programs)


# --- the host program as a user starts it, with a port that is played ---

PLAYED = '''
"""Plays pyserial and a board: the protocol in Python, programs that leave what is expected."""
import json, os, struct
from pathlib import Path


class Serial:
    def __init__(self, name, baud, timeout):
        self.folder = Path(name)
        self.facts = json.loads((self.folder / "board.json").read_text())
        assert baud == self.facts["line"]["baud"]
        self.memory = bytearray(self.facts["design"]["memory_bytes"])
        self.registers, self.answer, self.number = {}, b"", 0

    def __enter__(self):
        return self

    def __exit__(self, *args):
        pass

    def send_break(self, duration):
        pass

    def reset_input_buffer(self):
        self.answer = b""

    def read(self, size):
        found, self.answer = self.answer[:size], self.answer[size:]
        return found

    def write(self, data):
        line = self.facts["line"]
        kind, address, count = struct.unpack("<BIH", data[:7])
        words = data[7:]
        if kind == line["write"]:
            self.store(address, words)
            self.answer += bytes([line["done"], sum(words) & 255])
        else:
            words = self.load(address, count)
            self.answer += words + bytes([line["done"], sum(words) & 255])

    def store(self, address, words):
        if address >= self.facts["line"]["registers"]:
            at, value = address - self.facts["line"]["registers"], struct.unpack("<I", words)[0]
            self.registers[at] = value
            if at == self.facts["registers"]["control"] and value == self.facts["control"]["start"]:
                self.run()
        else:
            self.memory[address : address + len(words)] = words

    def load(self, address, count):
        line = self.facts["line"]
        if address >= line["design"]:
            return struct.pack("<3I", *self.facts["design"].values())
        if address >= line["registers"]:
            return struct.pack("<I", self.registers.get(address - line["registers"], 0))
        return bytes(self.memory[address : address + 4 * count])

    def run(self):
        programs = self.facts["programs"]
        image, at = divmod(self.number, len(programs))
        program, files = programs[at], self.facts["images"][image][at]
        for place, file in zip(program["inputs"], files["inputs"]):
            given = bytes(self.memory[place["base"] : place["base"] + place["bytes"]])
            assert given == (self.folder / file).read_bytes(), "the host stores the inputs"
        for one in self.facts["load"]:
            stored = bytes(self.memory[one["base"] : one["base"] + one["bytes"]])
            assert stored == (self.folder / one["file"]).read_bytes()
        assert all(self.registers[address] == value for address, value in program["settings"])
        for place, file in zip(program["outputs"], files["outputs"]):
            content = bytearray((self.folder / file).read_bytes())
            content[-1] ^= image if "WRONG" in os.environ else 0
            self.memory[place["base"] : place["base"] + place["bytes"]] = content
        self.registers[self.facts["registers"]["status"]] = self.facts["status"]["done"]
        self.registers[self.facts["registers"]["cycles"]] = 1000
        self.number += 1
'''


@pytest.fixture
def played(design: Design, tmp_path: Path) -> Any:
    (tmp_path / "serial.py").write_text(PLAYED, encoding="utf-8")

    def start(*arguments: str, folder: Path = design.folder, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-B", str(folder / "run.py"), *arguments]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), **variables}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)

    return start


def test_the_host_program_runs_by_itself(design: Design, played: Any) -> None:
    ran = played(str(design.folder))
    assert (ran.returncode, ran.stderr) == (0, "")
    lines = ran.stdout.splitlines()
    assert lines[0].startswith("two: ")
    assert [line.partition(":")[0] for line in lines[1:5]] == [
        "image 0, two_0", "image 0, two_1", "image 1, two_0", "image 1, two_1",
    ]  # fmt: skip
    expected = np.frombuffer((design.folder / design.facts["images"][0][1]["outputs"][0]).read_bytes(), np.int8)
    assert f": class {expected.argmax()} (" in lines[2]
    assert "1,000 cycles" in lines[1]
    assert lines[-1] == "every output is the expected one"
    wrong = played(str(design.folder), WRONG="1")
    assert (wrong.returncode, wrong.stdout.splitlines()[-1]) == (1, "NOT EQUAL: 2 bytes differ")


def test_the_host_program_says_what_is_wrong(design: Design, played: Any, tmp_path: Path) -> None:
    file = tmp_path / "map.bin"
    file.write_bytes(b"1")
    found = played(str(design.folder), "--input", str(file))
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == "run.py: --input: this network takes more than one map: use hwgen build --input instead\n"
    missing = played("nowhere")
    assert missing.returncode == 2
    assert missing.stderr.startswith("run.py: ")
    assert missing.stderr.count("\n") == 1


def test_the_host_program_takes_another_input(played: Any, tmp_path: Path) -> None:
    """Of a network of one program: the bytes of its map, with which nothing is compared."""
    out = tmp_path / "out"
    built = hwgen.build(small(tmp_path / "small.onnx"), "ulx3s_12f", folder=out)
    assert built.bitstream is None
    facts = json.loads((out / "board.json").read_text(encoding="utf-8"))
    stored = (out / facts["images"][0][0]["inputs"][0]).read_bytes()
    (place,) = facts["programs"][0]["inputs"]
    places = np.frombuffer((out / place["places"]).read_bytes(), np.int32)
    assert len(places) == len(stored) == 3 * 2 * 5 * 6  # each row three times, for the three rows of the kernel
    elements = np.zeros(60, np.int8)
    elements[places[places >= 0]] = np.frombuffer(stored, np.int8)[places >= 0]
    given = tmp_path / "map.bin"
    given.write_bytes(elements.tobytes())
    ran = played(str(out), "--input", str(given), folder=out)  # it looks whether what is stored is the same
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[1].endswith("; no expected output")
    assert "expected one" not in ran.stdout
    given.write_bytes(given.read_bytes()[1:])
    short = played(str(out), "--input", str(given), folder=out)
    assert (short.returncode, short.stderr) == (2, f"run.py: {given}: expected 60 bytes, got 59\n")


# --- what is refused, and what does not fit ---


def test_what_cannot_be_built_is_refused_in_a_line(run: Run, tmp_path: Path) -> None:
    model, out = small(tmp_path / "small.onnx"), tmp_path / "out"
    works = ", ".join(WORKING_BOARDS)
    for arguments, why in (
        (["--board", "ulx4s"], f"--board: expected one of {works}, got ulx4s"),
        (
            ["--board", "orangecrab_85f"],
            f"--board: the pins of orangecrab_85f are not known here: expected one of {works}",
        ),
        (["--mhz", "1000"], "--mhz: expected 3.125 to 400 MHz, got 1000"),
        (["--hardware", "hwc_16"], "expected a cluster with requantisation scaled"),
        (["--hardware", "cluster"], "expected a cluster with requantisation scaled"),
        (["--input", "none.npy"], "none.npy: cannot be read"),
        (["--input", "none.npy", "--seed", "1"], "--input, --seed: expected one of them"),
    ):
        refused(run("build", model, "-o", out, *arguments), why)
        refused(run("build", model, "-o", out, *arguments, "--json"), why)
    refused(run("build", tmp_path / "none.onnx", "-o", out), "none.onnx")
    refused(run("build", "alexnet", "-o", out), "alexnet: expected a quantised network, .onnx or .tflite")
    assert not out.exists()


def test_where_the_fpga_has_no_room_it_is_said_what_is_short(run: Run, tmp_path: Path) -> None:
    model = small(tmp_path / "small.onnx")
    answer = run("build", model, "--board", "ulx3s_12f", "-o", tmp_path / "out", "--json")
    found = answer.json
    assert answer.status == 1
    assert (found["bitstream"], found["fits"], found["clock_mhz"], found["estimated"]) == (None, False, None, True)
    assert found["hardware"] == "cluster_16_vector"
    assert list(found)[: len(CONTRACT)] == CONTRACT
    assert undocumented("build", found) == []
    short = found["luts"] - BOARDS["ulx3s_12f"].fpga.luts
    assert (
        f"ulx3s_12f is too small: it takes about {found['luts']:,} LUT4, {short:,} more than its 12,000; "
        in found["limit"]
    )
    assert "block RAMs" in found["limit"]
    text = run("build", model, "--board", "ulx3s_12f", "-o", tmp_path / "out")
    assert (text.status, f"NOT as asked: {found['limit']}" in text.out) == (1, True)
    assert (tmp_path / "out" / "run.py").exists()


@pytest.mark.parametrize(("reached", "built"), [(40.1, True), (39.9, False)])
def test_a_clock_that_is_not_reached_leaves_no_bitstream(
    reached: float, built: bool, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bitstream is one for the clock that is asked for; what the tools found is printed all the same."""
    asked: list[tuple[str, str, float]] = []

    def made(verilog: str, pads: str, _board: object, mhz: float, **_options: object) -> Bitstream:
        asked.append((verilog, pads, mhz))
        return Bitstream(b"bits", Area(luts=30_000, dsps=20, block_rams=30), reached, "all well", 1.0)

    monkeypatch.setattr(building, "make_bitstream", made)
    save_hardware(hwgen.hardware(HARDWARE), tmp_path / "tiny.yaml")
    command = ["build", small(tmp_path / "small.onnx"), "--hardware", tmp_path / "tiny.yaml", "-o", tmp_path / "out"]
    answer = run(*command, "--mhz", "40", "--json")
    found = answer.json
    assert answer.status == (0 if built else 1)
    assert (found["fits"], found["luts"], found["estimated"]) == (True, 30_000, False)
    assert (found["clock_mhz"], found["wanted_mhz"]) == (reached, 40)
    why = "ulx3s_85f: the design fits, but reaches 39.9 MHz, 40 MHz are wanted (--mhz)"
    assert (found["bitstream"], found["limit"]) == (("board.bit", None) if built else (None, why))
    assert (tmp_path / "out" / "board.bit").exists() == built
    ((verilog, pads, mhz),) = asked
    assert mhz == 40
    assert "EHXPLLL" in verilog
    assert "module board(" in verilog
    assert 'LOCATE COMP "rx" SITE "M1";' in pads
    text = run(*command, "--mhz", "40")
    assert ("Next: load it" if built else f"NOT as asked: {why}") in text.out


@pytest.mark.parametrize(("asked", "reached"), [(25, True), (200, False)])
def test_a_clock_above_the_estimated_one_is_said_where_nothing_is_placed(
    asked: int, reached: bool, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "simulate_board", lambda *_, **__: [])
    save_hardware(hwgen.hardware(HARDWARE), tmp_path / "tiny.yaml")
    command = ["build", small(tmp_path / "small.onnx"), "--hardware", tmp_path / "tiny.yaml", "-o", tmp_path / "out"]
    answer = run(*command, "--simulate", "--mhz", asked, "--json")
    found = answer.json
    assert (answer.status, found["fits"], found["clock_mhz"]) == (0 if reached else 1, True, None)
    about = f"reaches about {found['estimated_mhz']:.1f} MHz by the estimate, 200 MHz are wanted (--mhz)"
    assert found["limit"] == (None if reached else f"ulx3s_85f: the design fits, but {about}")
    assert undocumented("build", found) == []
    text = run(*command, "--simulate", "--mhz", asked)
    assert ("NOT as asked" in text.out, "Next: the same without" in text.out) == (not reached, reached)


def test_what_is_short() -> None:
    fpga = Fpga(1000, 10, 20)
    assert Use(1000, 20, 10, estimated=False).short(fpga) == []
    assert Use(1001, 20, 10, estimated=False).short(fpga) == ["1,001 LUT4, 1 more than its 1,000"]
    assert Use(900, 25, 11, estimated=True).short(fpga) == [
        "about 25 block RAMs, 5 more than its 20",
        "about 11 multipliers, 1 more than its 10",
    ]
