"""The nine networks in the package ``onnx``, whose weights it leaves out, with random ones."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime
from onnx import numpy_helper

__all__ = ["MODELS", "folded", "with_weights"]

MODELS = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


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


def folded(model: Any, path: Path) -> Path:
    """Write the model with its batch normalisations folded, as ONNX Runtime does it."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return path
