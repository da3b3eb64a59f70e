"""Several sweeps into one folder: which rows its tables have then."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from hwgen.arch.hardware_file import load_hardware
from hwgen.arch.hwc import ALONG_X
from hwgen.ir.document import InputError, dump_yaml
from hwgen.ir.hardware import Cluster
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import load_schedule
from hwgen.model.nest.one_level import predict
from hwgen.studies.regress.hwc import rows_of
from hwgen.studies.regress.plans import Configuration, Entry, Plan
from hwgen.studies.regress.published_nests import hwce
from hwgen.studies.sweep.clusters import ClusterConfiguration
from hwgen.studies.sweep.documents import documents_of, hardware_of, schedule_file
from hwgen.studies.sweep.report.results import load_results
from hwgen.studies.sweep.request import Outcome, Question
from hwgen.studies.sweep.rows import Cells, completed, row_of
from hwgen.studies.sweep.steps import cluster_plan_step, plan_step
from hwgen.studies.sweep.synthesis import area_cells
from hwgen.studies.sweep.tables.columns import AREAS, COLUMNS, FORMAT
from hwgen.studies.sweep.tables.files import write_results
from hwgen.studies.sweep.tables.merge import ADDED, Tables, known_tables
from hwgen.synthesis.ecp5 import Area, CriticalPath, Device, Gates, Synthesis
from tests.studies.engine.points import layers_named

LAYERS = layers_named("a", "b")
SYNTHESIS = Synthesis(
    Device(), 80.0, CriticalPath("a", "b", 1.0, 2.0), Area(5000, 5, 30, 2, 0), {"O": Area(lut_rams=3)},
    Gates(1000, 30, 8, 64), {},
)  # fmt: skip


def swept(
    folder: Path,
    *budgets: int,
    cycles: int | None = None,
    pending: bool = False,
    synthesis: Synthesis | None = None,
    lanes: Lanes = ALONG_X,
    reason: str = "",
    layers: tuple[Layer, ...] = (),
    **question: Any,
) -> Tables:
    """A sweep of two layers, measured if it says in how many cycles."""
    configurations = tuple(Configuration("hwce", budget) for budget in budgets)
    asked = Question(layers or LAYERS, configurations, simulate=cycles is not None, layer_set="few", **question)
    outcome = Outcome()
    for one in configurations:
        entries = tuple(Entry(hwce(layer, lanes=lanes), None) for layer in asked.layers)
        rows = rows_of(Plan(one, entries, {}, {layer.name: 100 for layer in asked.layers}))
        outcome.documents |= documents_of(asked, one, (row.entry.schedule for row in rows), hardware_of(one, rows))
        for row in rows:
            line = {
                "measured": predict(row.entry.schedule).counts.as_json(), "equal": True, "output_exact": True,
                "passed": True, "failures": [], "cycles": {"measured": cycles},
                "stalls": {"measured": {"input": 1, "weight": 2, "output": 0}},
            }  # fmt: skip
            outcome.rows.append(
                row_of(
                    row, point="p", optimum=100, asked=asked.asked(one), file=schedule_file(asked, one, row.layer),
                    simulated=None if cycles is None else line,
                    area=None if synthesis is None else area_cells(synthesis), pending=pending, reason=reason,
                )
            )  # fmt: skip
    for layer in asked.layers:
        outcome.curves.append(
            {"set": "few", "layer": layer.name, "scale": asked.scale, "buffer_bytes": 64, "I_bytes": 1, "W_bytes": 2,
             "O_bytes": 3, "total_bytes": 6, "bound_bytes": 5, "question": asked.name}
        )  # fmt: skip
    return write_results(folder, outcome, asked)


def picked(tables: Tables, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in tables.rows]


def test_the_order_of_the_tables_is_that_of_their_keys_whoever_was_first(tmp_path: Path) -> None:
    curve = {"set": "few", "scale": 1, "I_bytes": 1, "W_bytes": 2, "O_bytes": 3, "total_bytes": 6, "bound_bytes": 5}
    asked = Question(LAYERS, (Configuration("hwce", 1024),), layer_set="few")
    curves = [
        {**curve, "layer": layer, "buffer_bytes": size, "question": asked.name}
        for layer in ("a", "b")
        for size in (64, 96)
    ]  # as the set has them; "b" is finished first
    areas = [{**dict.fromkeys(column.name for column in AREAS), "design": design, "block": block}
             for design in ("1", "2") for block in ("z", "(top)")]  # fmt: skip
    outcome, texts = Outcome(), []
    for first in (curves[2:], curves[:2]):
        folder = tmp_path / first[0]["layer"]
        outcome.curves = first
        write_results(folder, outcome, asked)
        outcome.curves = curves
        texts.append([row["layer"] for row in write_results(folder, outcome, asked).curves])
        texts.append((folder / "curves.csv").read_text(encoding="utf-8").splitlines())
    assert texts[0] == texts[2] == ["a", "a", "b", "b"]
    assert texts[1] == texts[3]
    rows = [completed({"layer": name, "question": asked.name, "configuration": "hwce", "status": "ok",
                       "design": design}) for name, design in (("a", "1"), ("b", "2"))]  # fmt: skip
    provenance = {asked.name: asked.provenance()}
    orders = []
    for early, late in ((0, 1), (1, 0)):
        before = Tables([rows[early]], areas=areas[2 * early : 2 * early + 2], questions=provenance)
        after = Tables([rows[late]], areas=areas[2 * late : 2 * late + 2], questions=provenance)
        both = Tables().joined(before, lambda old, new: False).joined(after, lambda old, new: False)
        orders.append(([row["layer"] for row in both.rows], [(row["design"], row["block"]) for row in both.areas]))
    assert orders[0] == orders[1] == (["a", "b"], [("1", "z"), ("1", "(top)"), ("2", "z"), ("2", "(top)")])


def test_rows_of_several_sweeps_are_neighbours(tmp_path: Path) -> None:
    swept(tmp_path, 512, 2048)
    tables = swept(tmp_path, 1024)
    assert picked(tables, "buffer_bytes", "layer") == [
        (size, layer) for size in (512, 1024, 2048) for layer in ("a", "b")
    ]
    assert [row["layer"] for row in tables.curves] == ["a", "b"]  # of the same question once
    found = load_results(tmp_path)
    assert len(found.rows) == 6
    assert set(found.provenance["questions"]) == {row["question"] for row in found.rows}
    assert len(found.provenance["questions"]) == 2
    assert {schedule.layer.name for schedule in found.schedules.values()} == {"a", "b"}
    assert len(found.schedules) == 6
    assert known_tables(tmp_path) == tables


def test_another_question_about_the_same_point_is_a_row_of_its_own(tmp_path: Path) -> None:
    swept(tmp_path, 512, cycles=4000)
    swept(tmp_path, 512, cycles=4000, seed=7)
    tables = swept(tmp_path, 512, scale=2)
    assert picked(tables, "scale", "seed", "layer") == [
        (1, 0, "a"), (1, 0, "b"), (1, 7, "a"), (1, 7, "b"), (2, 0, "a"), (2, 0, "b"),
    ]  # fmt: skip
    assert len(tables.questions) == 3
    assert [row["scale"] for row in tables.curves] == [1, 1, 2, 2]


def test_what_is_measured_anew_takes_its_place(tmp_path: Path) -> None:
    swept(tmp_path, 512)
    assert picked(swept(tmp_path, 512, cycles=4000), "status", "cycles_measured") == [("ok", 4000)] * 2
    tables = swept(tmp_path, 512, cycles=5000)
    assert picked(tables, "status", "cycles_measured") == [("ok", 5000)] * 2
    assert len(tables.questions) == 1  # the first is no row's any more


def test_a_look_at_the_model_loses_no_measurement(tmp_path: Path) -> None:
    measured = swept(tmp_path, 512, cycles=4000)
    assert swept(tmp_path, 512).rows == measured.rows
    assert swept(tmp_path, 512, pending=True).rows == measured.rows
    # Area and clock are found by another command as well.
    (row, _) = swept(tmp_path, 512, synthesis=SYNTHESIS).rows
    assert (row["status"], row["cycles_measured"], row["luts"]) == ("ok", 4000, 5000)
    (row, _) = swept(tmp_path, 512, cycles=5000).rows
    assert (row["cycles_measured"], row["luts"], row["clock_mhz"]) == (5000, 5000, 80.0)
    # With another schedule nothing of it holds.
    (row, _) = swept(tmp_path, 512, lanes=Lanes(y=2, x=8)).rows
    assert (row["status"], row["cycles_measured"], row["luts"]) == ("predicted", None, None)
    (row, _) = swept(tmp_path, 512, cycles=5000, reason="no room").rows
    assert (row["status"], row["reason"]) == ("failed", "no room")


def test_a_reason_of_many_lines_is_one_line_of_the_table(tmp_path: Path) -> None:
    swept(tmp_path, 512, reason="first\nsecond")
    lines = (tmp_path / "results.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 3
    assert "first second" in lines[1]


def test_files_of_other_questions_do_not_meet() -> None:
    (layer,) = layers_named("a")

    plain = Configuration("shared", 512)

    def file(configuration: Configuration = plain, **question: Any) -> str:
        return schedule_file(Question((layer,), (configuration,), **question), configuration, "a")

    names = [
        file(), file(layer_set="few"), file(layer_set="more"), file(layer_set="few", scale=2),
        file(replace(plain, order="MYX[O]C[I]k[W]lmyx")),
        file(replace(plain, lanes=Lanes(m=8, x=2))), file(replace(plain, lanes=None)),
        file(replace(plain, slack=0.01)), file(replace(plain, slack=0.05)),
    ]  # fmt: skip
    long = "n" * 90
    names += [
        file(layer_set="a b"), file(layer_set="a_b"), *(file(layer_set=one, own_set=True) for one in ("a_b", "A_b")),
        *(file(replace(plain, slack=slack), layer_set=long) for slack in (0.01, 0.02, 0.5)),
        *(file(replace(plain, budget=budget), layer_set=long) for budget in (512, 1024)),
        file(layer_set="few", own_set=True),
    ]  # fmt: skip
    assert len({name.casefold() for name in names}) == len(names)
    assert names[3] == "schedules/few_shared_512_scale2/a.yaml"
    assert names[4] == "schedules/shared_512_MYX_O_C_I_k_W_lmyx/a.yaml"


def test_sets_of_one_name_do_not_meet(tmp_path: Path) -> None:
    """Files of one name in two folders: each row names its own schedule, and the hardware beside that is its own."""
    first = swept(tmp_path, 512, own_set=True)
    renamed = tuple(
        layer.model_copy(update={"name": f"other_{layer.name}", "output_channels": 1}) for layer in LAYERS
    )
    tables = swept(tmp_path, 512, own_set=True, layers=renamed)
    assert first.rows == [row for row in tables.rows if row["layer"] in ("a", "b")]
    folders = {row["layer"]: Path(row["schedule"]).parent for row in tables.rows}
    assert len(set(folders.values())) == 2
    for row in tables.rows:
        assert load_schedule(tmp_path / row["schedule"]).layer.name == row["layer"]
        (hardware,) = (tmp_path / folders[row["layer"]]).glob("*.hardware.yaml")
        assert load_hardware(hardware).name == folders[row["layer"]].name


def test_rows_of_other_layers_of_the_same_name_are_told(tmp_path: Path) -> None:
    tables = swept(tmp_path, 512)
    asked = Question(LAYERS, (), layer_set="few").provenance()
    assert tables.of_others(asked) == []
    wider = LAYERS[0].model_copy(update={"output_channels": 7}).model_dump(mode="json")
    assert tables.of_others({**asked, "layers": [wider]}) == ["a"]
    assert tables.of_others({**asked, "layers": [wider], "set": "more"}) == []


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    swept(tmp_path, 512)
    schema = json.loads((tmp_path / "schema.json").read_text(encoding="utf-8"))
    kept = (tmp_path / "results.csv").read_bytes()
    (tmp_path / "schema.json").write_text(json.dumps({**schema, "format": 2}), encoding="utf-8")
    with pytest.raises(InputError, match=r"^-o: .*: its results are of another version of hwgen: expected another"):
        swept(tmp_path, 1024)
    (tmp_path / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    (tmp_path / "results.parquet").write_bytes(b"torn")
    with pytest.raises(InputError, match="its results cannot be read") as refused:
        swept(tmp_path, 1024)
    assert "\n" not in str(refused.value)
    assert (tmp_path / "results.csv").read_bytes() == kept


@pytest.mark.parametrize(("version", "more"), [(3, ADDED), (4, ())])
def test_rows_of_earlier_versions_stay(tmp_path: Path, version: int, more: tuple[str, ...]) -> None:
    kept = swept(tmp_path, 512, cycles=4000).rows
    new = {*more, "design"}
    names = [column.name for column in COLUMNS if column.name not in new]
    schema = json.loads((tmp_path / "schema.json").read_text(encoding="utf-8"))
    old = {
        "format": version,
        "kind": "sweep",
        "curves": schema["curves"],
        "results": [one for one in schema["results"] if one["name"] in names],
    }
    for column in old["results"]:
        column["meaning"] += ", in other words"
    (tmp_path / "schema.json").write_text(json.dumps(old), encoding="utf-8")
    before = [{name: row[name] for name in names} | {"configuration": "shared"} for row in kept]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(before), tmp_path / "results.parquet")
    with (tmp_path / "results.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, "equal": "true", "output_exact": "true"} for row in before)
    objective = "traffic" if "objective" in new else None
    assert {(row["objective"], row["design"]) for row in load_results(tmp_path).rows} == {(objective, None)}
    tables = swept(tmp_path, 1024)  # goes on in the same folder
    assert picked(tables, "configuration", "objective", "buffer_bytes", "cycles_measured") == [
        *[("shared", objective, 512, 4000)] * 2, *[("hwce", None, 1024, None)] * 2
    ]  # fmt: skip
    assert list(tables.rows[0]) == [column.name for column in COLUMNS]
    assert json.loads((tmp_path / "schema.json").read_text(encoding="utf-8"))["format"] == FORMAT


def test_another_objective_is_a_row_of_its_own() -> None:
    plain = Configuration("shared", 512)
    wanted = [plain, *(replace(plain, slack=slack) for slack in (0.0, 0.01, 0.05))]
    rows = [{"layer": "a", **Question(LAYERS, (one,)).asked(one)} for one in wanted]
    found = [
        Tables([completed(row)], [], {}).joined(Tables([completed(other)], [], {}), lambda old, new: False).rows
        for row in rows
        for other in rows
    ]
    assert [len(some) for some in found] == [1 if n % 5 == 0 else 2 for n in range(16)]
    assert [row["objective"] for row in rows] == ["traffic", "balanced", "balanced", "balanced"]
    keys = {plan_step(LAYERS, one).key for one in wanted}
    assert len(keys) == 4  # nor is one's plan another one's
    clusters = [ClusterConfiguration(one, Cluster(hwcs=2)) for one in wanted]
    assert len({cluster_plan_step(LAYERS[0], one).key for one in clusters}) == 4


def test_a_schedule_is_a_file_like_any_other(tmp_path: Path) -> None:
    tables = swept(tmp_path, 512)
    row: Cells = tables.rows[0]
    layer: Layer = LAYERS[0]
    text = (tmp_path / row["schedule"]).read_text(encoding="utf-8")
    assert text == dump_yaml(hwce(layer, lanes=ALONG_X).as_data())
    assert (tmp_path / "schedules" / "few_hwce_512" / "few_hwce_512.hardware.yaml").is_file()


def test_all_that_is_asked_for_keeps_rows_apart() -> None:
    configuration = ClusterConfiguration(Configuration("per-layer", 512), Cluster(hwcs=2))
    for one in (configuration, configuration.hwc):
        asked = Question(LAYERS, (one,)).asked(one)
        keys = {column.name for column in COLUMNS if column.key}
        assert {*asked, "layer"} - keys == {"simulator", "question"}  # of the same point, more or less is known
