"""The C driver runs a quantised network, as it is generated, on the example of a cluster."""

import ctypes
import json
import re
import shutil
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
import pytest

from examples.digits.lenet import LeNet, as_onnx
from examples.quantising import quantise
from hwgen.api.generation import networks
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.hardware_file import load_hardware
from hwgen.arch.registers.cluster import CLUSTER_IDENTITY, cluster_registers
from hwgen.arch.registers.control import Control, Status
from hwgen.export.cluster_program import ClusterProgramFile
from hwgen.export.driver.files import driver_files
from hwgen.export.registers.files import register_files
from hwgen.golden.quantised.execution import execute
from hwgen.ir.builtin import named_file
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, save_hardware
from hwgen.ir.network.kinds import Dequantise, Quantise
from hwgen.lower.network.cluster_plan import plan_cluster
from hwgen.lower.system.networks import NetworkSystem
from hwgen.readers.integers.reader import read_quantised
from tests.cli.command_line import Run, refused
from tests.cosim.driver.test_drivers import OK, STRICT, checked, compiled, connected, driven
from tests.cosim.vector.test_nodes import CLUSTER
from tests.export.driver.test_headers import check_headers
from tests.oracles.cluster_interpreter import Machine
from tests.readers.integers.models import Draft

PAGE = Path(__file__).resolve().parents[3] / "docs" / "networks.md"
MORE = """\
#include "programs/{network}.h"
#include "programs/{network}.weights.h"
int load(void)
{{
    for (uint32_t i = 0; i < sizeof programs / sizeof *programs; i++)
        cluster_store_program(&device, programs[i]);
    return hwgen_store(&device, programs[0]->weights, cluster_weights_{network}, sizeof cluster_weights_{network});
}}
float scale(void) {{ return cluster_program_{last}_outputs[0].scale; }}
void lay_out(const int8_t *from, int8_t *to) {{ hwgen_lay_out(&cluster_program_{first}_input0_layout, from, to); }}
int input_bytes(void) {{ return cluster_program_{first}_input0_bytes; }}
int zero_point(void) {{ return cluster_program_{last}_outputs[0].zero_point; }}
"""


def more(last: str) -> str:
    """What is compiled beside the driver; ``last``: the program that makes the output."""
    network, several, _ = last.partition("_")
    return MORE.format(last=last, network=network, first=f"{network}_0" if several else network)


def hardware(folder: Path, **update: object) -> Path:
    """A cluster's file, some of it otherwise."""
    cluster = Cluster(hwcs=2, tcdm=1 << 14, vector=True)
    machine = load_hardware(named_file("hardware", "m4c4_1KiB")).model_copy(
        update={"requantisation": "scaled", "cluster": cluster, **update}
    )
    save_hardware(machine, folder / "cluster.yaml")
    return folder / "cluster.yaml"


def network(path: Path) -> Path:
    """Two convolutions with a pool between them and a sum over the second one, and a product."""
    draft, rng = Draft([1, 3, 8, 6]), np.random.default_rng(3)

    def convolution(tensor: str, scale: float, channels: int) -> str:
        weights = draft.weights(rng.integers(-127, 128, (4, channels, 3, 3)), rng.uniform(0.004, 0.01, 4))
        return draft.node("Conv", draft.both(tensor, scale, 120), weights, kernel_shape=[3, 3], pads=[1, 1, 1, 1])

    made = draft.both(convolution("x", 0.05, 3), 0.07, 100)
    first = draft.node("MaxPool", made, kernel_shape=[2, 2], strides=[2, 2])
    kept = draft.both(first, 0.07, 100)
    total = draft.node("Add", draft.both(convolution(kept, 0.07, 4), 0.09, 110), kept)
    rows = draft.node("Reshape", draft.both(total, 0.1, 90), draft.constant([1, 48], np.int64))
    product = draft.node("MatMul", rows, draft.weights(rng.integers(-127, 128, (48, 10)), 0.004, axis=1))
    return draft.write(path, draft.both(product, 0.2, 128), [1, 10])


