"""Random small models of 2 to 8 nodes, quantised by ``onnxruntime.quantization`` in one of its two forms."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

OPSET = 17


class Images(CalibrationDataReader):
    """Random images to calibrate with."""

    def __init__(self, model: Any, rng: np.random.Generator, count: int = 3) -> None:
        (value,) = model.graph.input
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        self.images = [{value.name: random_image(rng, shape)} for _ in range(count)]
        self._left = iter(self.images)

    def get_next(self) -> Any:
        return next(self._left, None)


def random_image(rng: np.random.Generator, shape: list[int]) -> NDArray[np.float32]:
    return (rng.normal(size=shape) * 2 + 0.3).astype(np.float32)


class _Builder:
    """A model that grows by random nodes."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.flat = bool(rng.integers(5) == 0)
        """Maps of one dimension."""
        sizes = [int(one) for one in rng.integers(5, 14, 1 if self.flat else 2)]
        self.shape = [1, int(rng.integers(1, 9)), *sizes]
        self.input, self.last = list(self.shape), "x"
        self.skipped: list[tuple[str, list[int]]] = []

    def integer(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def node(self, operator: str, inputs: list[str], shape: list[int], **attributes: Any) -> None:
        self.skipped.append((self.last, self.shape))
        self.last = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [self.last], f"n{len(self.nodes)}", **attributes))
        self.shape = shape

    @property
    def spatial(self) -> int:
        return len(self.shape) - 2

    # --- kinds ---

    def convolution(self) -> None:
        channels = self.shape[1]
        divisors = [one for one in range(1, channels + 1) if channels % one == 0]
        groups = int(self.rng.choice(divisors))
        outputs = groups * self.integer(1, 3)
        kernel = [min(self.integer(1, 3), size) for size in self.shape[2:]]
        dilation = [
            1 if (taps - 1) * 2 >= size else self.integer(1, 2)
            for taps, size in zip(kernel, self.shape[2:], strict=True)
        ]
        stride = [self.integer(1, 2) for _ in kernel]
        pads = [self.integer(0, taps - 1) for taps in kernel * 2]
        reach = [(taps - 1) * apart + 1 for taps, apart in zip(kernel, dilation, strict=True)]
        half = len(kernel)
        sizes = [
            (size + pads[at] + pads[at + half] - reach[at]) // stride[at] + 1
            for at, size in enumerate(self.shape[2:])
        ]
        weights = self.rng.normal(size=(outputs, channels // groups, *kernel))
        inputs = [self.last, self.constant(weights)]
        if self.integer(0, 3):
            inputs.append(self.constant(self.rng.normal(size=outputs)))
        self.node("Conv", inputs, [1, outputs, *sizes], kernel_shape=kernel, group=groups, dilations=dilation,
                  strides=stride, pads=pads)  # fmt: skip
        if self.integer(0, 2) == 0:
            self.clip()

    def transposed(self) -> None:
        channels, outputs = self.shape[1], self.integer(1, 6)
        kernel = [self.integer(1, 3) for _ in range(self.spatial)]
        stride = [self.integer(1, 2) for _ in kernel]
        pads = [self.integer(0, (taps - 1) // 2) for taps in kernel * 2]
        half = len(kernel)
        sizes = [
            stride[at] * (size - 1) + kernel[at] - pads[at] - pads[at + half]
            for at, size in enumerate(self.shape[2:])
        ]
        weights = self.constant(self.rng.normal(size=(channels, outputs, *kernel)))
        bias = self.constant(self.rng.normal(size=outputs))
        self.node("ConvTranspose", [self.last, weights, bias], [1, outputs, *sizes], kernel_shape=kernel,
                  strides=stride, pads=pads)  # fmt: skip

    def clip(self) -> None:
        if self.integer(0, 1):
            self.node("Relu", [self.last], self.shape)
        else:
            low, high = sorted(float(one) for one in self.rng.normal(size=2) * 2)
            self.node("Clip", [self.last, self.constant(low), self.constant(high)], self.shape)

    def activation(self) -> None:
        name = str(self.rng.choice(["LeakyRelu", "Sigmoid", "HardSwish", "PRelu", "Tanh", "HardSigmoid"]))
        slopes = [self.constant(self.rng.uniform(0.05, 0.9, (self.shape[1], *[1] * self.spatial)))]
        self.node(name, [self.last, *(slopes if name == "PRelu" else [])], self.shape)

    def normalisation(self) -> None:
        channels = self.shape[1]
        named = [self.constant(values) for values in (
            self.rng.uniform(0.3, 2, channels), self.rng.normal(size=channels), self.rng.normal(size=channels) * 0.3,
            self.rng.uniform(0.3, 2, channels))]  # fmt: skip
        self.node("BatchNormalization", [self.last, *named], self.shape)

    def addition(self) -> None:
        others = [name for name, shape in self.skipped if shape == self.shape and name != self.last]
        if not others:
            self.activation()
            others = [self.skipped[-1][0]]
        names = [self.last, str(self.rng.choice(others))]
        if len(others) > 1 and self.integer(0, 3) == 0:
            self.node("Sum", [self.last, *others[:2]], self.shape)
        else:
            self.node("Add", names, self.shape)
        if self.integer(0, 2) == 0:
            self.clip()

    def offset(self) -> None:
        values = self.rng.normal(size=(self.shape[1], *[1] * self.spatial))
        self.node(str(self.rng.choice(["Add", "Mul"])), [self.last, self.constant(values)], self.shape)

    def concatenation(self) -> None:
        others = [(name, shape) for name, shape in self.skipped if shape[2:] == self.shape[2:]] or [
            (self.last, self.shape)
        ]
        name, shape = others[self.integer(0, len(others) - 1)]
        self.node("Concat", [self.last, name], [1, self.shape[1] + shape[1], *self.shape[2:]], axis=1)

    def pool(self) -> None:
        average = bool(self.integer(0, 1))
        if self.integer(0, 4) == 0:
            self.node(
                f"Global{'Average' if average else 'Max'}Pool", [self.last], [*self.shape[:2], *[1] * self.spatial]
            )
            return
        kernel = [min(self.integer(1, 3), size) for size in self.shape[2:]]
        stride = [self.integer(1, 2) for _ in kernel]
        pads = [self.integer(0, taps - 1) for taps in kernel * 2]
        # Where sizes are rounded up, ONNX Runtime's integer average counts what is beyond the padding; ONNX does not.
        include = bool(average and self.integer(0, 1))
        up = not include and self.integer(0, 3) == 0
        if any(
            (size - 1) // step * step >= size + pads[at] - step
            for at, (size, step) in enumerate(zip(self.shape[2:], stride, strict=True))
        ):
            up = False  # the last window might begin in the padding, where rules differ
        more = {"count_include_pad": int(include)} if average else {}
        operator = "AveragePool" if average else "MaxPool"
        settings = {"kernel_shape": kernel, "strides": stride, "pads": pads, "ceil_mode": int(up), **more}
        self.node(operator, [self.last], self.inferred(operator, settings), **settings)

    def inferred(self, operator: str, settings: dict[str, Any]) -> list[int]:
        """The shape that an operator on the last map has."""
        node = helper.make_node(operator, ["x"], ["y"], **settings)
        value = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        graph = helper.make_graph([node], "one", [value], [helper.make_value_info("y", onnx.TypeProto())])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        known = onnx.shape_inference.infer_shapes(model).graph.output[0]
        return [dim.dim_value for dim in known.type.tensor_type.shape.dim]

    def pad(self) -> None:
        widths = [0, self.integer(0, 2), *[self.integer(0, 2) for _ in range(self.spatial)]]
        after = [0, self.integer(0, 2), *[self.integer(0, 2) for _ in range(self.spatial)]]
        shape = [size + one + other for size, one, other in zip(self.shape, widths, after, strict=True)]
        value = [self.constant(float(self.rng.normal()))] if self.integer(0, 1) else []
        self.node("Pad", [self.last, self.constant([*widths, *after], np.int64), *value], shape)

    def resize(self) -> None:
        scales = [1.0, 1.0, *[float(self.integer(1, 2)) for _ in range(self.spatial)]]
        shape = [int(size * scale) for size, scale in zip(self.shape, scales, strict=True)]
        self.node("Resize", [self.last, "", self.constant(scales)], shape, mode="nearest",
                  coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip

    def shuffle(self) -> None:
        if self.spatial == 1 or self.shape[1] % 4:
            order = [0, *(int(one) for one in self.rng.permutation(range(1, len(self.shape))))]
            self.node("Transpose", [self.last], [self.shape[at] for at in order], perm=order)
            return
        _, channels, rows, columns = self.shape
        self.node("DepthToSpace", [self.last], [1, channels // 4, rows * 2, columns * 2], blocksize=2,
                  mode=str(self.rng.choice(["DCR", "CRD"])))  # fmt: skip

    def drop(self) -> None:
        self.node("Dropout", [self.last], self.shape)

    def ending(self) -> None:
        size = int(np.prod(self.shape))
        self.node("Flatten", [self.last], [1, size])
        outputs = self.integer(2, 12)
        weights = self.constant(self.rng.normal(size=(size, outputs)) / size**0.5)
        if self.integer(0, 1):
            self.node("Gemm", [self.last, weights, self.constant(self.rng.normal(size=outputs))], [1, outputs])
        else:
            self.node("MatMul", [self.last, weights], [1, outputs])
        if self.integer(0, 2) == 0:
            self.node("Softmax", [self.last], self.shape, axis=-1)


KINDS = (
    _Builder.convolution, _Builder.convolution, _Builder.convolution, _Builder.transposed, _Builder.activation,
    _Builder.normalisation, _Builder.addition, _Builder.offset, _Builder.concatenation, _Builder.pool, _Builder.pool,
    _Builder.pad, _Builder.resize, _Builder.shuffle, _Builder.drop,
)  # fmt: skip


def random_model(rng: np.random.Generator) -> Any:
    """A model of floats."""
    builder = _Builder(rng)
    wanted = int(rng.integers(2, 9))
    weighted = int(rng.integers(wanted - 1))
    while len(builder.nodes) < wanted:
        if len(builder.nodes) >= weighted and not any(node.op_type == "Conv" for node in builder.nodes):
            builder.convolution()
        else:
            KINDS[int(rng.integers(len(KINDS)))](builder)
        if len(builder.nodes) >= wanted - 2 and rng.integers(3) == 0:
            builder.ending()
            break
    graph = helper.make_graph(
        builder.nodes,
        "random",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, builder.input)],
        [helper.make_tensor_value_info(builder.last, TensorProto.FLOAT, builder.shape)],
        builder.constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def quantised_model(
    rng: np.random.Generator, model: Any, path: Path, *, weights: QuantType = QuantType.QInt8
) -> dict[str, NDArray[np.float32]]:
    """Write the model, quantised, to a file; returns an input that it was calibrated with."""
    images = Images(model, rng)
    # ONNX Runtime has kernels of the QOperator form for unsigned activations, and not for maps of one dimension.
    flat = len(model.graph.input[0].type.tensor_type.shape.dim) < 4
    operators = not flat and bool(rng.integers(2))
    settings = {
        "per_channel": bool(rng.integers(2)),
        "activation_type": QuantType.QUInt8 if operators or rng.integers(2) else QuantType.QInt8,
        "weight_type": weights,
        "extra_options": {"ActivationSymmetric": not operators and bool(rng.integers(4) == 0)},
    }
    if weights is QuantType.QUInt8:
        settings["activation_type"] = weights  # the only ones that go with them
    quantize_static(
        model, str(path), images, quant_format=QuantFormat.QOperator if operators else QuantFormat.QDQ, **settings
    )
    return images.images[0]
