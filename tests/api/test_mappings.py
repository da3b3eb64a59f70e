"""``hwgen import-mapping``: files of each tool as nests, counted, and the causes of claims that differ."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import hwgen
from hwgen.api.mappings import ALL, UNKNOWN, Imported
from hwgen.ir.memory.hierarchy import load_hierarchy
from hwgen.ir.schedule import load_schedule
from hwgen.model.nest.hierarchy_counts import counts_of
from hwgen.model.nest.premises import EACH, HALO, PADDING, ZEROS
from tests.cli.command_line import Run, refused
from tests.cli.json_keys import undocumented

LAYER = hwgen.Layer(name="a", input_channels=4, output_channels=8, input_height=6, input_width=6, kernel=3, padding=1)
NEST = hwgen.Nest(LAYER, m=4, y=2, x=6, c=2, hold={"O": "x", "I": "c", "W": "c"})
"""The mapping of all texts below: O is held across the channels, I and W within two of them."""
ACCELFORGE = "m:4 p:2 q:6 [O in Buf] c:2 [I, W in Buf] m:1 p:1 q:1 c:1 r:1 s:1"
NODES = """mapping:
  nodes:
  - !Storage
    tensors: [I, W, O]
    component: MainMemory
  - !Temporal {rank_variable: m, tile_shape: 4}
  - !Temporal
    rank_variable: p
    tile_shape: 2
  - !Storage {tensors: [O], component: Buf}
  - !Temporal {rank_variable: c, tile_shape: 2}
  - !Storage {tensors: [I, W], component: Buf}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Compute {einsum: Conv, component: MAC}
