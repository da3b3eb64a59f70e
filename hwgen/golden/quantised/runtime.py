"""ONNX Runtime: it runs what the hardware does not, and whole models to compare with.

It says nothing: its log lines are off, and what it refuses is an `InputError` in one line.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.golden.quantised.padding import with_pads
from hwgen.ir.builtin import how_to_install
from hwgen.ir.document import InputError
from hwgen.ir.network.kinds import HostOperator
from hwgen.readers.onnx.file import one_line
from hwgen.readers.onnx.protos import proto_of

__all__ = ["host_outputs", "model_outputs"]

FATAL = 4
"""The severity below which nothing is logged."""
EXACT_SUMS = ("session.x64quantprecision", "1")
"""Processors without VNNI add pairs of products in 16 bits, which saturate; this keeps the sums exact there. Models
with int8 activations do not start with it: there are no kernels for them."""


def _run(model: bytes, inputs: Mapping[str, NDArray], where: str, *, exact: bool) -> Sequence[NDArray]:
    """What a model makes, with all optimisations with which it runs; raises `InputError` if it does with none.

    ``exact`` : sums of products of integers must not saturate.
    """
    runtime = _runtime(where)
    levels = runtime.GraphOptimizationLevel
    kept = [EXACT_SUMS] if exact and _saturates() else []
    options = runtime.RunOptions()
    options.log_severity_level = FATAL
    refusal = ""
    # With fewer optimisations what is between quantisers is computed in float32, without kernels of integers.
    tries = ((levels.ORT_ENABLE_ALL, kept), (levels.ORT_ENABLE_BASIC, ()), (levels.ORT_DISABLE_ALL, ()))
    for level, entries in tries:
        try:
            found: Sequence[NDArray] = _started(runtime, model, level, entries).run(None, dict(inputs), options)
        except Exception as error:  # its exceptions have no common base but this
            refusal = refusal or one_line(error)
        else:
            return found
    raise InputError(f"{where}: ONNX Runtime does not run it: {refusal}")


def _runtime(where: str) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise InputError(f"{where}: running it needs onnxruntime ({how_to_install('onnx')})") from None
    onnxruntime.set_default_logger_severity(FATAL)
    return onnxruntime


def _started(runtime: Any, model: bytes, level: Any, entries: Sequence[tuple[str, str]] = ()) -> Any:
    options = runtime.SessionOptions()
    options.log_severity_level = FATAL
    options.graph_optimization_level = level
    for key, value in entries:
        options.add_session_config_entry(key, value)
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@cache
def _saturates() -> bool:
    """Whether sums of products of uint8 and int8 saturate on this processor: the greatest ones are tried."""
    from onnx import TensorProto, helper

    columns = 64
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["a", "b"], ["c"])],
        "probe",
        [
            helper.make_tensor_value_info("a", TensorProto.UINT8, [columns, columns]),
            helper.make_tensor_value_info("b", TensorProto.INT8, [columns, columns]),
        ],
        [helper.make_tensor_value_info("c", TensorProto.INT32, [columns, columns])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()
    runtime = _runtime("probe")
    session = _started(runtime, model, runtime.GraphOptimizationLevel.ORT_ENABLE_ALL)
    most = {"a": np.full((columns, columns), 255, np.uint8), "b": np.full((columns, columns), 127, np.int8)}
    return bool((session.run(None, most)[0] != 255 * 127 * columns).any())


def host_outputs(node: HostOperator, operands: Mapping[str, NDArray]) -> Sequence[NDArray]:
    """The outputs of one operator on numbers."""
    import onnx

    helper = onnx.helper
    graph = helper.make_graph(
        [proto_of(node.operation)],
        "host",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in operands.items()
        ],
        [helper.make_value_info(name, onnx.TypeProto()) for name in node.outputs],
        [onnx.numpy_helper.from_array(array, name) for name, array in node.constants.items()],
    )
    model = with_pads(helper.make_model(graph, opset_imports=[helper.make_opsetid("", node.opset)], ir_version=8))
    return _run(model.SerializeToString(), operands, node.name, exact=False)


def model_outputs(path: Path, inputs: Mapping[str, NDArray], tensors: Sequence[str]) -> dict[str, NDArray]:
    """What ONNX Runtime makes of a model's inputs: outputs and the tensors of these names, of all images.

    The model is run once, as it is in the file.
    """
    import onnx

    model = with_pads(onnx.load(str(path)))
    own = [value.name for value in model.graph.output]
    given = {value.name for value in model.graph.input}
    made = {name for node in model.graph.node for name in node.output}
    more = [name for name in tensors if name in made and name not in own and name not in given]
    model.graph.output.extend(onnx.helper.make_value_info(name, onnx.TypeProto()) for name in more)
    found = _run(model.SerializeToString(), inputs, str(path), exact=True)
    return dict(zip([*own, *more], found, strict=True))
