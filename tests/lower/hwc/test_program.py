"""Lowering: refusals with their reasons; layout and registers where they can be worked out by hand."""

from typing import Any

import numpy as np
import pytest

from hwgen.arch.layout import layout_of
from hwgen.arch.weights import pack_weights
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Ports
from hwgen.ir.layer import Layer
from hwgen.ir.requantisation import Requantisation, Scale
from hwgen.ir.schedule import Loop, Marker, Schedule
from hwgen.lower.hwc import compile_layer
from hwgen.model.nest.lane_accesses import with_output_at_reduction
from hwgen.model.nest.one_level import predict
from tests.random.layers import HWCS, hwc
from tests.random.nests import cases

FIG_8: list[dict[str, Any]] = [
    *({"m": 2}, {"y": 2}, {"x": 16}, {"buffer": "O"}, {"c": 1}, {"buffer": ["I", "W"]}),
    *({"y": 1}, {"k": 1}, {"m": 1}, {"l": 1}),
]


def schedule(nest: list[dict[str, Any]], lanes: dict[str, int] | None = None, **changes: Any) -> Schedule:
    layer = {
        "name": "small",
        "input_channels": 2,
        "output_channels": 4,
        "input_height": 6,
        "input_width": 20,
        "kernel": [3, 3],
        "stride": [1, 1],
        "padding": [1, 1, 1, 1],
        **changes,
    }
    for axis, (size, before, after) in enumerate((("height", 0, 2), ("width", 1, 3))):
        padded = layer[f"input_{size}"] + layer["padding"][before] + layer["padding"][after]
        layer[f"output_{size}"] = (padded - layer["kernel"][axis]) // layer["stride"][axis] + 1
    return Schedule.from_data(
        {"format": 1, "kind": "schedule", "layer": layer, "nest": nest, "lanes": lanes or {"x": 16}}
    )


def registers(program: Any) -> dict[str, int]:
    return {name: value for name, _, value in program.registers}


def test_rings_and_steps_of_a_sliding_window() -> None:
    values = registers(compile_layer(schedule(FIG_8)))
    # 17 of 20 columns and the halo: padding takes no room. Three rows of 18 (the second tile begins inside the image:
    # columns 15 to 19), held in 64 bytes.
    assert (values["input_line"], values["input_slab"], values["input_slabs"]) == (17, 17, 3)
    assert values["input_slides"] == 1
    assert values["output_box_vectors"] == 4  # two channels of two rows, each of them one vector wide
    assert (values["output_index_step_6"], values["output_index_step_4"]) == (2, 1)
    assert values["input_base"] == 0


def test_columns_that_slide_move_along_the_ring() -> None:
    nest = [
        *({"m": 4}, {"y": 1}, {"buffer": "O"}, {"c": 2}, {"buffer": ["I", "W"]}, {"x": 4}),
        *({"c": 1}, {"k": 1}, {"l": 1}),
    ]
    lanes = {"m": 4, "x": 4}
    values = registers(compile_layer(schedule(nest, lanes, stride=[1, 2], kernel=[3, 3])))
    # Four outputs at stride 2 read nine columns, five even and four odd ones; the next four begin four of each on.
    assert (values["input_slides"], values["input_shift"]) == (1, 4)
    assert (values["input_phase_1"], values["input_line"]) == (5, 9)
    values = registers(compile_layer(schedule(nest, lanes, stride=[1, 2], kernel=[3, 2])))
    assert (values["input_slides"], values["input_shift"], values["input_line"]) == (0, 0, 8)


def test_a_schedule_and_its_hardware_have_the_same_ports() -> None:
    wide = Hardware(name="wide", ports=Ports(W=128))
    with pytest.raises(InputError, match=r"small: ports: expected .*W: 128.* of hardware wide, got .*W: 32"):
        compile_layer(schedule(FIG_8), wide)
    program = compile_layer(schedule(FIG_8).model_copy(update={"ports": wide.ports}), wide)
    assert program.parameters.ports == wide.ports
    assert program.parameters.weight_bytes % 16 == 0


