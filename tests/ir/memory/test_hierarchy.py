"""Hierarchy files: what they say, what is refused and in which words, markers against their levels."""

import copy
from pathlib import Path
from typing import Any

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.lanes import Lanes
from hwgen.ir.memory.hierarchy import Hierarchy, load_hierarchy, save_hierarchy
from hwgen.ir.schedule import Bits, Schedule
from hwgen.model.nest.one_level import require_one_level

DIANNAO: dict[str, Any] = {
    "format": 1,
    "kind": "hierarchy",
    "name": "small",
    "levels": [
        {"name": "dram"},
        {"name": "sram", "bytes": {"I": 2048, "W": 32768, "O": 2048}},
        {"name": "reg", "bytes": 1024},
    ],
    "lanes": {"m": 16, "c": 16},
    "bits": {"I": 16, "W": 16, "O": 16, "acc": 16},
    "energy": {"dram": 160.0, "sram": 2.5, "reg": 0.5, "mac": 1.0},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The file with one key changed: keys and indices joined by dots."""
    data = copy.deepcopy(DIANNAO)
    inside: Any = data
    *way, last = path.split(".")
    for key in way:
        inside = inside[int(key) if isinstance(inside, list) else key]
    if value is None:
        del inside[int(last) if isinstance(inside, list) else last]
    else:
        inside[int(last) if isinstance(inside, list) else last] = value
    return data


def test_a_file_survives_reading_and_writing(tmp_path: Path) -> None:
    hierarchy = Hierarchy.from_data(DIANNAO)
    assert save_hierarchy(hierarchy, tmp_path / "h.yaml")
    assert load_hierarchy(tmp_path / "h.yaml") == hierarchy
    assert not save_hierarchy(hierarchy, tmp_path / "h.yaml")
    assert [level.name for level in hierarchy.inner] == ["sram", "reg"]
    assert (hierarchy.lanes, hierarchy.bits) == (Lanes(m=16, c=16), Bits(I=16, W=16, O=16, acc=16))
    sram, reg = hierarchy.inner
    assert (sram.total, sram.size_for("W"), sram.shared) == (36864, 32768, False)
    assert (reg.total, reg.size_for("W"), reg.shared) == (1024, 1024, True)
    assert hierarchy.outermost.size_for("I") is None


def test_energies_of_a_table_of_ones_own() -> None:
    hierarchy = Hierarchy.from_data(DIANNAO)
    assert [hierarchy.energy_per_byte(level, "I") for level in hierarchy.levels] == [160.0, 2.5, 0.5]
    assert hierarchy.mac_energy == 1.0


def test_energies_of_the_built_in_table_by_the_size_of_each_memory() -> None:
    hierarchy = Hierarchy.from_data(changed("energy", "yang_2016"))
    sram, reg = hierarchy.inner
    # Table 3, 64 bits: 1.54 pJ for 16 bits from 2 KB, 5.82 from 32 KB, 1.20 from 1 KB, 320 from the DRAM.
    assert hierarchy.energy_per_byte(sram, "I") == pytest.approx(1.54 / 2)
    assert hierarchy.energy_per_byte(sram, "W") == pytest.approx(5.82 / 2)
    assert hierarchy.energy_per_byte(reg, "W") == pytest.approx(1.20 / 2)
    assert hierarchy.energy_per_byte(hierarchy.outermost, "O") == 160.0
    wide = Hierarchy.from_data({**changed("energy", "yang_2016"), "width": 512})
    assert wide.energy_per_byte(sram, "W") == pytest.approx(2.64 / 2)


REJECTED = [
    ("text", "h.yaml: expected a mapping with the keys of a hierarchy, got 'text'"),
    (changed("kind", "hardware"), "h.yaml: kind: expected hierarchy, got 'hardware'"),
    (changed("format", 2), "h.yaml: format: expected 1, got 2"),
    (changed("name", None), "h.yaml: name: missing key"),
    (changed("levels", []), "h.yaml: levels: expected at least 1 items, got []"),
    (changed("levels.0.bytes", 1), "h.yaml: levels: dram: bytes: expected none: the outermost level"),
    (changed("levels.1.bytes", None), "h.yaml: levels: sram: bytes: missing key (only the outermost level has no"),
    (changed("levels.2.bytes", 36864), "h.yaml: levels: reg: bytes: expected less than the 36864 of the level"),
    (changed("levels.2.bytes", 1 << 20), "h.yaml: levels: reg: bytes: expected less than the 36864 of the level"),
    (
        changed("levels.2.bytes", {"I": 36864}),
        "h.yaml: levels: reg: bytes: expected less than the 36864 of the level",
    ),
    (changed("levels.2.bytes", 0), "h.yaml: levels: item 2: bytes: expected a number of bytes of at least 1, got 0"),
    (changed("levels.2.bytes", 1.5), "h.yaml: levels: item 2: bytes: expected a number of bytes of at least 1, got"),
    (changed("levels.2.bytes", True), "h.yaml: levels: item 2: bytes: expected a number of bytes of at least 1, got"),
    (changed("levels.2.bytes", {}), "h.yaml: levels: item 2: bytes: expected a number of bytes, or one for each of"),
    (changed("levels.1.bytes.W", 0), "h.yaml: levels: item 1: bytes: W: expected a number of bytes of at least 1"),
    (changed("levels.1.bytes.B", 4), "h.yaml: levels: item 1: bytes: expected a number of bytes, or one for each of"),
    (changed("levels.2.name", "sram"), "h.yaml: levels: sram: the name is used twice"),
    (changed("levels.2.name", "mac"), "h.yaml: levels: item 2: name: expected another name than mac, which has a"),
    (changed("levels.2.name", "double"), "h.yaml: levels: item 2: name: expected another name than double"),
    (changed("levels.2.name", "a b"), "h.yaml: levels: item 2: name: expected letters, digits and any of _ . + -"),
    (changed("levels.2.size", 4), "h.yaml: levels: item 2: size: unknown key"),
    (changed("lanes.z", 4), "h.yaml: lanes: z: expected one of m c y x k l"),
    (changed("bits.I", 12), "h.yaml: bits: I: expected a multiple of 8, got 12"),
    (changed("energy", "yang"), "h.yaml: energy: expected yang_2016, or a table of pJ, got 'yang'"),
    (changed("energy", 5), "h.yaml: energy: expected yang_2016, or a table of pJ, got 5"),
    (changed("energy.reg", None), "h.yaml: energy: reg: missing key"),
    (changed("energy.mac", None), "h.yaml: energy: mac: missing key"),
    (changed("energy.l2", 1.0), "h.yaml: energy: l2: expected a level (dram, sram, reg) or mac"),
    (changed("energy.reg", -1.0), "h.yaml: energy: reg: expected pJ, a number of at least 0, got -1.0"),
    (changed("energy.reg", "much"), "h.yaml: energy: reg: expected pJ, a number of at least 0, got 'much'"),
    (changed("width", 96), "h.yaml: width: expected 64, 128, 256 or 512, got 96"),
]


@pytest.mark.parametrize(("data", "message"), REJECTED)
def test_rejected(data: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Hierarchy.from_data(data, "h.yaml")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


# --- markers against levels ---

LAYER = {
    "name": "one", "input_channels": 16, "output_channels": 32, "input_height": 4, "input_width": 4,
    "output_height": 4, "output_width": 4, "kernel": [1, 1],
}  # fmt: skip


def on_small(nest: list[dict[str, Any]], **keys: Any) -> Schedule:
    data = {"format": 1, "kind": "schedule", "layer": LAYER, "nest": nest, **keys}
    return Hierarchy.from_data(DIANNAO).read_schedule(data, "s.yaml")


INNER: list[dict[str, Any]] = [{"m": 16}, {"c": 16}, {"y": 1}, {"x": 1}]


def test_a_nest_of_a_hierarchy_is_none_of_the_hardware() -> None:
    schedule = on_small([{"buffer": {"sram": "I"}}, *INNER])
    with pytest.raises(InputError, match="schedule: buffer: sram: expected markers of one memory level only; levels"):
        require_one_level(schedule)


def test_lanes_and_widths_are_those_of_the_hierarchy() -> None:
    schedule = on_small([{"buffer": {"sram": ["I", "W"], "reg": "O"}}, *INNER], lanes={"m": 2})
    assert (schedule.lanes, schedule.bits.acc) == (Lanes(m=16, c=16), 16)
    held = Hierarchy.from_data(DIANNAO).held(schedule, "O")
    assert [(level.name, place) for level, place in held] == [("reg", 0)]
    assert Schedule.from_data(schedule.as_data()) == schedule


def test_levels_at_one_loop_have_no_order() -> None:
    on_small([{"buffer": {"reg": "I"}}, {"buffer": {"sram": "I"}}, *INNER])


@pytest.mark.parametrize(
    ("nest", "message"),
    [
        ([{"buffer": {"l2": "I"}}, *INNER], "s.yaml: nest: buffer: expected sram or reg, the levels of small"),
        ([{"buffer": "I"}, *INNER], "s.yaml: nest: buffer: expected sram or reg, the levels of small"),
        ([{"buffer": {"dram": "I"}}, *INNER], "s.yaml: nest: buffer: expected sram or reg, the levels of small"),
        (
            [{"m": 16}, {"buffer": {"reg": "I"}}, {"c": 16}, {"buffer": {"sram": "I"}}, {"y": 1}, {"x": 1}],
            "s.yaml: nest: buffer: I: expected the marker of sram at or outside that of reg",
        ),
        (
            [{"buffer": {"sram": "I"}}, {"m": 16}, {"buffer": {"sram": "I"}}, {"c": 16}, {"y": 1}, {"x": 1}],
            "s.yaml: nest: buffer: I is marked twice at level sram",
        ),
        ([{"buffer": {"mac": ["Q"]}}, *INNER], "s.yaml: nest: item 0: buffer: expected I, W, O or a list of them"),
        ([{"buffer": {}}, *INNER], "s.yaml: nest: item 0: buffer: expected a level, got an empty mapping"),
        ([{"buffer": {3: "I"}}, *INNER], "s.yaml: nest: item 0: buffer: expected the name of a level, got 3"),
        ([{"m": {"step": 16, "over": "hwc"}}, *INNER[1:]], "s.yaml: nest: m: over: hwc: expected no spread loop"),
        ([*INNER[1:]], "s.yaml: nest: m: the innermost step leaves 32, the lanes do 16"),
        ([{"n": 2}, *INNER], "s.yaml: nest: n: 2: expected a step from 1 to 1"),
    ],
)
def test_nests_that_do_not_fit_together(nest: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(InputError) as caught:
        on_small(nest)
    assert str(caught.value).startswith(message)
