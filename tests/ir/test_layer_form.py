"""Forms in which layers are run, in values and in schedule files."""

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.layer import AS_IT_IS, Form, Layer
from hwgen.ir.requantisation import GivenRequantisation
from hwgen.ir.schedule import Schedule

LAYER = Layer(name="dw", op="depthwise_conv", input_channels=6, output_channels=12, input_height=3, input_width=4,
              kernel=3, padding=1)  # fmt: skip
NEST = [{"m": 4}, {"y": 1}, {"x": 4}, {"c": 2}, {"k": 1}, {"l": 1}]


def test_the_layer_that_is_run() -> None:
    run = LAYER.in_form(Form(groups_at_once=2))
    assert (run.groups, run.channels_per_group, run.outputs_per_group, run.op) == (3, 2, 4, "conv")
    assert (run.input_channels, run.output_channels, run.name) == (6, 12, "dw")
    assert run.of_network is LAYER
    assert run.in_form(AS_IT_IS) is LAYER
    assert run.in_form(Form(groups_at_once=3)).groups == 2
    assert run.macs == LAYER.macs
    assert run.weight_elements == 2 * LAYER.weight_elements
    assert run.requantisation_at(8) == LAYER.requantisation_at(8)
    assert run.shape_data != LAYER.shape_data
    rectified = run.requantised(GivenRequantisation(relu=True))
    assert (rectified.form, rectified.of_network) == (run.form, LAYER.requantised(GivenRequantisation(relu=True)))


def test_what_a_file_says_is_what_it_is_read_as() -> None:
    data = {"format": 1, "kind": "schedule", "layer": LAYER.model_dump(mode="json"), "groups_at_once": 2,
            "nest": NEST, "lanes": {"m": 4, "c": 2, "x": 4}}  # fmt: skip
    schedule = Schedule.from_data(data)
    assert schedule.layer == LAYER.in_form(Form(groups_at_once=2))
    assert schedule.as_data()["groups_at_once"] == 2
    assert schedule.as_data()["layer"] == LAYER.model_dump(mode="json")
    assert Schedule.from_data(schedule.as_data()) == schedule
    other = LAYER.model_copy(update={"name": "other"})
    assert schedule.of_layer(other) == Schedule.from_data({**data, "layer": other.model_dump(mode="json")})
    plain = Schedule.from_data({**data, "groups_at_once": 1, "nest": [*NEST[:3], {"c": 1}, *NEST[4:]]})
    assert plain.layer == LAYER
    assert "groups_at_once" not in plain.as_data()


@pytest.mark.parametrize(("wrong", "line"), [
    (4, "groups_at_once: expected a divisor of 6 groups, got 4"),
    (0, "groups_at_once: expected at least 1, got 0"),
    (True, "groups_at_once: expected at least 1, got true"),
    ("2", "groups_at_once: expected at least 1, got '2'"),
])  # fmt: skip
def test_refused(wrong: object, line: str) -> None:
    data = {"format": 1, "kind": "schedule", "layer": LAYER.model_dump(mode="json"), "groups_at_once": wrong,
            "nest": NEST, "lanes": {"m": 4, "c": 2, "x": 4}}  # fmt: skip
    with pytest.raises(InputError, match=line):
        Schedule.from_data(data)
    with pytest.raises(InputError, match="layer: input_channels: missing key"):
        Schedule.from_data({**data, "groups_at_once": 2, "layer": {"name": "dw"}})
