"""Models with one thing each that is easily read otherwise: what becomes of each in ``hwgen network`` and ``run``.

The outputs are ONNX Runtime's, or the model is refused in one line that says why.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import Hardware, save_hardware
from tests.cli.command_line import Run, refused

CASES = Path(__file__).parent / "cases"
FLOATS = (
    "expected a quantised model (QuantizeLinear and DequantizeLinear, or QLinearConv and the like), got one of floats"
)


@dataclass(frozen=True)
class Ends:
    """What becomes of a model.

    Members
    -------
    layers : how many the HWC runs.
    reasons : why the host runs what it runs in numbers, by operator.
    refusal : of the model, if it is none that is read.
    """

    layers: int = 1
    reasons: tuple[tuple[str, str], ...] = ()
    refusal: str = ""


SOFTMAX = ("Softmax", "Softmax: no integer form")
PRODUCT = ("MatMul", "both factors are computed")
CURVE = "sums through HardSwish before they are quantised: a table needs 8 bits"

ENDS = {
    "3x3_s5": Ends(),
    "add_channel_const": Ends(),
    "attention_no_batch": Ends(4, (PRODUCT, SOFTMAX, PRODUCT)),
    "chw_unsqueeze": Ends(),
    "clip_min_above_max": Ends(),
    "deconv_groups": Ends(),
    "deconv_per_channel": Ends(),
    "downscale": Ends(),
    "gemm_row_c": Ends(0, (("Gemm", "biases that are not the same for all rows"),)),
    "gemm_rows_float": Ends(refusal=FLOATS),
    "gemm_transA": Ends(),
    "group3_pointwise": Ends(),
    "hardswish": Ends(0, (("Conv", CURVE), ("HardSwish", CURVE))),
    "hwc": Ends(),
    "int16_activations": Ends(refusal="quantizelinear3 is quantised to int16: expected int8 or uint8"),
    "integer_io": Ends(),
    "leaky": Ends(2),
    "matmul_batched_const": Ends(),
    "maxpool_batch2": Ends(refusal=FLOATS),
    "mean_over_time": Ends(2, (("ReduceMean", "of what is no map"),)),
    "qoperator_s8s8_pc": Ends(4, (SOFTMAX,)),
    "same_lower_dil": Ends(),
    "shared_weights_bias": Ends(2),
    "softmax_axis0": Ends(1, (SOFTMAX,)),
    "squeeze_excite": Ends(4, (("Mul", "Mul of two maps: hardware multiplies maps by constants alone"),)),
    "weights_reshaped": Ends(),
}
WEIGHTED = ("conv", "depthwise conv", "dilated conv", "product")
EVERY_RUN = ("3x3_s5", "attention_no_batch", "deconv_groups", "leaky", "matmul_batched_const")
"""Those that are simulated in every run of the tests; the others at night."""


@pytest.fixture
def hardware(tmp_path: Path) -> Path:
    """One small HWC."""
    machine = load_hardware(named_file("hardware", "m4c4_1KiB")).model_copy(update={"requantisation": "scaled"})
    save_hardware(Hardware.from_data(machine.as_data()), tmp_path / "hwc.yaml")
    return tmp_path / "hwc.yaml"


def model(name: str, folder: Path) -> Path:
    """The file of a case; a large one is made here."""
    if name != "gemm_rows_float":
        return CASES / f"{name}.onnx"
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w", "b"], ["y"])],
        "rows",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [197, 192])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [197, 576])],
        [
            numpy_helper.from_array(np.ones(sizes, np.float32), one)
            for one, sizes in (("w", (192, 576)), ("b", (576,)))
        ],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, folder / f"{name}.onnx")
    return folder / f"{name}.onnx"


def test_the_table_is_of_all_files() -> None:
    assert {path.stem for path in CASES.iterdir()} | {"gemm_rows_float"} == set(ENDS) | set(SETS)


@pytest.mark.parametrize("name", ENDS)
def test_the_reference_is_what_onnx_runtime_makes(run: Run, tmp_path: Path, name: str) -> None:
    ends, path = ENDS[name], model(name, tmp_path)
    answer = run("network", path, "--seed", "1", "--json")
    if ends.refusal:
        refused(answer, f"{path}: {ends.refusal}")
        return
    assert answer.status == 0, answer.err
    document = answer.json
    hosts = [(node["kind"], node["reason"]) for node in document["nodes"] if node["kind"][0].isupper()]
    assert tuple(hosts) == ends.reasons
    assert sum(node["kind"] in WEIGHTED for node in document["nodes"]) == ends.layers
    beside = document["onnxruntime"]
    assert beside["holds"]
    moved = beside["ties"] + beside["apart"] + beside["fused"]
    assert moved or all(one["largest_difference"] == 0 for one in beside["end_to_end"].values())


def simulated(run: Run, folder: Path, hardware: Path, name: str) -> None:
    ends, path = ENDS[name], model(name, folder)
    answer = run("run", path, "--hardware", hardware, "--seed", "1", "-o", folder / "out", "--json")
    if ends.refusal:
        refused(answer, f"{path}: {ends.refusal}")
    elif not ends.layers:
        refused(answer, f"{path}: expected layers with weights that m4c4_1KiB runs, got ", ends.reasons[0][1])
    else:
        assert answer.status == 0, answer.err
        document = answer.json
        assert document["exact"]
        assert len(document["layers"]) == ends.layers
        weighted = {operator: reason for operator, reason in ends.reasons if operator in ("Conv", "Gemm", "MatMul")}
        assert set(document["refused"].values()) == set(weighted.values())
    assert (folder / "out").exists() == (answer.status == 0)


@pytest.mark.parametrize("name", EVERY_RUN)
def test_the_hardware_is_what_the_reference_is(run: Run, tmp_path: Path, hardware: Path, name: str) -> None:
    simulated(run, tmp_path, hardware, name)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(set(ENDS) - set(EVERY_RUN)))
def test_all_that_runs_in_hardware(run: Run, tmp_path: Path, hardware: Path, name: str) -> None:
    simulated(run, tmp_path, hardware, name)


SETS = {"dw64": 1, "mnv3_dw": 2, "pad_only": 2}
"""Sets of layers whose counts a search had otherwise than the model, and how many layers they have."""


@pytest.mark.nightly
@pytest.mark.parametrize("name", SETS)
def test_sets_of_layers(run: Run, tmp_path: Path, name: str) -> None:
    answer = run("schedule", CASES / f"{name}.yaml", "--shared", "--buffer", "2KiB", "--json")
    assert answer.status == 0, answer.err
    assert len(answer.json["schedules"]) == SETS[name]
    answer = run("cosim", CASES / f"{name}.yaml", "--buffer", "2KiB", "--json")
    assert answer.status == 0, answer.err
    assert [result["equal"] for result in answer.json["results"]] == [True] * SETS[name]


def test_rows_and_images_as_layers(run: Run, tmp_path: Path) -> None:
    (row,) = run("layers", model("gemm_rows_float", tmp_path), "--json").json["layers"]
    assert (row["op"], row["input_width"], row["macs"]) == ("conv", 197, 197 * 192 * 576)
    (row,) = run("layers", model("maxpool_batch2", tmp_path), "--json").json["layers"]
    assert (row["op"], row["batch"]) == ("pool", 2)