def convolutions(path: Path, *, between: bool) -> Path:
    """Two convolutions; ``between``: then a Softmax, which is software's, a third one, and a product of 10 rows."""
    draft, rng = Draft([1, 2, 5, 6]), np.random.default_rng(4)

    def convolution(tensor: str, scale: float, zero: int = 120) -> str:
        weights = draft.weights(rng.integers(-127, 128, (2, 2, 3, 3)), [0.006, 0.008])
        return draft.node("Conv", draft.both(tensor, scale, zero), weights, kernel_shape=[3, 3], pads=[1, 1, 1, 1])

    made = draft.both(convolution(convolution("x", 0.05), 0.07), 0.1, 128)
    if not between:
        return draft.write(path, made, [1, 2, 5, 6])
    made = draft.both(convolution(draft.node("Softmax", made), 1 / 255, 0), 0.01, 128)
    rows = draft.node("Reshape", made, draft.constant([10, 6], np.int64))
    product = draft.node("MatMul", rows, draft.weights(rng.integers(-127, 128, (6, 3)), 0.02, axis=1))
    return draft.write(path, draft.both(product, 0.03, 100), [10, 3])


def test_what_is_no_program_of_a_cluster(run: Run, tmp_path: Path) -> None:
    model, cluster, rest = network(tmp_path / "tiny.onnx"), hardware(tmp_path), ("-o", tmp_path / "rtl")
    on = ("--hardware", cluster)
    refused(run("generate", model, *on, "--fitted", *rest), "--fitted: not for a quantised network, got ")
    unscaled = run("generate", model, "--resident", "--hardware", "m4c4_1KiB", *rest)
    refused(unscaled, "--resident: expected a quantised network, and a cluster")
    draft = Draft([1, 2, 5, 6])
    soft = draft.both(draft.node("Softmax", draft.both("x", 0.1, 3)), 0.1, 3)
    host = draft.write(tmp_path / "soft.onnx", soft, [1, 2, 5, 6])
    refused(run("generate", host, *on, *rest), "soft.onnx: expected layers with weights that ", " runs, got none")
    draft = Draft([1, 2, 5, 6])
    floats = draft.write(tmp_path / "float.onnx", draft.node("Relu", "x"), [1, 2, 5, 6])
    refused(run("generate", floats, *on, *rest), "got one of floats")
    alone = hardware(tmp_path, cluster=None)
    refused(run("generate", model, "--hardware", alone, *rest), "cluster: missing key: a quantised network")
    assert not (tmp_path / "rtl").exists()


