"""Depthwise layers whose columns pass through a window: counts against the literal oracle, operands, refusals."""

from random import Random

import numpy as np
import pytest

from hwgen.arch.layer_forms import network_weights, run_weights
from hwgen.ir.document import InputError
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Form, Layer
from hwgen.ir.schedule import Schedule
from hwgen.lower.hwc import compile_layer
from hwgen.model.cycle_bound import least_iterations, windowed
from hwgen.model.nest.one_level import predict
from tests.oracles.nest_walk import walk
from tests.random.layers import WINDOWS, hwc, random_depthwise, schedules_for

LAYER = Layer(name="dw", op="depthwise_conv", input_channels=8, output_channels=8, input_height=5, input_width=6,
              kernel=3, padding=1, groups=8)  # fmt: skip
WINDOW = Form(groups_at_once=4, column_window=True)


@pytest.mark.parametrize("name", sorted(WINDOWS))
def test_counts_are_the_oracles(name: str) -> None:
    schedules = schedules_for(hwc(name), Random(f"window of {name}"), 40, most_macs=4000)
    assert sum(schedule.layer.form.column_window for schedule in schedules) > 20
    for schedule in schedules:
        predicted, walked = predict(schedule), walk(schedule)
        assert not list(walked.counts.differences(predicted.counts, ("elements", "bytes", "words"))), schedule
        assert (walked.need, walked.iterations) == (predicted.need, predicted.iterations), schedule


def test_each_weight_is_where_its_column_is_in_the_window() -> None:
    """The newest column first: three columns of a kernel, in a row of four lanes."""
    run = LAYER.in_form(WINDOW)
    weights = np.arange(8 * 9, dtype=np.int8).reshape(8, 1, 3, 3)
    found = run_weights(run, weights)
    assert found[2, :, 1, 0].tolist() == [*weights[2, 0, 1, ::-1], 0]
    assert found.size == run.weight_elements == 8 * 4 * 3


def test_outputs_are_sums_over_what_is_in_the_window() -> None:
    """Random layers, column by column, by the arrangement of the weights."""
    rng, values = Random(5), np.random.default_rng(5)
    for number in range(40):
        layer = random_depthwise(rng, "random", 4000)
        for run in windowed(layer, Lanes(m=4, c=4)):
            (rows, columns), (down, across), (top, left, bottom, right) = layer.kernel, layer.stride, layer.padding
            inputs = values.integers(-9, 9, (layer.input_channels, layer.input_height, layer.input_width))
            weights = values.integers(-9, 9, (layer.output_channels, 1, rows, columns))
            placed = run_weights(run, weights)
            assert np.array_equal(network_weights(run, placed), weights)
            padded = np.pad(inputs, ((0, 0), (top, bottom), (left, right)))
            channel, y, x = 1, layer.output_height - 1, layer.output_width - 1
            window = padded[channel, y * down : y * down + rows, x * across : x * across + columns]
            newest_first = sum(
                int(placed[channel, back, row, 0]) * int(window[row, columns - 1 - back])
                for row in range(rows)
                for back in range(columns)
            )
            assert newest_first == (window * weights[channel, 0]).sum(), (number, run)


def test_a_column_takes_an_iteration() -> None:
    run = LAYER.in_form(WINDOW)
    assert (run.columns_passed(1), run.columns_passed(6)) == (3, 8)
    assert least_iterations(run, Lanes(m=4, c=4)) == 2 * 5 * 3 * 8
    strided = LAYER.model_copy(update={"stride": (2, 2), "output_height": 3, "output_width": 3}).in_form(WINDOW)
    assert strided.columns_passed(3) == 7


@pytest.mark.parametrize(("change", "form", "line"), [
    ({"input_channels": 4, "groups": 4}, WINDOW,
     "column_window: expected groups of one input and one output channel, got 1 and 2"),
    ({}, Form(groups_at_once=2, column_window=True),
     "column_window: expected a kernel of 2 to 2 columns, as many as groups_at_once, got 3"),
    ({"kernel": (3, 1), "padding": (1, 0, 1, 0)}, WINDOW,
     "column_window: expected a kernel of 2 to 4 columns, as many as groups_at_once, got 1"),
    ({"stride": (1, 4), "output_width": 2}, WINDOW,
     "column_window: expected a horizontal stride of at most the kernel's 3 columns, as all columns pass, got 4"),
])  # fmt: skip
def test_layers_that_are_not_for_it(change: dict[str, object], form: Form, line: str) -> None:
    layer = Layer.model_validate(LAYER.model_dump() | change)
    with pytest.raises(ValueError, match=line):
        layer.in_form(form)


def schedule(**steps: int) -> dict[str, object]:
    m, c, x = (steps.get(dim, 4) for dim in "mcx")
    nest = [{"m": m}, {"y": 2}, {"x": x}, {"buffer": "O"}, {"c": c}, {"buffer": "I"}, {"k": 1}, {"buffer": "W"},
            {"l": 1}, {"m": min(m, 4)}, {"y": 1}, {"x": 1}]  # fmt: skip
    return {
        "format": 1, "kind": "schedule", "layer": LAYER.model_dump(mode="json"), "groups_at_once": 4,
        "column_window": True, "nest": nest, "lanes": {"m": 4, "c": 4}, "requantisation": "scaled",
    }  # fmt: skip


def test_a_schedule_says_it_and_needs_hardware_for_it() -> None:
    found = Schedule.from_data(schedule())
    assert Schedule.from_data(found.as_data()) == found
    assert found.as_data()["column_window"] is True
    compile_layer(found, hwc("window"))
    without = hwc("window").model_copy(update={"column_window": False})
    with pytest.raises(InputError, match="dw: column_window: expected hardware that has one, got hardware window"):
        compile_layer(found, without)
    with pytest.raises(InputError, match=r"nest: m: expected steps of whole groups_at_once, 4, .* got 2"):
        compile_layer(Schedule.from_data(schedule(m=2)), hwc("window"))
    with pytest.raises(InputError, match="column_window: expected true or false, got 'yes'"):
        Schedule.from_data({**schedule(), "column_window": "yes"})