"""
TIMELOOP = """DRAM [ Weights:288 (288) Inputs:256 (256) Outputs:288 (288) ]
-------------
| for K in [0:2)
|   for Q in [0:3)
|     for C in [0:2)
Buffer [ Weights:72 (72) Inputs:64 (64) Outputs:48 (48) ]
|       for B in [0:4)
|         for K in [0:4)
|           for Q in [0:2)
|             for P in [0:6)
|               for C in [0:2)
|                 for S in [0:3)
|                   for R in [0:3)
"""
FACTORS = """mapping:
- {target: DRAM, type: temporal, factors: K=2 C=2 P=1 Q=3 R=1 S=1, permutation: CQKPRS}
- {target: Buffer, type: temporal, factors: K=4 C=2 P=6 Q=2 R=3 S=3, permutation: RSCPQK}
"""
ZIGZAG = """{O: [[(FX, 3), (FY, 3), (C, 2), (OX, 6), (OY, 2), (K, 4), (C, 2)], [(OY, 3), (K, 2)]],
 W: [[(FX, 3), (FY, 3), (C, 2), (OX, 6), (OY, 2), (K, 4)], [(C, 2), (OY, 3), (K, 2)]],
 I: [[(FX, 3), (FY, 3), (C, 2), (OX, 6), (OY, 2), (K, 4)], [(C, 2), (OY, 3), (K, 2)]]}"""
TEXTS = {
    "line.txt": ("accelforge", ACCELFORGE),
    "nodes.yaml": ("accelforge", NODES),
    "map.txt": ("timeloop", TIMELOOP),
    "map.yaml": ("timeloop", FACTORS),
    "mapping.txt": ("zigzag", ZIGZAG),
}
RECORD = {
    "tool": "timeloop", "buffer_bytes": 1024, "mapping": TIMELOOP.replace("\n", " | "),
    "layer": {"name": "a", "H": 6, "E": 6, "C": 4, "M": 8, "R": 3, "S": 1, "padding_low_high": [1, 1]},
}  # fmt: skip


def imported(folder: Path, name: str, text: str, tool: str, **options: Any) -> Imported:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return hwgen.import_mapping(file, tool, **options)


def test_a_mapping_is_the_same_nest_in_every_form(tmp_path: Path) -> None:
    expected = hwgen.predict(NEST)
    for name, (tool, text) in TEXTS.items():
        found = imported(tmp_path, name, text, tool, layer=LAYER, buffer=512)
        assert found.nest.layer == LAYER
        mine = hwgen.predict(found.nest)
        assert (name, mine.layers[0].by_operand) == (name, expected.layers[0].by_operand)
        assert found.bytes == mine.bytes == expected.bytes
        assert [level.bytes for level in found.hierarchy.inner] == [512]
        assert found.differences == ()
        assert repr(found) == f"<Mapping of a by {tool}: {expected.bytes:,} bytes, nothing is claimed>"


def test_claims_are_compared_and_their_causes_named(tmp_path: Path) -> None:
    """Of one mapping the claims of a model that counts in another way, with each of the ways that are known."""
    plain = imported(tmp_path, "plain.json", json.dumps(RECORD), "timeloop")
    moved = {operand: plain.moved("DRAM", operand) for operand in ("I", "W", "O")}  # type: ignore[arg-type]
    padded = hwgen.Layer(name="a", input_channels=4, output_channels=8, input_height=8, input_width=8, kernel=3)
    whole = hwgen.predict(hwgen.Nest(padded, m=4, y=2, x=6, c=2, hold={"O": "x", "I": "c", "W": "c"}))
    as_data = whole.layers[0].by_operand["I"]
    assert as_data == 2 * 3 * 4 * 4 * 8 > moved["I"]  # tiles of four rows of eight, of both halves of the outputs
    for claims, total, causes in (
        (moved, None, {}),
        ({**moved, "I": as_data}, None, {"I": PADDING}),
        ({**moved, "O": moved["O"] + 4 * 288}, None, {"O": ZEROS}),
        ({**moved, "O": 4 * 288}, None, {"O": "outputs are written as partial sums, 32 bits each"}),
        ({**moved, "W": 8 * moved["W"]}, None, {"W": "bits against bytes"}),
        ({**moved, "W": moved["W"] + 1}, None, {"W": UNKNOWN}),
        ({}, sum(moved.values()), {}),
        ({}, sum(moved.values()) - moved["I"] + as_data, {ALL: PADDING}),
        ({**moved, "O": moved["O"] - 1}, sum(moved.values()), {"O": UNKNOWN}),
    ):
        record = {**RECORD, "claimed_bytes": claims} if claims else dict(RECORD)
        if total is not None:
            record["claimed_total_bytes"] = total
        found = imported(tmp_path, "record.json", json.dumps(record), "timeloop")
        assert {one.operand: one.cause for one in found.differences} == causes
        for one in found.differences:
            claim = total if one.operand == ALL else claims[one.operand]
            mine = sum(moved.values()) if one.operand == ALL else moved[one.operand]
            assert (one.level, one.bytes) == ("DRAM", claim - mine)
        assert undocumented("import-mapping", found.to_dict()) == []


def test_halos_that_are_fetched_again(tmp_path: Path) -> None:
    """Rows slide below the channels: of three tiles of four rows two keep two rows."""
    text = "m:4 c:2 p:2 [I, W, O in Buf] m:1 c:1 p:1 q:1 r:1 s:1"
    file = {**RECORD, "tool": "accelforge", "mapping": text}
    found = imported(tmp_path, "kept.json", json.dumps(file), "accelforge")
    kept, again = 2 * 4 * 6 * 6, 2 * 4 * 6 * (3 + 4 + 3)
    assert found.moved("dram", "I") == kept
    file["claimed_bytes"] = {"I": again}
    found = imported(tmp_path, "again.json", json.dumps(file), "accelforge")
    assert [one.to_dict() for one in found.differences] == [
        {"operand": "I", "level": "dram", "bytes": again - kept, "cause": HALO}
    ]
    file["claimed_bytes"] = {"I": 2 * 4 * 8 * 3 * 4}
    found = imported(tmp_path, "padded.json", json.dumps(file), "accelforge")
    assert [one.cause for one in found.differences] == [f"{PADDING}; {HALO}"]


def complete(**changes: Any) -> dict[str, Any]:
    """What ZigZag writes: 1 x 1 convolution of 4 to 8 channels and 6 x 6 pixels, weights in the multipliers."""
    level = "MemoryLevel(instance={},operands={}, served_dimensions={})"
    rf, sram, dram = (level.format("reg", "[I2]", "set()"), level.format("sram", "[I1, O]", "{D1, D2}"),
                      level.format("dram", "[I1, I2, O]", "{D1, D2}"))  # fmt: skip
    loops = ["(OX, 6)", "(OY, 6)", "(K, 2)"]
    entry = {"rd_out_to_low": 0, "wr_in_by_low": 0, "rd_out_to_high": 0, "wr_in_by_high": 0}
    counted = {
        "I": [{**entry, "rd_out_to_low": 36}, {**entry, "rd_out_to_low": 18}],
        "W": [{**entry, "rd_out_to_low": 1152}, {**entry, "rd_out_to_low": 4}],
        "O": [{**entry, "rd_out_to_low": 288, "wr_in_by_low": 288}, {**entry, "wr_in_by_low": 36}],
    }
    layer = {
        "name": "Op1", "type": "Conv", "equation_relations": ["IX = 1*OX + 1*FX", "IY = 1*OY + 1*FY"],
        "loop_dimensions": {"B": 1, "K": 8, "G": 1, "OX": 6, "OY": 6, "C": 4, "FX": 1, "FY": 1},
        "operand_precision": {"W": 8, "I": 8, "O_final": 8, "O": 16},
        "memory_operand_links": {"O": "O", "W": "I2", "I": "I1"},
    }  # fmt: skip
    accelerator = {
        "operational_array": {"dimensions": {"D1": 4, "D2": 4}},
        "mem_hierarchy_dict": {"I2": [rf, dram], "O": [sram, dram], "I1": [sram, dram]},
        "mem_size_dict": {"I2": [64, 10**10], "O": [8192, 10**10], "I1": [8192, 10**10]},
    }
    spatial = [["(K, 4)", "(C, 4)"], [], []]
    return {
        "outputs": {"memory": {"word_accesses": counted}},
        "inputs": {
            "accelerator": accelerator, "layer": layer,
            "spatial_mapping": {"O": spatial, "W": spatial, "I": spatial},
            "temporal_mapping": {"O": [loops, []], "I": [loops, []], "W": [loops[:2], loops[2:]]},
        },
    } | changes  # fmt: skip


def test_all_that_zigzag_writes(tmp_path: Path) -> None:
    words = {"dram": 64, "sram": 32, "reg": 8}
    out = tmp_path / "nest.yaml"
    found = imported(tmp_path, "Op1_complete.json", json.dumps(complete()), "zigzag", words=words, output=out)
    layer = found.schedule.layer
    assert (layer.name, layer.input_channels, layer.output_channels, layer.kernel) == ("Op1", 4, 8, (1, 1))
    assert str(found.schedule.lanes) == "m4c4"
    assert [(level.name, level.bytes) for level in found.hierarchy.levels] == [
        ("dram", None), ("sram", 1024), ("reg", 64 // 8 * 16)
    ]  # fmt: skip
    assert {level: {operand: found.moved(level, operand) for operand in claims}  # type: ignore[arg-type]
            for level, claims in found.claimed.items()} == {
        "dram": {"I": 144, "W": 32, "O": 288}, "sram": {"I": 288, "O": 288}, "reg": {"W": 1152},
    }  # fmt: skip
    causes = {(one.level, one.operand): (one.bytes, one.cause) for one in found.differences}
    assert set(causes) == {("sram", "I"), ("sram", "O")}
    assert causes["sram", "I"] == (144 - 288, UNKNOWN)
    # The counts of what is written are those of what was read: the nest on the hierarchy beside it.
    hierarchy = load_hierarchy(out.with_suffix(".hierarchy.yaml"))
    assert hierarchy == found.hierarchy
    assert counts_of(load_schedule(out), hierarchy).served == found.found.served
    assert undocumented("import-mapping", found.to_dict()) == []


def test_words_of_unknown_width_are_no_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("hwgen.api.mappings.remark", said.append)
    found = imported(tmp_path, "Op1.json", json.dumps(complete()), "zigzag", words={"dram": 64})
    assert {level: dict(of) for level, of in found.claimed.items()} == {"dram": {"I": 144, "W": 32, "O": 288}}
    assert [line.partition("unknown width at ")[2] for line in said] == ["sram, reg: --word-bits sram=BITS,reg=BITS"]
    rounded = complete()
    rounded["outputs"]["memory"]["word_accesses"]["W"][1]["rd_out_to_low"] = 5
    found = imported(tmp_path, "Op1.json", json.dumps(rounded), "zigzag", words={"dram": 64})
    assert [one.cause for one in found.differences] == ["rounded to whole words of 64 bits"]


def test_every_multiply_accumulate_for_itself(tmp_path: Path) -> None:
    data = complete()
    data["outputs"]["memory"]["word_accesses"]["I"][0]["rd_out_to_low"] = 1152
    found = imported(tmp_path, "Op1.json", json.dumps(data), "zigzag", words={"sram": 8, "dram": 64})
    assert {(one.level, one.operand): one.cause for one in found.differences}["sram", "I"] == EACH


def test_padding_that_a_file_does_not_say(tmp_path: Path) -> None:
    """Without a layer the map is as large as the kernel needs; a claim may be of a smaller one with padding."""
    text = {**RECORD, "mapping": TIMELOOP}
    bare = imported(tmp_path, "map.txt", TIMELOOP, "timeloop")
    assert (bare.schedule.layer.input_height, bare.schedule.layer.padding) == (8, (0, 0, 0, 0))
    known = imported(tmp_path, "record.json", json.dumps(text), "timeloop")
    assert known.moved("DRAM", "I") < bare.moved("DRAM", "I")


def test_a_stride_is_found_from_the_inputs(tmp_path: Path) -> None:
    strided = TIMELOOP.replace("Inputs:256", f"Inputs:{4 * 13 * 13}")
    assert imported(tmp_path, "map.txt", strided, "timeloop").schedule.layer.stride == (2, 2)


def test_groups_and_lines(tmp_path: Path) -> None:
    text = ZIGZAG.replace("(K, 2)", "(K, 2), (G, 3)")
    layer = hwgen.Layer(name="g", input_channels=12, output_channels=24, input_height=6, input_width=6, kernel=3,
                        padding=1, groups=3)  # fmt: skip
    found = imported(tmp_path, "mapping.txt", text, "zigzag", layer=layer)
    assert found.moved("dram", "W") == 3 * 8 * 4 * 9 * 3  # of each group as without, for each of three tiles of rows
    lines = tmp_path / "all.jsonl"
    lines.write_text(
        "\n".join(json.dumps({**RECORD, "buffer_bytes": size}) for size in (512, 1024)), encoding="utf-8"
    )
    second = hwgen.import_mapping(f"{lines}:2", "timeloop")
    assert second.hierarchy.levels[1].bytes == 1024
    with pytest.raises(hwgen.InputError, match=r"all\.jsonl: expected one of its 2 lines, such as .*all\.jsonl:1$"):
        hwgen.import_mapping(lines, "timeloop")
    with pytest.raises(hwgen.InputError, match=r"all\.jsonl: expected a line from 1 to 2, got 3$"):
        hwgen.import_mapping(f"{lines}:3", "timeloop")


OUTSIDE = "(OY, 3), (K, 2)"
WRONG: list[tuple[str, str, dict[str, Any], str]] = [
    ("line", "m:4 [O in Buf] c:2", {}, "line: a mapping of accelforge without its layer: expected --layer SET:NAME"),
    ("line", "m:4 [O in Buf c:2", {"layer": LAYER}, r"line: expected m:4 or \[O in Buf\], got"),
    ("line", "m:4 [X in Buf] c:2", {"layer": LAYER}, "line: Buf: X: expected tensors named I, W and O"),
    ("line", "m:4 z:1 [O in Buf] c:2", {"layer": LAYER}, "line: z: expected one of n, b, m, c, p, q, r, s"),
    ("line", "m:9 [O in Buf] c:2", {"layer": LAYER}, "line: nest: m: 9: expected a step from 1 to 8"),
    ("line", "", {"layer": LAYER}, "line: expected loops such as m:4, and what a memory holds"),
    ("nodes.yaml", NODES.replace("!Storage {", "!Fill {"), {"layer": LAYER}, "nodes.yaml: expected !Temporal"),
    ("nodes.yaml", NODES.replace("tile_shape: 2", "tile_shape: two"), {"layer": LAYER},
     "nodes.yaml: [pc]: tile_shape: expected a number of at least 1, got 'two'"),
    ("map.txt", TIMELOOP.replace("for S", "for Z"), {}, "map.txt: Z: expected one of N, M, K, C, P, Q, R, S"),
    ("map.txt", TIMELOOP.replace("[0:2)", "[0:2,1)"), {}, "map.txt: K: expected loops that divide evenly"),
    ("map.txt", TIMELOOP.split("Buffer")[0], {}, "map.txt: expected two memories or more"),
    ("map.txt", TIMELOOP, {"layer": "lenet:C1"}, "map.txt: m: expected loops over 6, which layer C1 has, got 8"),
    ("map.txt", TIMELOOP, {"layer": "lenet:C"}, "--layer: lenet:C: expected one, as SET:NAME, got 3"),
    ("map.yaml", FACTORS.replace("K=2", "K"), {}, "map.yaml: DRAM: factors: expected such as C=16 K=2"),
    ("map.yaml", FACTORS.replace("CQKPRS", "PRS"), {}, "map.yaml: DRAM: permutation: expected K, C, Q, too"),
    ("map.yaml", "a: b", {}, "map.yaml: expected map.txt, or mapping: a list of targets"),
    ("zigzag", ZIGZAG.replace("(FX, 3)", "(FX 3)"), {}, r"zigzag: I: expected loops such as \(K, 2\), got"),
    ("zigzag", ZIGZAG.replace("W:", "V:"), {}, "zigzag: expected loops of W such as"),
    ("zigzag", ZIGZAG.replace(f"{OUTSIDE}]],\n W", "(K, 2), (OY, 3)]],\n W"), {},
     "zigzag: expected the same loops in the same order for I, W and O"),
    ("Op.json", json.dumps(complete(outputs={})), {},
     "Op.json: expected what ZigZag writes as OpN_complete.json: no key 'memory'"),
    ("record.json", json.dumps({**RECORD, "buffer_bytes": "1KiB"}), {}, "record.json: buffer_bytes: expected a n"),
    ("record.json", json.dumps({**RECORD, "layer": {"H": 6}}), {}, "record.json: layer: E: expected a number"),
    ("record.json", json.dumps({**RECORD, "claimed_bytes": {"X": 1}}), {},
     "record.json: claimed_bytes: expected numbers for I, W and O"),
    ("missing.txt", "", {}, "missing.txt: cannot be read: no such file or directory"),
]  # fmt: skip
TOOL_OF = {"line": "accelforge", "nodes.yaml": "accelforge", "zigzag": "zigzag", "Op.json": "zigzag"}


@pytest.mark.parametrize(("name", "text", "options", "message"), WRONG)
def test_bad_files_are_one_line(
    name: str, text: str, options: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if name != "missing.txt":
        Path(name).write_text(text, encoding="utf-8")
    with pytest.raises(hwgen.InputError, match=f"^{message}") as raised:
        hwgen.import_mapping(name, TOOL_OF.get(name, "timeloop"), **options)
    assert "\n" not in str(raised.value)


def test_the_command(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    claimed = {"I": 768, "W": 1000, "O": 288}
    Path("record.json").write_text(json.dumps({**RECORD, "claimed_bytes": claimed}), encoding="utf-8")
    answer = run("import-mapping", "record.json", "--from", "timeloop", "-o", "nest.yaml")
    assert answer.status == 0
    assert "Mapping of a by timeloop: " in answer.out
    assert f"DRAM I: 288 bytes more are claimed: {PADDING}" in answer.out
    assert f"DRAM W: 136 bytes more are claimed: {UNKNOWN}" in answer.out
    assert "  # buffered at the loop below: I, W" in answer.out
    document = run("import-mapping", "record.json", "--from", "timeloop", "--json").json
    assert document["claimed"] == {"DRAM": claimed}
    assert {one["operand"] for one in document["differences"]} == {"I", "W"}
    predicted = run("predict", "nest.yaml", "--json").json["schedules"][0]
    assert predicted["counts"]["tcdm"]["I"]["read"]["bytes"] == document["counts"]["DRAM"]["I"]["read"]["bytes"]
    refused(
        run("import-mapping", "record.json", "--from", "zig"),
        "--from: expected zigzag, timeloop, accelforge, got 'zig'",
    )
    refused(
        run("import-mapping", "record.json", "--from", "zigzag"),
        "record.json: tool: expected zigzag, which --from says",
    )
    wrong = ("import-mapping", "record.json", "--from", "timeloop", "--word-bits", "dram")
    refused(run(*wrong), "--word-bits: expected LEVEL=BITS such as dram=64,sram=2048, got 'dram'")
    refused(
        run("import-mapping", "record.json", "--from", "timeloop", "--buffer", "1KiB"), "--buffer: expected one size"
    )


def test_it_shows_itself(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    found = imported(tmp_path, "r.json", json.dumps({**RECORD, "claimed_total_bytes": 5000}), "timeloop")
    frame = found.to_frame()
    assert list(frame[frame.operand == ALL]["claimed"]) == [5000]
    assert "<th>cause</th>" in found._repr_html_()
    assert "DRAM, claimed" in found.plot().save(tmp_path / "bytes.svg").read_text(encoding="utf-8")


def test_mappings_that_the_tools_themselves_made() -> None:
    """A folder of records, such as those of the page on other tools: every claim is explained."""
    folder = os.environ.get("HWGEN_MAPPINGS")
    if folder is None:
        pytest.skip("HWGEN_MAPPINGS is not set: expected a folder with mappings.jsonl")
    lines = (Path(folder) / "mappings.jsonl").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        record = json.loads(line)
        found = hwgen.import_mapping(f"{folder}/mappings.jsonl:{number}", record["tool"])
        assert found.claimed, number
        assert [one for one in found.differences if one.cause == UNKNOWN] == [], number
