"""Depthwise and first layers on a cluster of 64 multipliers: DS-CNN and MobileNetV1-0.25 (96 x 96) of MLPerf Tiny,
with random weights, their maps resident in the TCDM; cycles are predicted, each layer from where it begins to where
the next one does.

`lanes` is the part of the multipliers that a layer's iterations keep busy, which edges and zeros between groups
limit; `cycles` is the part over all its cycles. Marks: depthwise layers keep 0.25 of the lanes busy on HWCs without a
window for columns, which is all that lanes of m4 x c4 have for channels of their own, and 0.5 with one. The area is
the model's.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from examples.accelerator import HARDWARE
from examples.quantising import quantise
from hwgen.arch.dram import Dram
from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.hardware import Hardware
from hwgen.ir.network.graph import Graph
from hwgen.lower.network.cluster_plan import plan_cluster
from hwgen.lower.network.parts import LayerPart
from hwgen.model.area.assumed import cluster_of, hwc_of
from hwgen.model.area.estimate import estimated_cluster, estimated_hwc
from hwgen.model.cycle_bound import least_iterations
from hwgen.readers.integers.reader import read_quantised

CLUSTER = HARDWARE / "cluster_64_vector.yaml"
BUSY = {False: 0.25, True: 0.5}
"""The part of the lanes that depthwise layers keep busy, without and with a window."""
Row = tuple[int, int, tuple[int, int], int, tuple[int, int, int, int]]
"""Output channels, groups, kernel, stride, padding."""


def ds_cnn() -> tuple[tuple[int, int, int], list[Row]]:
    """Input and convolutions."""
    rows: list[Row] = [(64, 1, (10, 4), 2, (4, 1, 5, 1))]
    return (1, 49, 10), rows + 4 * [(64, 64, (3, 3), 1, (1, 1, 1, 1)), (64, 1, (1, 1), 1, (0, 0, 0, 0))]


def mobilenet() -> tuple[tuple[int, int, int], list[Row]]:
    """Input and convolutions."""
    rows: list[Row] = [(8, 1, (3, 3), 2, (0, 0, 1, 1))]
    for channels, stride in (
        (16, 1),
        (32, 2),
        (32, 1),
        (64, 2),
        (64, 1),
        (128, 2),
        *5 * [(128, 1)],
        (256, 2),
        (256, 1),
    ):
        inputs = rows[-1][0]
        rows.append((inputs, inputs, (3, 3), stride, (0, 0, 1, 1) if stride == 2 else (1, 1, 1, 1)))
        rows.append((channels, 1, (1, 1), 1, (0, 0, 0, 0)))
    return (3, 96, 96), rows


NETWORKS = {"DS-CNN": (ds_cnn, 12), "MobileNetV1-0.25": (mobilenet, 2)}
"""The networks by name, and their number of classes."""


def read(shape: tuple[int, int, int], rows: list[Row], classes: int) -> Graph:
    """The quantised network."""
    rng = np.random.default_rng(1)
    nodes, constants, channels, at = [], [], shape[0], "x"

    def constant(name: str, *size: int) -> str:
        values = rng.normal(size=size) * np.sqrt(2 / np.prod(size[1:]))
        constants.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    for number, (outputs, groups, kernel, stride, padding) in enumerate(rows):
        weights = constant(f"w{number}", outputs, channels // groups, *kernel)
        nodes += [
            helper.make_node("Conv", [at, weights], [f"s{number}"], group=groups, kernel_shape=kernel,
                             strides=[stride, stride], pads=padding, name=f"conv{number}"),
            helper.make_node("Relu", [f"s{number}"], [f"r{number}"]),
        ]  # fmt: skip
        channels, at = outputs, f"r{number}"
    nodes += [
        helper.make_node("GlobalAveragePool", [at], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("MatMul", ["flat", constant("classes", channels, classes)], ["y"]),
    ]
    values = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, size)]
        for name, size in (("x", [1, *shape]), ("y", [1, classes]))
    ]
    graph = helper.make_graph(nodes, "network", *values, initializer=constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    image = {"x": rng.normal(size=(1, *shape)).astype(np.float32)}
    with TemporaryDirectory(prefix="hwgen-") as folder:
        return read_quantised(quantise(model, Path(folder) / "network.onnx", [image]))


def measure(name: str, graph: Graph, hardware: Hardware) -> bool:
    """One network, printed."""
    mark = BUSY[hardware.column_window]
    plan = plan_cluster(graph, hardware, resident=True)
    timing = (hardware.cluster and hardware.cluster.dram) or Dram()
    total, macs, work, spent = 0.0, 0, 0, 0.0  # the last three of depthwise layers
    lines = []
    for stretch in plan.stretches:
        parts, times = stretch.program.part_times(timing)
        total += times.total
        for one, took in zip(stretch.layers, parts, strict=True):
            if not isinstance(one.part, LayerPart):
                lines.append(f"    {one.node.name}: {took.cycles:,.0f} cycles")
                continue
            layer = one.part.program.schedule.layer
            offered = least_iterations(layer, hardware.shape) * hardware.shape.product
            busy = layer.macs / (took.cycles * plan.lanes)
            lines.append(
                f"    {one.node.name}: {took.cycles:,.0f} cycles, lanes {layer.macs / offered:.3f}, cycles "
                f"{busy:.3f}, {layer.form.as_data() or 'as it is'}"
            )
            if layer.of_network.groups > 1:
                macs, work, spent = macs + layer.macs, work + offered, spent + took.cycles
    met = macs / work >= mark
    print(
        f"  {name}: {total:,.0f} cycles; depthwise layers {spent:,.0f} of them, lanes {macs / work:.3f} (at least "
        f"{mark}), cycles {macs / (spent * plan.lanes):.3f}: {'met' if met else 'MISSED'}",
        *lines,
        sep="\n",
        flush=True,
    )
    return met


def main() -> bool:
    """Measure, print, and say whether the marks are met."""
    met, graphs = True, {name: read(*network(), classes) for name, (network, classes) in NETWORKS.items()}
    for window in (False, True):
        hardware = load_hardware(CLUSTER).model_copy(update={"column_window": window})
        hwc = hwc_of(hardware)
        area, cluster = estimated_hwc(hwc), estimated_cluster(cluster_of(hardware, hwc))
        print(
            f"depthwise layers on {CLUSTER.stem} {'with' if window else 'without'} a window (load of the machine "
            f"{os.getloadavg()[0]:.1f}), an estimated {cluster.lut4:,} LUT4-equivalents, {area.lut4:,} in each HWC:"
        )
        for name, graph in graphs.items():
            met = measure(name, graph, hardware) and met
    return met
