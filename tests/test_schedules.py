"""The files in ``schedules`` that come with the project: each is valid, and is what its comment says."""

from pathlib import Path

import pytest

from hwgen.ir.builtin import builtin_names, named_file
from hwgen.ir.hardware import load_hardware
from hwgen.ir.network import load_layer_set
from hwgen.ir.schedule import load_schedule
from hwgen.lower import compile_layer
from hwgen.search.shared import best_shared

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "schedules" / "examples").glob("*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_on_the_hwc(path: Path) -> None:
    program = compile_layer(load_schedule(path), load_hardware(named_file("hardware", "hwc")))
    assert program.layout.size > 0


@pytest.mark.parametrize("name", builtin_names("hardware"))
def test_hardware_is_named_as_its_file(name: str) -> None:
    assert load_hardware(named_file("hardware", name)).name == name


def test_the_alexnet_hwc_is_what_the_search_finds() -> None:
    kept = load_hardware(named_file("hardware", "alexnet_1KiB"))
    layers = load_layer_set("stoutchinin_2019:alexnet").convolutions()
    assert best_shared(layers, 1024, name="alexnet_1KiB").hardware == kept
