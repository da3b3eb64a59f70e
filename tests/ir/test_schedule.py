"""Schedules and layers: the file format round-trips, and every rule of it is enforced by message."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given

from hwgen.ir.document import InputError
from hwgen.ir.lanes import Lanes
from hwgen.ir.level import TCDM
from hwgen.ir.requantisation import GivenRequantisation, Requantisation
from hwgen.ir.schedule import Loop, Marker, Schedule, load_schedule, save_schedule
from tests.random.nests import schedules

LAYER = {
    "name": "conv4_2", "op": "conv", "input_channels": 512, "output_channels": 512, "input_height": 28,
    "input_width": 28, "output_height": 28, "output_width": 28, "kernel": [3, 3], "stride": [1, 1],
    "padding": [1, 1, 1, 1], "groups": 1,
}  # fmt: skip
FIG_8 = """\
format: 1
kind: schedule
layer: {name: conv4_2, op: conv, input_channels: 512, output_channels: 512, input_height: 28, input_width: 28,
        output_height: 28, output_width: 28, kernel: [3, 3], stride: [1, 1], padding: [1, 1, 1, 1], groups: 1}
bits: {I: 8, W: 8, O: 8, acc: 32}
nest:
- m: 6
- y: 2
- x: 16
- buffer: O
- c: 1
- buffer: [I, W]
- y: 1
- k: 1
- m: 1
- l: 1
lanes: {x: 16}
"""


def fig_8() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(FIG_8)
    return data


def test_the_published_nest(tmp_path: Path) -> None:
    path = tmp_path / "fig8.yaml"
    path.write_text(FIG_8, encoding="utf-8")
    schedule = load_schedule(path)
    assert schedule.loops[:3] == (Loop("m", 6), Loop("y", 2), Loop("x", 16))
    assert schedule.nest[3] == Marker(("O",))
    assert [schedule.marked_loop(array) for array in ("O", "I", "W")] == [3, 4, 4]
    assert schedule.marked_loop("I", TCDM) is None
    assert schedule.layer.extents == {"m": 512, "c": 512, "y": 28, "x": 28, "k": 3, "l": 3}
    assert schedule.iteration_size(0) == {"n": 1, **schedule.layer.extents}
    assert schedule.iteration_size(4) == {"n": 1, "m": 6, "c": 1, "y": 2, "x": 16, "k": 3, "l": 3}
    assert schedule.as_data() == fig_8()


def test_a_requantisation_comes_back_and_only_what_was_said(tmp_path: Path) -> None:
    data = fig_8()
    data["layer"]["requantisation"] = {"shift": 10, "relu": True}
    schedule = Schedule.from_data(data)
    assert schedule.layer.requantisation == GivenRequantisation(shift=10, relu=True)
    assert schedule.layer.requantisation_at(8) == Requantisation.shifted(10, relu=True)
    assert schedule.layer.shape_data == Schedule.from_data(fig_8()).layer.shape_data
    save_schedule(schedule, tmp_path / "s.yaml")
    assert load_schedule(tmp_path / "s.yaml") == schedule
    assert schedule.as_data() == data


def test_sizes_of_a_layer() -> None:
    layer = Schedule.from_data(fig_8()).layer
    assert layer.macs == 512 * 512 * 28 * 28 * 9
    assert (layer.input_elements, layer.output_elements) == (512 * 28 * 28, 512 * 28 * 28)
    assert layer.weight_elements == 512 * 512 * 9


@given(schedules())
def test_round_trip(schedule: Schedule) -> None:
    text = yaml.safe_dump(schedule.as_data())
    assert Schedule.from_data(yaml.safe_load(text)) == schedule


def test_levels_and_spread_loops_round_trip(tmp_path: Path) -> None:
    data = fig_8()
    data["nest"] = [
        {"buffer": {"tcdm": ["I", "W", "O"]}}, {"m": {"step": 96, "over": "hwc"}}, {"m": 6}, {"y": 2}, {"x": 16},
        {"buffer": "O"}, {"c": 1}, {"buffer": ["I", "W"]}, {"y": 1}, {"k": 1}, {"m": 1}, {"l": 1},
    ]  # fmt: skip
    schedule = Schedule.from_data(data)
    assert schedule.loops[0] == Loop("m", 96, "hwc")
    assert schedule.marked_loop("W", TCDM) == 0
    path = tmp_path / "two_levels.yaml"
    assert save_schedule(schedule, path, ["found by hand"])
    assert path.read_text(encoding="utf-8").startswith("# found by hand\nformat: 1\nkind: schedule\n")
    assert not save_schedule(schedule, path, ["found by hand"])
    assert load_schedule(path) == schedule


def test_one_lane_along_c_is_told_with_operands_of_16_bits() -> None:
    lanes, wide = {"x": 16, "c": 1}, {"I": 16, "W": 16, "O": 16, "acc": 32}
    narrow = Schedule.from_data({**fig_8(), "lanes": lanes})
    assert narrow.lanes == Lanes(x=16)
    left = Schedule.from_data({**fig_8(), "lanes": lanes, "bits": wide})
    assert left.lanes == Lanes(x=16, c=2).halved()
    assert left.as_data()["lanes"] == lanes
    assert Schedule.from_data({**fig_8(), "lanes": {"x": 16}, "bits": wide}).lanes == Lanes(x=16)


def test_halves_round_trip() -> None:
    data = fig_8()
    data["nest"].insert(0, {"buffer": {"tcdm": ["I", "W"], "double": "halves"}})
    data["nest"].insert(0, {"buffer": {"tcdm": "O"}})
    schedule = Schedule.from_data(data)
    assert [schedule.in_halves(array) for array in ("I", "W", "O")] == [True, True, False]
    assert schedule.as_data()["nest"][1] == {"buffer": {"tcdm": ["I", "W"], "double": "halves"}}
    assert Schedule.from_data(schedule.as_data()) == schedule


def with_nest(position: int, item: Any) -> dict[str, Any]:
    data = fig_8()
    data["nest"][position] = item
    return data


def with_layer(**changes: Any) -> dict[str, Any]:
    data = fig_8()
    data["layer"] = {**LAYER, **changes}
    return data


def without(key: str) -> dict[str, Any]:
    data = copy.deepcopy(fig_8())
    del data[key]
    return data


REJECTED = [
    ("text", "f.yaml: expected a mapping with the keys of a schedule, got 'text'"),
    ({**fig_8(), "kind": "hardware"}, "f.yaml: kind: expected schedule, got 'hardware'"),
    ({**fig_8(), "format": 2}, "f.yaml: format: expected 1, got 2"),
    ({**fig_8(), "speed": 1}, "f.yaml: speed: unknown key"),
    (without("layer"), "f.yaml: layer: missing key"),
    (without("nest"), "f.yaml: nest: missing key"),
    ({**fig_8(), "nest": 5}, "f.yaml: nest: expected a list of loops and markers, got 5"),
    ({**fig_8(), "nest": []}, "f.yaml: nest: m: the innermost step leaves 512, the lanes do 1"),
    (with_nest(0, {"m": 513}), "f.yaml: nest: m: 513: expected a step from 1 to 512"),
    (with_nest(5, {"y": 29}), "f.yaml: nest: y: 29: expected a step from 1 to 2"),
    (with_nest(8, {"m": 7}), "f.yaml: nest: m: 7: expected a step from 1 to 6"),
    (with_nest(8, {"m": 2}), "f.yaml: nest: m: the innermost step leaves 2, the lanes do 1"),
    (with_nest(2, {"x": 17}), "f.yaml: nest: x: the innermost step leaves 17, the lanes do 16"),
    (with_nest(0, {"m": 0}), "f.yaml: nest: item 0: m: expected a step of at least 1, got 0"),
    (with_nest(0, {"m": True}), "f.yaml: nest: item 0: m: expected a step of at least 1, got true"),
    (with_nest(0, {"m": "6"}), "f.yaml: nest: item 0: m: expected a step of at least 1, got '6'"),
    (with_nest(0, {"q": 6}), "f.yaml: nest: item 0: expected one of m c y x k l n or buffer, got 'q'"),
    (with_nest(0, "m"), "f.yaml: nest: item 0: expected one loop ('m: 4') or one marker ('buffer: I'), got 'm'"),
    (with_nest(0, {"m": 6, "y": 2}), "f.yaml: nest: item 0: expected one loop ('m: 4')"),
    (with_nest(0, {"m": {"over": "hwc"}}), "f.yaml: nest: item 0: m: expected step and, where it spreads, over: hwc"),
    (with_nest(0, {"m": {"step": 6, "over": "x"}}), "f.yaml: nest: item 0: m: over: expected hwc, got 'x'"),
    (with_nest(3, {"buffer": "Q"}), "f.yaml: nest: item 3: buffer: expected I, W, O or a list of them, got 'Q'"),
    (with_nest(3, {"buffer": []}), "f.yaml: nest: item 3: buffer: expected I, W, O or a list of them, got []"),
    (with_nest(3, {"buffer": {"a b": "O"}}), "f.yaml: nest: item 3: buffer: expected the name of a level, got 'a b'"),
    (with_nest(3, {"buffer": {"l2": "O", "double": "halves"}}), "f.yaml: nest: item 3: buffer: double: expected"),
    (with_nest(3, {"buffer": {"local": "O", "double": "halves"}}), "f.yaml: nest: item 3: buffer: double: expected"),
    (with_nest(3, {"buffer": {"tcdm": "O", "double": "ring"}}), "f.yaml: nest: item 3: buffer: double: expected"),
    (with_nest(3, {"buffer": "I"}), "f.yaml: nest: buffer: I is marked twice at level local"),
    (with_nest(9, {"buffer": "O"}), "f.yaml: nest: l: the innermost step leaves 3, the lanes do 1"),
    ({**fig_8(), "nest": [*fig_8()["nest"], {"buffer": {"tcdm": "O"}}]}, "f.yaml: nest: expected a loop below"),
    ({**fig_8(), "lanes": {"x": 0}}, "f.yaml: lanes: x: expected at least 1, got 0"),
    ({**fig_8(), "lanes": {"z": 4}}, "f.yaml: lanes: z: expected one of m c y x k l"),
    ({**fig_8(), "bits": {"I": 0}}, "f.yaml: bits: I: expected at least 8, got 0"),
    ({**fig_8(), "bits": {"W": 12}}, "f.yaml: bits: W: expected a multiple of 8, got 12"),
    (with_layer(input_width=-28), "f.yaml: layer: input_width: expected at least 1, got -28"),
    (with_layer(input_width=28.0), "f.yaml: layer: input_width: expected a whole number, got 28.0"),
    (with_layer(groups=5), "f.yaml: layer: input_channels: expected a multiple of groups (5), got 512"),
    (with_layer(output_width=27), "f.yaml: layer: output_width: expected 28 from input 28, padding 2, kernel"),
    (with_layer(padding=[1, 1, 1]), "f.yaml: layer: padding: expected [top, left, bottom, right], [vertical"),
    (with_layer(padding=[1, 1, 1, -1]), "f.yaml: layer: padding: expected [top, left, bottom, right], [vertical"),
    (with_layer(name="a b"), "f.yaml: layer: name: expected letters, digits and any of _ . + -, got 'a b'"),
    (with_layer(name="/etc/passwd"), "f.yaml: layer: name: expected letters, digits and any of _ . + -"),
    (with_layer(name="$(id)"), "f.yaml: layer: name: expected letters, digits and any of _ . + -"),
    (with_layer(op="pool"), "f.yaml: layer: op: expected conv, depthwise_conv or fc, got 'pool'"),
    (with_layer(colour=1), "f.yaml: layer: colour: unknown key"),
    (with_layer(requantisation={"shift": 32}), "f.yaml: layer: requantisation: shift: expected at most 31"),
    (with_layer(requantisation={"relu": 1}), "f.yaml: layer: requantisation: relu: expected true or false"),
    (with_layer(requantisation={"ceiling": 128}), "f.yaml: requantisation: ceiling: expected 0 to 127, got 128"),
    (with_layer(requantisation={"scale": 1}), "f.yaml: layer: requantisation: scale: unknown key"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "message"), REJECTED)
def test_rejected(data: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Schedule.from_data(data, "f.yaml")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
