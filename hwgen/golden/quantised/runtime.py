"""ONNX Runtime: it runs what the hardware does not, and whole models to compare with."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hwgen.golden.quantised.padding import with_pads
from hwgen.ir.document import InputError
from hwgen.quantised.kinds import HostOperator

__all__ = ["host_outputs", "model_outputs"]


def _session(model: bytes, where: str) -> Any:
    """A session of a model; raises `InputError` for one that ONNX Runtime does not take."""
    try:
        import onnxruntime
    except ImportError:
        raise InputError(f"{where}: running it needs onnxruntime (in the checkout: pip install '.[onnx]')") from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Processors without VNNI add pairs of products in 16 bits, which saturate; this keeps their sums exact.
    options.add_session_config_entry("session.x64quantprecision", "1")
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its exceptions have no common base but this
        raise InputError(f"{where}: ONNX Runtime refuses it: {' '.join(str(error).split())[:200]}") from None


def host_outputs(node: HostOperator, operands: Mapping[str, NDArray]) -> Sequence[NDArray]:
    """The outputs of one operator on numbers."""
    import onnx

    helper = onnx.helper
    proto = onnx.NodeProto.FromString(node.proto)
    graph = helper.make_graph(
        [proto],
        "host",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in operands.items()
        ],
        [helper.make_value_info(name, onnx.TypeProto()) for name in node.outputs],
        [onnx.numpy_helper.from_array(array, name) for name, array in node.constants.items()],
    )
    model = with_pads(helper.make_model(graph, opset_imports=[helper.make_opsetid("", node.opset)], ir_version=8))
    found: Sequence[NDArray] = _session(model.SerializeToString(), node.name).run(None, dict(operands))
    return found


def model_outputs(path: Path, inputs: Mapping[str, NDArray], tensors: Sequence[str]) -> dict[str, NDArray]:
    """What ONNX Runtime makes of a model's inputs: outputs and the tensors of these names, of all images."""
    import onnx

    model = with_pads(onnx.load(str(path)))
    own = [value.name for value in model.graph.output]
    given = {value.name for value in model.graph.input}
    made = {name for node in model.graph.node for name in node.output}
    more = [name for name in tensors if name in made and name not in own and name not in given]
    model.graph.output.extend(onnx.helper.make_value_info(name, onnx.TypeProto()) for name in more)
    found = _session(model.SerializeToString(), str(path)).run(None, dict(inputs))
    return dict(zip([*own, *more], found, strict=True))