@pytest.mark.parametrize(("words", "stays", "store"), [(0, 0b00, None), (2, 0b10, 2), (3, 0b10, 2), (4, 0b11, 4)])
def test_biases_stay_within_the_loops_that_they_fit(words: int, stays: int, store: int | None) -> None:
    nest = [{"y": 2}, {"m": 2}, {"x": 16}, *FIG_8[3:]]
    kept = schedule(nest).model_copy(update={"bias_words": words})
    program = compile_layer(kept, Hardware(name="given"))
    assert program.parameters.bias_words == 64
    assert registers(program)["bias_stays"] == stays  # bit 0 for y, bit 1 for x
    alone = compile_layer(kept)
    assert (alone.parameters.bias_words, registers(alone).get("bias_stays")) == (store or 0, stays if store else None)
    if words:
        with pytest.raises(
            InputError, match=f"small: bias_words: expected at most the 0 of hardware none, got {words}"
        ):
            compile_layer(kept, Hardware(name="none", bias_words=0))


def test_scaled_sums_have_settings_and_records() -> None:
    scaled = schedule(FIG_8).model_copy(update={"requantisation": "scaled"})
    form = Requantisation(tuple(Scale(3, n) for n in (4, 5, 6, 7)), zero_in=-1, zero_out=2, low=2, high=100)
    hardware = Hardware(name="given", requantisation="scaled", requantisers=2)
    program = compile_layer(scaled, hardware, form)
    assert (program.parameters.scaled, program.parameters.requantisers) == (True, 2)
    values = registers(program)
    assert [values[name] for name in ("zero_in", "zero_out", "low", "high")] == [255, 2, 2, 100]
    assert not {"shift", "relu", "ceiling"} & set(values)
    assert program.layout.bias.size == 4 * 8
    operands = [np.zeros(shape, np.int8) for shape in ((2, 6, 20), (4, 2, 3, 3))]
    words = program.image(*operands, np.arange(4, dtype=np.int32))
    assert words[program.layout.bias.base // 4 :][:8].tolist() == [0, 0x40003, 1, 0x50003, 2, 0x60003, 3, 0x70003]
    alone = compile_layer(scaled)
    (usual,) = scaled.layer.requantisation_at(8).scales
    assert alone.requantisation.scales == (usual,)
    with pytest.raises(InputError, match="small: requantisation: expected scaled of hardware given, got shift"):
        compile_layer(schedule(FIG_8), hardware)
    with pytest.raises(InputError, match="small: scales: expected 1 or 4, got 3"):
        compile_layer(scaled, hardware, Requantisation((Scale(),) * 3))


def test_programs_are_the_same_whatever_the_number_of_requantisers() -> None:
    scaled = schedule(FIG_8).model_copy(update={"requantisation": "scaled"})
    one, four = (
        compile_layer(scaled, Hardware(name="given", requantisation="scaled", requantisers=n)) for n in (1, 4)
    )
    assert one.registers == four.registers
    assert one.parameters != four.parameters
    assert compile_layer(schedule(FIG_8), Hardware(name="given")).registers != one.registers


def test_weights_are_packed_in_the_order_of_use() -> None:
    weights = np.arange(4 * 2 * 9, dtype=np.int8).reshape(4, 2, 3, 3)
    packed = pack_weights(schedule(FIG_8), weights)
    # A box is one input channel of two output channels: kernel row, then output channel, then kernel column.
    first = [int(weights[m, 0, k, tap]) for k in range(3) for m in range(2) for tap in range(3)]
    assert list(packed[:20]) == [*first, 0, 0]
    assert packed.size == 4 * 20


def test_image_and_output_keep_rows_on_words() -> None:
    layout = layout_of(schedule(FIG_8, input_width=19))
    rng = np.random.default_rng(0)
    inputs = rng.integers(-128, 128, (2, 6, 19), dtype=np.int8)
    weights = rng.integers(-128, 128, (4, 2, 3, 3), dtype=np.int8)
    words = layout.image(inputs, weights, np.arange(4, dtype=np.int32))
    rows = words.view(np.int8)[: 2 * 6 * 20].reshape(2, 6, 20)
    assert (rows[:, :, :19] == inputs).all()
    assert list(words[layout.bias.base // 4 :][:4]) == [0, 1, 2, 3]
    assert layout.output_of(words).shape == (4, 6, 19)
    with pytest.raises(ValueError, match=r"input: expected int8 \[2, 6, 19\]"):
        layout.image(inputs[:1], weights, np.zeros(4, np.int32))


@pytest.mark.parametrize(
    ("nest", "changes", "message"),
    [
        (FIG_8, {"stride": [5, 1]}, "stride: expected at most 4"),
        (FIG_8, {"kernel": [12, 3], "input_height": 14}, "kernel: expected at most 11"),
        (
            [{"m": 1}, {"y": 1}, {"x": 9}, {"buffer": "O"}, {"c": 1}, {"k": 1}, {"buffer": "I"}, {"l": 3}, {"l": 1}],
            {"kernel": [3, 5], "stride": [1, 2]},
            "iterations of loop l, at which I is buffered, share columns and are 3 apart",
        ),
        (
            [{"m": 1}, {"x": 16}, {"buffer": "I"}, {"k": 2}, {"buffer": "O"}, {"c": 1}, {"y": 1}, {"k": 1}, {"l": 1}],
            {"kernel": [5, 3], "stride": [3, 1], "padding": [2, 1, 2, 1]},
            "the kernel rows at I's marker leave gaps",
        ),
        (
            [{"m": 3}, {"buffer": "I"}, {"y": 2}, {"x": 16}, {"buffer": "O"}, {"c": 1}, {"y": 1}, {"k": 1}, {"m": 1},
             {"l": 1}],
            {"groups": 2},
            "cross a border between groups of 2",
        ),
    ],
)  # fmt: skip
def test_refuses_what_the_hardware_cannot_run(
    nest: list[dict[str, Any]], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as error:
        compile_layer(schedule(nest, **changes))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_refuses_what_does_not_fit_the_given_hardware() -> None:
    hardware = Hardware(name="tiny", buffers={"I": 48, "W": 128, "O": 768})
    with pytest.raises(InputError, match="small: I needs 64 bytes, hardware tiny has 48"):
        compile_layer(schedule(FIG_8), hardware)
    with pytest.raises(InputError, match="expected the loop order and markers of hardware other"):
        compile_layer(schedule(FIG_8), Hardware(name="other", order=("m", "c", "y", "x", "k", "l")))
    with pytest.raises(InputError, match="lanes: expected powers of two along m, c, y, x, 4 to 256 together, got x2"):
        compile_layer(schedule([{"m": 1}, {"y": 1}, {"x": 2}, {"c": 1}, {"k": 1}, {"l": 1}], {"x": 2}))


def test_marker_of_o_above_outputs_means_the_same_further_in() -> None:
    moved = idle = 0
    for case in cases(seed=7, number=600):
        runnable = with_output_at_reduction(case)
        marked = runnable.marked_loop("O")
        assert marked is None or runnable.loops[marked].dim in "ckl"
        assert predict(runnable) == predict(case)
        moved += runnable is not case
        idle += len(runnable.loops) > len(case.loops)
    assert moved > idle > 20


@pytest.mark.parametrize("groups", [32, 33])
def test_groups_whose_channels_have_no_position_are_refused(groups: int) -> None:
    """Of 8 channels each, on positions of 8 bits: the gateware would begin again at the first channel."""
    layer = Layer(
        name="many", input_channels=8 * groups, output_channels=groups, input_height=2, input_width=4, kernel=1,
        groups=groups,
    )  # fmt: skip
    hardware = hwc("fig8")
    steps = iter((1, 1, 4, 1, 1, 1, 1, 1))
    nest = tuple(item if isinstance(item, Marker) else Loop(item, next(steps)) for item in hardware.order or ())
    schedule = Schedule(layer=layer, nest=nest, lanes=HWCS["fig8"][0])
    assert hardware.position_bits == 8
    if groups == 32:
        compile_layer(schedule, hardware)
    else:
        with pytest.raises(InputError, match=r"many: groups: .* below 256, got 256"):
            compile_layer(schedule, hardware)
