"""The files in ``schedules`` that come with the project: each is valid, and is what its comment says."""

from pathlib import Path

import pytest

from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import builtin_names, named_file
from hwgen.ir.schedule import load_schedule
from hwgen.lower.cluster.cycles import cluster_cycles
from hwgen.lower.cluster.program import compile_cluster
from hwgen.lower.hwc import compile_layer
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.hwc.shared import best_shared

ROOT = Path(__file__).resolve().parents[2]
ON_CLUSTER = sorted((ROOT / "schedules").glob("alexnet_cluster*/alexnet_?.yaml"))
EXAMPLES = sorted((ROOT / "schedules" / "examples").glob("*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_on_the_hwc(path: Path) -> None:
    program = compile_layer(load_schedule(path), load_hardware(named_file("hardware", "hwc")))
    assert program.layout.size > 0


@pytest.mark.parametrize("path", ON_CLUSTER, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_row_of_alexnet_runs_on_its_cluster(path: Path) -> None:
    schedule = load_schedule(path)
    assert schedule.layer in load_layer_set("stoutchinin_2019:alexnet").convolutions()
    program = compile_cluster(schedule, load_hardware(named_file("hardware", path.parent.name)))
    assert program.placement.size <= 1 << 18


@pytest.mark.parametrize(("name", "lanes"), [("alexnet_cluster", 64), ("alexnet_16bit", 32)])
def test_the_cluster_is_kept_at_work(name: str, lanes: int) -> None:
    schedule = load_schedule(ROOT / "schedules" / name / "alexnet_5.yaml")
    program = compile_cluster(schedule, load_hardware(named_file("hardware", name)))
    assert schedule.layer.macs / (lanes * cluster_cycles(program).total) > 0.9


@pytest.mark.parametrize("name", builtin_names("hardware"))
def test_hardware_is_named_as_its_file(name: str) -> None:
    assert load_hardware(named_file("hardware", name)).name == name


def test_the_alexnet_hwc_is_what_the_search_finds() -> None:
    kept = load_hardware(named_file("hardware", "alexnet_1KiB"))
    layers = load_layer_set("stoutchinin_2019:alexnet").convolutions()
    assert best_shared(layers, 1024, name="alexnet_1KiB").hardware == kept
