"""What examples judge: the cycles of a layer with those of the node that runs beside it, of others alone."""

from typing import Any

from examples.accelerator import with_those_beside


def ran(node: str, predicted: int, measured: int, beside: str | None = None) -> dict[str, Any]:
    return {"node": node, "cycles": {"predicted": predicted, "measured": measured}, "beside": beside}


def test_a_node_is_judged_with_the_layer_beside_which_it_runs() -> None:
    """What the sum has less than predicted the convolution has more; the layer after them is judged alone."""
    layers = [ran("conv", 1000, 1020), ran("sum", 100, 80, "conv"), ran("last", 50, 60)]
    assert with_those_beside(layers) == [
        {"node": "conv", "cycles": {"predicted": 1100, "measured": 1100}},
        {"node": "last", "cycles": {"predicted": 50, "measured": 60}},
    ]
    assert layers[0]["cycles"]["measured"] == 1020
    on_an_hwc = [{"node": "conv", "cycles": {"predicted": 1000, "measured": 1020}}]
    assert with_those_beside(on_an_hwc) == on_an_hwc
