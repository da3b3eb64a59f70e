"""The page of file formats names every key that a file may have, and no default that is another."""

import json
import re
from pathlib import Path

import pytest
import yaml

from hwgen.ir.coverage import Ignored, LeftOut
from hwgen.ir.document import Value
from hwgen.ir.hardware import Cluster, DmaCost, Dram, EnergyCost, Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.layer_set import Feature, Network, Node, Totals
from hwgen.ir.memory.hierarchy import Hierarchy, MemoryLevel
from hwgen.ir.operators import OPERATORS
from hwgen.ir.requantisation import GivenRequantisation
from hwgen.ir.schedule import Bits, Schedule
from hwgen.lower.pipeline import solution
from hwgen.readers.layers.operators import IGNORED, REFUSED, TAKEN
from hwgen.readers.onnx.lifting import EQUIVALENTS
from manual.inserts import with_inserts

PAGE = Path(__file__).resolve().parents[2] / "docs" / "file-formats.md"
SECTIONS: dict[str, tuple[type[Value], ...]] = {
    "Layer sets": (Network, Node, Feature, Totals, LeftOut, Ignored, GivenRequantisation),
    "Schedules": (Schedule, Layer, Bits),
    "Hardware": (Hardware, Cluster, Dram, DmaCost, EnergyCost),
    "Hierarchies": (Hierarchy, MemoryLevel, Bits),
    "Depth-first solutions": (solution._File, solution._StackEntry),
}
ELSEWHERE = {"format", "kind"}
"""On top of the page, for all files."""


def section(name: str, text: str) -> str:
    """The text below one heading, up to the next of its kind."""
    found = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", text, flags=re.DOTALL | re.MULTILINE)
    assert found, name
    return found[1]


def unnamed(models: tuple[type[Value], ...], text: str) -> list[str]:
    """Keys of the models that do not occur between backticks, or as a key of the example."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    named = {word for span in re.findall(r"`([^`]+)`", prose) for word in re.findall(r"\w+", span)}
    named |= set(re.findall(r"(\w+):", text))
    return sorted({field for model in models for field in model.model_fields} - named - ELSEWHERE)


@pytest.mark.parametrize("name", SECTIONS)
def test_every_key_is_on_the_page(name: str) -> None:
    text = with_inserts(section(name, PAGE.read_text(encoding="utf-8")))
    assert unnamed(SECTIONS[name], text) == []


def test_every_model_of_files_is_looked_at() -> None:
    looked_at = {model for models in SECTIONS.values() for model in models}
    unknown = set()
    waiting = [*Value.__subclasses__()]
    while waiting:
        model = waiting.pop()
        waiting += model.__subclasses__()
        if model.__module__.startswith(("hwgen.ir.", "hwgen.lower.")) and model not in looked_at:
            unknown.add(model.__name__)
    assert unknown == {"Shape", "Stated"}  # what a layer and a row have in common; what a cluster and a DRAM have


def test_every_operation_is_on_the_page() -> None:
    text = section("Layer sets", PAGE.read_text(encoding="utf-8"))
    assert "\n{{ operations }}\n" in text
    table = with_inserts("{{ operations }}")
    assert [name for name, one in OPERATORS.items() if f"| `{name}` | {one.meaning} |" not in table] == []


def test_every_onnx_operator_is_on_the_page() -> None:
    assert "\n{{ onnx }}\n" in section("Layer sets", PAGE.read_text(encoding="utf-8"))
    rows = [line.split(" | ") for line in with_inserts("{{ onnx }}").splitlines()[2:]]
    said: dict[str, set[str]] = {}
    for cells in rows:
        said.setdefault(cells[0].strip("| "), set()).update(re.findall(r"`(\w+)`", cells[1]))
    ignored = {name for group in IGNORED for name in group.names}
    assert said["refused"] == set(REFUSED)
    assert said["taken"] - set(EQUIVALENTS) == set(TAKEN)
    assert said["ignored"] - set(EQUIVALENTS) == ignored
    assert (said["taken"] | said["ignored"]) & set(EQUIVALENTS) == set(EQUIVALENTS)


def test_every_layer_set_on_the_page_can_be_read() -> None:
    text = section("Layer sets", PAGE.read_text(encoding="utf-8"))
    examples = re.findall(r"^```yaml[^\n]*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert [Network.from_data(yaml.safe_load(one)).kind for one in examples] == ["layer_list", "network"]


def test_the_keys_of_hardware_are_those_of_the_code_with_their_defaults() -> None:
    text = with_inserts(section("Hardware", PAGE.read_text(encoding="utf-8")))
    for model in (Hardware, Cluster, Dram):
        for key, field in model.model_fields.items():
            name = f"dram.{key}" if model is Dram else key
            (row,) = re.findall(rf"^\| `{name}` \|.*$", text, re.MULTILINE)
            if isinstance(field.default, int):
                assert row.split(" | ")[2] == json.dumps(field.default), row


def test_the_check_can_fail() -> None:
    assert unnamed((Dram,), "`latency`, `row_bytes`, `banks: 8`, block_cycles") == [
        "access_cycles",
        "block_cycles",
        "miss_cycles",
    ]
