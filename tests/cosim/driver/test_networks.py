"""The C driver runs a quantised network, as it is generated, on the example of a cluster."""

import ctypes
import json
import re
import shutil
import subprocess
from pathlib import Path
from random import Random

import numpy as np
import onnx
import pytest

from cosim.cluster.interpreter import Machine
from examples.digits.lenet import LeNet, as_onnx
from examples.quantising import quantise
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.registers.cluster import CLUSTER_IDENTITY, cluster_registers
from hwgen.arch.registers.control import Control, Status
from hwgen.cli.commands.generate import networks
from hwgen.export.driver.files import driver_files
from hwgen.export.registers.files import register_files
from hwgen.golden.quantised.execution import execute
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import Cluster, load_hardware, save_hardware
from hwgen.quantised.kinds import Quantise
from hwgen.quantised.onnx.reader import read_quantised
from tests.cli.command_line import Run, refused
from tests.cosim.driver.test_drivers import OK, STRICT, checked, compiled, connected, driven
from tests.quantised.onnx.models import Draft

PAGE = Path(__file__).resolve().parents[3] / "docs" / "networks.md"
MORE = """\
#include "programs/tiny.weights.h"
int load(void)
{
    const struct hwgen_region weights = cluster_program_tiny.weights;

    cluster_store_program(&device, &cluster_program_tiny);
    return hwgen_store(&device, weights, cluster_weights_tiny, sizeof cluster_weights_tiny);
}
float scale(void) { return cluster_program_tiny_outputs[0].scale; }
int zero_point(void) { return cluster_program_tiny_outputs[0].zero_point; }
"""


def hardware(folder: Path, **update: object) -> Path:
    """A cluster's file, some of it otherwise."""
    cluster = Cluster(hwcs=2, tcdm=1 << 14, vector=True)
    machine = load_hardware(named_file("hardware", "m4c4_1KiB")).model_copy(
        update={"requantisation": "scaled", "cluster": cluster, **update}
    )
    save_hardware(machine, folder / "cluster.yaml")
    return folder / "cluster.yaml"


