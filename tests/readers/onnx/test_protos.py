"""Operators as messages of ONNX and back."""

import onnx
import pytest
from onnx import AttributeProto, TensorProto, helper

from hwgen.readers.onnx.protos import operation_of, proto_of


def node(**attributes: object) -> onnx.NodeProto:
    return helper.make_node("Conv", ["x", "", "b"], ["y"], name="n", domain="my.own", **attributes)


@pytest.mark.parametrize(
    "attributes",
    [
        {
            "group": 2,
            "auto_pad": "SAME_UPPER",
            "pads": [0, 1],
            "alpha": 0.1,
            "scales": [0.5, 1.0],
            "names": ["a", "b"],
        },
        {"value": helper.make_tensor("t", TensorProto.INT8, [1], [3]), "channels_last": 0},
    ],
)
def test_a_node_comes_back_as_it_was(attributes: dict[str, object]) -> None:
    given = node(**attributes)
    assert proto_of(operation_of(given)) == given


def test_an_empty_list_stays_one() -> None:
    given = node()
    given.attribute.add(name="axes", type=AttributeProto.INTS)
    operation = operation_of(given)
    assert operation.attributes == {"axes": []}
    assert proto_of(operation) == given


def test_types_of_attributes_may_be_left_out() -> None:
    given = node(group=2, auto_pad="VALID", pads=[1, 0])
    bare = node(group=2, auto_pad="VALID", pads=[1, 0])
    for attribute in bare.attribute:
        attribute.ClearField("type")
    assert operation_of(bare).attributes == operation_of(given).attributes
    bare.attribute.add(name="nothing")
    assert operation_of(bare).attributes["nothing"] is None
