"""The nine networks in the package ``onnx`` as integer graphs: what part of them hardware can run, and how near their
integer reference is to ONNX Runtime.

Their weights, which the package leaves out, are random (one seed); batch normalisations are folded by ONNX Runtime;
``onnxruntime.quantization`` quantises them in QDQ form, calibrated with one random image. Marks: at least 99 % of the
multiply-accumulates are hardware's; 99.9 % of the elements are equal and none differs by more than one step; the
reference of SqueezeNet takes at most 10 s.
"""

import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime
from numpy.typing import NDArray
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

from hwgen.golden.quantised.comparison import run_beside, total
from hwgen.golden.quantised.execution import execute
from hwgen.quantised.onnx.reader import read_quantised

MODELS = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
SHARE, SECONDS = 0.99, 10.0
SEED = 1


class OneImage(CalibrationDataReader):
    """Calibration with one image."""

    def __init__(self, image: dict[str, NDArray[np.float32]]) -> None:
        self._left: Iterator[dict[str, NDArray[np.float32]]] = iter([image])

    def get_next(self) -> Any:
        return next(self._left, None)


def with_weights(path: Path, rng: np.random.Generator) -> Any:
    """The model with random weights in place of the constants that stand for them."""
    model = onnx.load(path)
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    positive = {
        name
        for node in model.graph.node
        if node.op_type == "BatchNormalization"
        for name in (node.input[1], node.input[4])
    }
    nodes, made = [], []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape":
            nodes.append(node)
            continue
        shape = [int(size) for size in shapes[node.input[0]]]
        if node.output[0] in positive:
            values = rng.uniform(0.5, 1.5, shape)
        elif len(shape) > 1:
            values = rng.normal(size=shape) * np.sqrt(2 / np.prod(shape[1:]))
        else:
            values = rng.normal(size=shape) * 0.1
        made.append(numpy_helper.from_array(values.astype(np.float32), node.output[0]))
    given = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in given]
    del model.graph.node[:], model.graph.input[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(made)
    model.graph.input.extend(inputs)
    model.ir_version = 8
    return onnx.version_converter.convert_version(model, 13)


def quantise(path: Path, folder: Path, rng: np.random.Generator) -> tuple[Path, dict[str, NDArray[np.float32]]]:
    """The quantised model, and an image."""
    model = with_weights(path, rng)
    folded, quantised = folder / "folded.onnx", folder / f"{path.stem}.onnx"
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(folded)
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    (value,) = model.graph.input
    image = {value.name: rng.normal(size=(1, 3, 224, 224)).astype(np.float32)}
    quantize_static(
        str(folded), str(quantised), OneImage(image), per_channel=True, activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
    )  # fmt: skip
    return quantised, image


def measure(path: Path) -> bool:
    """One network, printed as a row."""
    with TemporaryDirectory(prefix="hwgen-") as name:
        quantised, image = quantise(path, Path(name), np.random.default_rng(SEED))
        started = time.process_time()
        graph = read_quantised(quantised)
        imported = time.process_time()
        execute(graph, image)
        seconds = time.process_time() - imported
        beside = run_beside(quantised, graph, image, path.stem)
    macs, moved = graph.share()
    whole, hosts = total(beside.agreements), sorted({node.label for node in graph.nodes if not node.hardware})
    met = macs >= SHARE and whole.holds and (path.stem != "light_squeezenet" or seconds <= SECONDS)
    end = max(one.largest for one in beside.differences.values())
    print(
        f"  {path.stem}: {graph.work().macs / 1e6:,.0f} M MACs, hardware {macs:.2%} of them, {moved:.1%} of bytes; "
        f"{whole.equal:.4%} of {whole.elements:,} elements equal, largest difference {whole.largest}, {whole.ties:,} "
        f"ties; end to end at most {end:.4f}; import {imported - started:.1f} s, reference {seconds:.1f} s; "
        f"host: {', '.join(hosts)}: {'met' if met else 'MISSED'}",
        flush=True,
    )
    return met


def main() -> bool:
    """Measure, print, and say whether the marks are met."""
    logging.getLogger().setLevel(logging.ERROR)
    print(f"quantised networks, seconds of a processor (load of the machine {os.getloadavg()[0]:.1f}):")
    met = True
    for path in sorted(MODELS.glob("*.onnx")):
        met = measure(path) and met
    return met