class Interpreted:
    """A cluster without time: its registers, and a memory in which a start executes the program at once."""

    def __init__(self, parameters: ClusterParameters) -> None:
        self.memory = np.random.default_rng(0).integers(0, 256, 1 << 16, np.uint8)
        self.starts = 0
        self._parameters, self._status = parameters, 0
        self._addresses = cluster_registers(parameters).addresses
        self._values: dict[int, int] = {self._addresses["identity"]: CLUSTER_IDENTITY}

    def read(self, address: int) -> int:
        return self._status if address == self._addresses["status"] else self._values.get(address, 0)

    def write(self, address: int, value: int) -> None:
        if address != self._addresses["control"]:
            self._values[address] = value
        elif value & Control.START:
            self._run()
        elif value & Control.CLEAR:
            self._status = 0

    def _run(self) -> None:
        begin, words = (self._values[self._addresses[name]] for name in ("program_address", "program_words"))
        tcdm = np.zeros(self._parameters.tcdm_bytes, np.uint8)
        machine = Machine(self._parameters.hwc, self._parameters.hwcs, self.memory, tcdm, {}, Random(self.starts))
        machine.run(self.memory.view("<u4")[begin // 4 :][:words].tolist())
        self._status, self.starts = int(Status.DONE), self.starts + 1


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[ClusterParameters]:
    """Clusters that are generated, without their Verilog."""
    found: list[ClusterParameters] = []

    def without_verilog(parameters: ClusterParameters, _text: str, *, memory_bytes: int) -> dict[str, str]:
        assert memory_bytes > 0
        found.append(parameters)
        registers = cluster_registers(parameters)
        return {**driver_files(registers), **register_files(registers)}

    monkeypatch.setattr(networks, "generated_cluster", lambda parameters, keep_init: "")
    monkeypatch.setattr(networks, "cluster_files_of", without_verilog)
    return found


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_what_the_driver_stores_is_the_network(run: Run, tmp_path: Path, made: list[ClusterParameters]) -> None:
    """Two convolutions; the program is executed by the interpreter, on the memory as the driver has left it."""
    model, rtl = convolutions(tmp_path / "tiny.onnx", between=False), tmp_path / "rtl"
    cluster = hardware(tmp_path, cluster=Cluster(hwcs=2, tcdm=1 << 14))
    assert "tiny: input x: 1x2x5x6 int8 at 0x" in run("generate", model, "--hardware", cluster, "-o", rtl).out
    machine = Interpreted(made[0])
    driver = compiled(rtl, "cluster", ["tiny"], more=more("tiny"))
    keep = connected(driver, machine.memory, machine.read, machine.write)
    compare(driver, model, rtl)
    on_the_page(rtl, 0, "digits", "tiny")
    checked(rtl, "cluster", "cluster_driver.c")
    assert machine.starts == 2
    del keep


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_picture_is_laid_out_by_the_driver(run: Run, tmp_path: Path, made: list[ClusterParameters]) -> None:
    """One input channel, stride 2, unequal padding, zero points: columns or windows of the kernel are channels."""
    draft, rng = Draft([1, 1, 13, 11]), np.random.default_rng(5)
    weights = draft.weights(rng.integers(-127, 128, (8, 1, 3, 4)), 0.006)
    sums = draft.node(
        "Conv", draft.both("x", 0.05, 120), weights, kernel_shape=[3, 4], strides=[2, 2], pads=[1, 0, 2, 1]
    )
    model, rtl = draft.write(tmp_path / "tiny.onnx", draft.both(sums, 0.07, 100), [1, 8, 7, 5]), tmp_path / "rtl"
    cluster = hardware(tmp_path, cluster=Cluster(hwcs=2, tcdm=1 << 14))
    assert ", laid out from 1x13x11, at 0x" in run("generate", model, "--hardware", cluster, "-o", rtl).out
    given = json.loads((rtl / "programs" / "tiny.json").read_text(encoding="utf-8"))["programs"][0]["inputs"][0]
    assert given["laid_out"]["shape"] == [1, 13, 11]
    machine = Interpreted(made[0])
    driver = compiled(rtl, "cluster", ["tiny"], more=more("tiny"))
    keep = connected(driver, machine.memory, machine.read, machine.write)
    compare(driver, model, rtl)
    on_the_page(rtl, 0, "digits", "tiny")
    del keep


def test_what_software_turns_is_laid_out(run: Run, tmp_path: Path, made: list[ClusterParameters]) -> None:
    """A picture of rows, columns, channels is turned by software, which lays it out for the first layer, too."""
    draft, rng = Draft([1, 13, 11, 1]), np.random.default_rng(6)
    weights = draft.weights(rng.integers(-127, 128, (8, 1, 3, 4)), 0.006)
    turned = draft.both(draft.node("Transpose", draft.both("x", 0.05, 120), perm=[0, 3, 2, 1]), 0.05, 120)
    sums = draft.node("Conv", turned, weights, kernel_shape=[3, 4], strides=[2, 2], pads=[1, 0, 2, 1])
    model = draft.write(tmp_path / "turned.onnx", draft.both(sums, 0.07, 100), [1, 8, 6, 5])
    cluster = hardware(tmp_path)
    run("generate", model, "--hardware", cluster, "-o", tmp_path / "rtl")
    programs = json.loads((tmp_path / "rtl" / "programs" / "turned.json").read_text(encoding="utf-8"))["programs"]
    assert made == [CLUSTER], "which other tests simulate as well"
    (given,) = programs[0]["inputs"]
    assert given["laid_out"]["shape"] == [1, 11, 13]
    ran = run("run", model, "--hardware", cluster, "--seed", "1", "-o", tmp_path / "ran", "--json")
    assert (ran.status, ran.json["exact"]) == (0, True)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_programs_with_software_between_them(run: Run, tmp_path: Path, made: list[ClusterParameters]) -> None:
    """Maps that stay are neither stored nor loaded, as in a run."""
    model, rtl = convolutions(tmp_path / "tiny.onnx", between=True), tmp_path / "rtl"
    cluster = hardware(tmp_path, cluster=Cluster(hwcs=2, tcdm=1 << 14))
    command = ("generate", model, "--hardware", cluster, "--resident", "-o", rtl)
    (summary,) = run(*command, "--json").json["networks"]
    assert [(node["before"], node["kind"]) for node in summary["host"]] == [
        (1, "dequantise"), (1, "Softmax"), (1, "quantise"),
    ]  # fmt: skip
    plan = plan_cluster(read_quantised(model), load_hardware(cluster), resident=True)
    assert list(summary["resident"]) == list(plan.kept) == [plan.layers[0].node.output]
    names = [one["name"] for one in summary["programs"]]
    assert names == ["tiny_0", "tiny_1", "tiny_2"]
    for name, stretch in zip(names, plan.stretches, strict=True):
        words = (rtl / "programs" / f"{name}.hex").read_text(encoding="utf-8").split()
        assert [int(word, 16) for word in words] == stretch.program.words.tolist(), "of the same accesses"
    machine = Interpreted(made[0])
    driver = compiled(rtl, "cluster", names, more=more(names[-1]))
    check_headers(rtl)
    keep = connected(driver, machine.memory, machine.read, machine.write)
    compare(driver, model, rtl)
    on_the_page(rtl, 1, "scene", "tiny")
    assert machine.starts == 6
    assert "software, before program 1: Softmax " in run(*command).out
    with pytest.raises(InputError, match="hwgen run simulates them"):
        ClusterProgramFile.read(rtl / "programs" / "tiny.json")
    del keep


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_programs_of_several_clusters(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that a run simulates, with the places of their maps; the weights are there once."""
    model, rtl = convolutions(tmp_path / "tiny.onnx", between=True), tmp_path / "rtl"
    cluster = hardware(tmp_path, cluster=Cluster(hwcs=2, tcdm=1 << 14))
    monkeypatch.setattr(networks, "generated_system", lambda parameters, keep_init: "")
    monkeypatch.setattr(
        networks,
        "system_files_of",
        lambda parameters, _: {
            **driver_files(cluster_registers(parameters.cluster)),
            **register_files(cluster_registers(parameters.cluster)),
        },
    )
    answer = run("generate", model, "--hardware", cluster, "--clusters", "2", "-o", rtl, "--json")
    (summary,) = answer.json["networks"]
    system = NetworkSystem(plan_cluster(read_quantised(model), load_hardware(cluster), clusters=2), 2)
    assert (summary["clusters"], summary["dram_bytes"]) == (2, system.size)
    assert (rtl / "programs" / "tiny.weights.bin").read_bytes() == system.plan.parameters.tobytes()
    assert json.loads((rtl / "manifest.json").read_text(encoding="utf-8"))["designs"][0]["top"] == "system"
    places = []
    for number in range(2):
        document = json.loads((rtl / "programs" / f"tiny.cluster{number}.json").read_text(encoding="utf-8"))
        for at, program in enumerate(document["programs"]):
            placed = system.program(at, number)
            words = (rtl / "programs" / f"{program['name']}.cluster{number}.hex").read_text(encoding="utf-8").split()
            assert [int(word, 16) for word in words] == placed.words.tolist()
            assert program["registers"] == placed.settings
        assert document["memory"] == placed.dram_end
        places.append(
            [one["base"] for program in document["programs"] for one in program["inputs"] + program["outputs"]]
        )
    first, second = places
    assert [there - here for here, there in zip(first, second, strict=True)] == [system.distance] * len(first)
    check_headers(rtl)


def on_the_page(rtl: Path, number: int, name: str, network: str) -> None:
    """An example in C of the documents compiles, with another network in place of its own."""
    examples = re.findall(r"^```c\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (rtl / "page.c").write_text(examples[number].replace(name, network), encoding="utf-8")
    subprocess.run(["cc", *STRICT, "-O1", "-c", "page.c"], cwd=rtl, check=True)
    checked(rtl, "cluster", "page.c")


def laid_out(driver: ctypes.CDLL, content: np.ndarray) -> np.ndarray:
    """The input of the first program as it is stored, by the function of its header."""
    found = np.zeros(driver.input_bytes(), np.int8)
    driver.lay_out(*(array.ctypes.data_as(ctypes.c_void_p) for array in (content, found)))
    return found


def compare(driver: ctypes.CDLL, model: Path, folder: Path) -> None:
    """Load the network, and run it on two images: what each program leaves is the integer reference's."""
    graph = read_quantised(model)
    (given,) = graph.inputs
    quantised = {node.inputs[0]: node.output for node in graph.nodes if isinstance(node, Quantise)}
    numbered = {node.output: node.inputs[0] for node in graph.nodes if isinstance(node, Dequantise)}
    driver.scale.restype = ctypes.c_float
    document = json.loads((folder / "programs" / f"{model.stem}.json").read_text(encoding="utf-8"))
    weights = folder / "programs" / f"{model.stem}.weights.bin"
    assert weights.stat().st_size == document["weights"]["bytes"]
    assert (driver.probe(), driver.load()) == (OK, OK)
    for seed in range(2):
        image = np.random.default_rng(seed).normal(size=graph.tensors[given].shape).astype(np.float32)
        tensors = execute(graph, {given: image})

        def inside(tensor: dict[str, Any], found: dict[str, np.ndarray] = tensors) -> np.ndarray:
            name = tensor["name"].removesuffix(" turned")
            values = found[quantised[name] if name == given else numbered.get(name, name)]
            turned = values.reshape(-1, values.shape[-1]).T if name != tensor["name"] else values
            assert (
                list(turned.shape) == [1, *tensor["laid_out"]["shape"]] if "laid_out" in tensor else tensor["shape"]
            )
            return np.ascontiguousarray(turned)

        for number, program in enumerate(document["programs"]):
            (content,) = map(inside, program["inputs"])
            if number == 0:
                content = laid_out(driver, content)
                assert content.size == program["inputs"][0]["bytes"]
            assert driver.store(number, 0, content.ctypes.data_as(ctypes.c_void_p), content.size) == OK
            assert (driver.start(number), driver.wait(0)) == (OK, OK)
            (expected,) = map(inside, program["outputs"])
            output = np.zeros(expected.shape, np.int8)
            assert driver.fetch(number, output.ctypes.data_as(ctypes.c_void_p), output.size) == OK
            np.testing.assert_array_equal(output, expected)
            assert len(np.unique(output)) > 4
        numbers = (output.astype(np.float32) - driver.zero_point()) * np.float32(driver.scale())
        reference = tensors[graph.outputs[0]]
        np.testing.assert_array_equal(numbers if numbers.shape == reference.shape else numbers.T, reference)


@pytest.mark.nightly
@pytest.mark.parametrize("options", [(), ("--resident",)], ids=["stored", "resident"])
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_network_on_a_cluster(run: Run, tmp_path: Path, options: tuple[str, ...]) -> None:
    model, rtl = network(tmp_path / "tiny.onnx"), tmp_path / "rtl"
    answer = run("generate", model, "--hardware", hardware(tmp_path), *options, "-o", rtl, "--json")
    (summary,) = answer.json["networks"]
    assert (len(summary["layers"]), bool(summary["resident"])) == (6, bool(options))
    in_the_rtl(rtl, model, ["tiny"])


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_programs_on_a_cluster(run: Run, tmp_path: Path) -> None:
    model, rtl = convolutions(tmp_path / "tiny.onnx", between=True), tmp_path / "rtl"
    answer = run("generate", model, "--hardware", hardware(tmp_path), "--resident", "-o", rtl, "--json")
    in_the_rtl(rtl, model, [one["name"] for one in answer.json["networks"][0]["programs"]])


def in_the_rtl(rtl: Path, model: Path, names: list[str]) -> None:
    """Build the generated example system, and run the programs on it by the driver."""
    checked(rtl, "cluster")
    one = driven(rtl, "cluster", names, more=more(names[-1]))
    one.system.memory[:] = 0xA5
    compare(one.driver, model, rtl)
    assert one.system.refused == []


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_lenet_of_the_examples(run: Run, tmp_path: Path) -> None:
    """The network of `examples.digits`, not trained: one program, one start for an image."""
    rng = np.random.default_rng(5)
    onnx.save(as_onnx(LeNet(rng)), tmp_path / "float.onnx")
    images = rng.uniform(0, 1, (20, 1, 28, 28)).astype(np.float32)
    model, rtl = quantise(tmp_path / "float.onnx", tmp_path / "digits.onnx", [{"digits": images}]), tmp_path / "rtl"
    cluster = hardware(tmp_path, cluster=Cluster(hwcs=2, tcdm=1 << 16, vector=True))
    answer = run("generate", model, "--hardware", cluster, "-o", rtl, "--json")
    assert len(answer.json["networks"][0]["layers"]) == 7
    in_the_rtl(rtl, model, ["digits"])