def network(path: Path, *, pool: str = "MaxPool", turned: bool = False) -> Path:
    """Two convolutions with a pool between them and a sum over the second one, and a product."""
    draft, rng = Draft([1, 3, 8, 6]), np.random.default_rng(3)

    def convolution(tensor: str, scale: float, channels: int) -> str:
        weights = draft.weights(rng.integers(-127, 128, (4, channels, 3, 3)), rng.uniform(0.004, 0.01, 4))
        return draft.node("Conv", draft.both(tensor, scale, 120), weights, kernel_shape=[3, 3], pads=[1, 1, 1, 1])

    first = draft.node(pool, draft.both(convolution("x", 0.05, 3), 0.07, 100), kernel_shape=[2, 2], strides=[2, 2])
    kept = draft.both(first, 0.07, 100)
    total = draft.node("Add", draft.both(convolution(kept, 0.07, 4), 0.09, 110), kept)
    made, size = draft.both(total, 0.1, 90), (6, 8) if turned else (48, 10)
    rows = draft.node("Reshape", made, draft.constant([-1, size[0]], np.int64))
    product = draft.node("MatMul", rows, draft.weights(rng.integers(-127, 128, size), 0.004, axis=1))
    return draft.write(path, draft.both(product, 0.2, 128), [48 // size[0], size[1]])


def test_what_is_no_program_of_a_cluster(run: Run, tmp_path: Path) -> None:
    model, cluster, rest = network(tmp_path / "tiny.onnx"), hardware(tmp_path), ("-o", tmp_path / "rtl")
    on = ("--hardware", cluster)
    refused(run("generate", model, *on, "--fitted", *rest), "--fitted: not for a quantised network, got ")
    named = ("expected a network that the cluster runs whole; hwgen run takes others",)
    turned = network(tmp_path / "turned.onnx", turned=True)
    refused(run("generate", turned, *on, *rest), "product ", "the rows of a product of several rows", *named)
    draft = Draft([1, 2, 5, 6])
    soft = draft.both(draft.node("Softmax", draft.both("x", 0.1, 3)), 0.1, 3)
    host = draft.write(tmp_path / "soft.onnx", soft, [1, 2, 5, 6])
    refused(run("generate", host, *on, *rest), "Softmax ", "would run on the host", *named)
    draft = Draft([1, 2, 5, 6])
    floats = draft.write(tmp_path / "float.onnx", draft.node("Relu", "x"), [1, 2, 5, 6])
    refused(run("generate", floats, *on, *rest), "got one of floats")
    plain = hardware(tmp_path, cluster=Cluster(hwcs=2, tcdm=1 << 14))
    refused(run("generate", model, "--hardware", plain, *rest), "max pool ", "the cluster has no vector unit", *named)
    alone = hardware(tmp_path, cluster=None)
    refused(run("generate", model, "--hardware", alone, *rest), "cluster: expected one for a quantised network")
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


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_what_the_driver_stores_is_the_network(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two convolutions; the program is executed by the interpreter, on the memory as the driver has left it."""
    found: list[ClusterParameters] = []

    def without_verilog(parameters: ClusterParameters, _text: str, *, memory_bytes: int) -> dict[str, str]:
        assert memory_bytes > 0
        found.append(parameters)
        registers = cluster_registers(parameters)
        return {**driver_files(registers), **register_files(registers)}

    monkeypatch.setattr(networks, "generated_cluster", lambda parameters, keep_init: "")
    monkeypatch.setattr(networks, "cluster_files_of", without_verilog)
    draft, rng = Draft([1, 2, 5, 6]), np.random.default_rng(4)
    made = "x"
    for scale in (0.05, 0.07):
        weights = draft.weights(rng.integers(-127, 128, (2, 2, 3, 3)), [0.006, 0.008])
        made = draft.node("Conv", draft.both(made, scale, 120), weights, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    model, rtl = draft.write(tmp_path / "tiny.onnx", draft.both(made, 0.1, 128), [1, 2, 5, 6]), tmp_path / "rtl"
    cluster = hardware(tmp_path, cluster=Cluster(hwcs=2, tcdm=1 << 14))
    assert "input x: 1x2x5x6 int8 at 0x" in run("generate", model, "--hardware", cluster, "-o", rtl).out
    machine = Interpreted(found[0])
    driver = compiled(rtl, "cluster", ["tiny"], more=MORE)
    keep = connected(driver, machine.memory, machine.read, machine.write)
    compare(driver, model, rtl)
    page = re.search(r"^```c\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert page is not None
    (rtl / "page.c").write_text(page[1].replace("digits", "tiny"), encoding="utf-8")
    subprocess.run(["cc", *STRICT, "-O1", "-c", "page.c"], cwd=rtl, check=True)
    for source in ("page.c", "cluster_driver.c"):
        checked(rtl, "cluster", source)
    assert machine.starts == 2
    del keep


def compare(driver: ctypes.CDLL, model: Path, folder: Path) -> None:
    """Load the network, and run it on two images: outputs are the integer reference's."""
    graph = read_quantised(model)
    (given,) = graph.inputs
    inside = next(node.output for node in graph.nodes if isinstance(node, Quantise) and node.inputs[0] == given)
    made = next(node.inputs[0] for node in graph.nodes if node.output in graph.outputs)
    driver.scale.restype = ctypes.c_float
    document = json.loads((folder / "programs" / f"{model.stem}.json").read_text(encoding="utf-8"))
    assert (folder / "programs" / f"{model.stem}.weights.bin").stat().st_size == document["regions"]["weights"][
        "bytes"
    ]
    assert (driver.probe(), driver.load()) == (OK, OK)
    for seed in range(2):
        image = np.random.default_rng(seed).normal(size=graph.tensors[given].shape).astype(np.float32)
        tensors = execute(graph, {given: image})
        content = np.ascontiguousarray(tensors[inside]).view(np.uint8)
        assert driver.store(0, 0, content.ctypes.data_as(ctypes.c_void_p), content.size) == OK
        assert (driver.start(0), driver.wait(0)) == (OK, OK)
        output = np.zeros(tensors[made].shape, np.int8)
        assert driver.fetch(0, output.ctypes.data_as(ctypes.c_void_p), output.size) == OK
        np.testing.assert_array_equal(output, tensors[made])
        assert len(np.unique(output)) > 4
        numbers = (output.astype(np.float32) - driver.zero_point()) * np.float32(driver.scale())
        np.testing.assert_array_equal(numbers, tensors[graph.outputs[0]])


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_network_on_a_cluster(run: Run, tmp_path: Path) -> None:
    model, rtl = network(tmp_path / "tiny.onnx"), tmp_path / "rtl"
    answer = run("generate", model, "--hardware", hardware(tmp_path), "-o", rtl, "--json")
    assert len(answer.json["networks"][0]["layers"]) == 6
    checked(rtl, "cluster")
    one = driven(rtl, "cluster", ["tiny"], more=MORE)
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
    more = MORE.replace("tiny", "digits")
    checked(rtl, "cluster")
    one = driven(rtl, "cluster", ["digits"], more=more)
    one.system.memory[:] = 0xA5
    compare(one.driver, model, rtl)
    assert one.system.refused == []
