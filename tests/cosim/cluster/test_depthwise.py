"""Depthwise layers on the built-in cluster for networks, their columns in a window: searched, and run in the RTL."""

import pytest

import hwgen

LAYERS = [
    hwgen.Layer(
        name=f"dw{channels}_{height}_{stride}", op="depthwise_conv", input_channels=channels,
        output_channels=channels, input_height=height, input_width=width, kernel=kernel, stride=stride,
        padding=padding, groups=channels,
    )
    for channels, height, width, kernel, stride, padding in (
        (36, 32, 32, (3, 3), 1, (1, 1, 1, 1)),
        (64, 25, 5, (3, 3), 1, (1, 1, 1, 1)),
        (16, 24, 24, (3, 3), 2, (0, 0, 1, 1)),
        (16, 48, 48, (3, 3), 2, (0, 0, 1, 1)),
        (12, 9, 13, (5, 4), 1, (2, 1, 2, 2)),
        (6, 7, 11, (2, 3), 3, (0, 1, 1, 0)),
    )
]  # fmt: skip


def test_the_window_is_chosen_and_counts_are_equal() -> None:
    plan = hwgen.schedule(LAYERS, "cluster_64_vector")
    forms = [layer.schedule.layer.form for layer in plan.layers]
    assert [(form.column_window, form.groups_at_once) for form in forms] == [(True, 4)] * 5 + [(True, 3)]
    run = hwgen.cosim(plan)
    run.check()
    # The HWCs fetch about as many words as there are cycles: what these wait at the banks is in the prediction. All
    # that they store at a time of the first layer would be in one bank, but for the distance between its channels.
    for layer in run.layers:
        assert layer.result.predicted_cycles == pytest.approx(layer.cycles, rel=0.02), layer.layer


@pytest.mark.parametrize("stride", [1, 2])
def test_it_takes_fewer_cycles_than_a_diagonal(stride: int) -> None:
    layer = hwgen.Layer(
        name="dw", op="depthwise_conv", input_channels=64, output_channels=64, input_height=12, input_width=12,
        kernel=3, stride=stride, padding=(0, 0, 1, 1) if stride == 2 else 1, groups=64,
    )  # fmt: skip
    hardware = hwgen.hardware("cluster_64_vector")
    without = hwgen.schedule(layer, hardware.model_copy(update={"column_window": False}))
    with_it = hwgen.schedule(layer, hardware)
    assert with_it.cycles < 0.85 * without.cycles
    assert with_it.bytes < without.bytes, "weights have fewer zeros"
