"""The C driver runs a quantised network, as it is generated, on the example of a cluster."""

import ctypes
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from hwgen.golden.quantised.execution import execute
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import Cluster, load_hardware, save_hardware
from hwgen.quantised.kinds import Dequantise, Quantise
from hwgen.quantised.onnx.reader import read_quantised
from tests.cli.command_line import Run, refused
from tests.cosim.driver.test_drivers import OK, STRICT, checked, driven, fetched
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


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_network_on_a_cluster(run: Run, tmp_path: Path) -> None:
    model, rtl = network(tmp_path / "tiny.onnx"), tmp_path / "rtl"
    answer = run("generate", model, "--hardware", hardware(tmp_path), "-o", rtl, "--json")
    assert len(answer.json["networks"][0]["layers"]) == 5
    graph = read_quantised(model)
    inside = next(node.output for node in graph.nodes if isinstance(node, Quantise))
    made = next(node.inputs[0] for node in graph.nodes if isinstance(node, Dequantise))
    document = json.loads((rtl / "programs" / "tiny.json").read_text(encoding="utf-8"))
    assert (rtl / "programs" / "tiny.weights.bin").stat().st_size == document["regions"]["weights"]["bytes"]

    block = re.search(r"^```c\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert block is not None
    (rtl / "page.c").write_text(block[1].replace("digits", "tiny"), encoding="utf-8")
    subprocess.run(["cc", *STRICT, "-O1", "-c", "page.c", "cluster_driver.c"], cwd=rtl, check=True)
    checked(rtl, "cluster")
    checked(rtl, "cluster", "page.c")

    one = driven(rtl, "cluster", ["tiny"], more=MORE)
    one.driver.scale.restype = ctypes.c_float
    one.system.memory[:] = 0xA5
    assert (one.driver.probe(), one.driver.load()) == (OK, OK)
    for seed in range(2):
        image = np.random.default_rng(seed).normal(size=(1, 3, 8, 6)).astype(np.float32)
        tensors = execute(graph, {"x": image})
        content = np.ascontiguousarray(tensors[inside]).view(np.uint8)
        assert one.driver.store(0, 0, content.ctypes.data_as(ctypes.c_void_p), content.size) == OK
        assert one.driver.start(0) == OK
        if seed == 0:
            assert one.driver.wait(0) == OK
        else:
            assert one.system.run_to_interrupt(1_000_000)
            assert one.driver.acknowledge() == OK
        output = fetched(one, 0, tensors[made].size).reshape(tensors[made].shape)
        np.testing.assert_array_equal(output, tensors[made])
        assert len(np.unique(output)) > 4
        numbers = (output.astype(np.float32) - one.driver.zero_point()) * np.float32(one.driver.scale())
        np.testing.assert_array_equal(numbers, tensors[graph.outputs[0]])
    assert one.system.refused == []
