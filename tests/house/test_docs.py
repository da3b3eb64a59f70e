"""The generated pages of the documentation: nothing that the code has is left out of them."""

import inspect
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from hwgen.export.cached import generated
from hwgen.export.cluster import cluster_files_of
from hwgen.export.manifest import waivers
from hwgen.export.pipeline import pipeline_verilog
from hwgen.gateware.bus.axi import AxiSignature
from hwgen.gateware.dma.settings import StreamId
from hwgen.tools.toolchain import verilator_root
from manual.api import rooms
from manual.axi import ABSENT, AXI4, absent_table, id_table
from manual.commands import Command, commands
from manual.designs import ROOT, cluster, hwc, pipeline
from manual.docstrings import with_list
from manual.figures.drawing import Drawing
from manual.figures.overview import STORED, overview_file
from manual.inserts import DRAWINGS, with_inserts
from manual.integration import instantiation
from manual.members import members_of
from manual.pages import generated_pages
from manual.ports import TOPS, top
from manual.registers import WITH_REGISTERS, bank_of
from manual.timing.diagrams import diagrams, stored_diagrams
from manual.timing.svg import timing_svg
from tests.cli.command_line import Run


def test_every_page_of_the_navigation_is_there() -> None:
    def pages(entry: object) -> list[str]:
        match entry:
            case str():
                return [entry]
            case dict():
                return [page for inside in entry.values() for page in pages(inside)]
            case list():
                return [page for inside in entry for page in pages(inside)]
        raise AssertionError(entry)

    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert set(pages(yaml.safe_load(text)["nav"])) <= there | set(generated_pages())


def pages() -> dict[str, str]:
    """The pages that are read, by name; those of the API are looked into."""
    written = {
        path.relative_to(ROOT / "docs").as_posix(): path.read_text(encoding="utf-8")
        for path in (ROOT / "docs").rglob("*.md")
    }
    return written | {name: text for name, text in generated_pages().items() if not name.startswith("api/")}


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_page_begins_with_what_one_can_do_with_it(name: str) -> None:
    title, first, *_ = pages()[name].split("\n\n")
    assert re.fullmatch(r"# [^\n]+", title)
    assert re.search(r"\byou\b", first), first


def test_every_module_is_on_an_api_page() -> None:
    modules = {module for inside in rooms().values() for module in inside}
    files = [path for package in ("hwgen", "cosim") for path in (ROOT / package).rglob("*.py")]
    assert len(modules) == len(files)
    for room, inside in rooms().items():
        page = generated_pages()[f"api/{room}.md"].splitlines()
        assert [line for line in page if line.startswith(":::")] == [f"::: {module}" for module in inside]


@pytest.mark.parametrize("command", commands(), ids=lambda command: command.name)
def test_every_command_has_its_help_on_the_page(command: Command, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each option that ``--help`` prints is on the page: the page reads the functions, not the printed help."""
    monkeypatch.setenv("COLUMNS", "200")
    answer = run(command.name, "--help")
    leading = re.findall(r"(?m)^│[ *]*((?:-[\w-]+[ ,]+)+)", answer.out)
    printed = {word.strip(",") for words in leading for word in words.split() if word.startswith("--")}
    spelled = {spelling for option in command.options for spelling in option.spellings if spelling.startswith("--")}
    assert printed - {"--help"} == spelled
    section = generated_pages()["commands.md"].partition(f"{{ #{command.name} }}")[2].partition("\n## ")[0]
    assert all(f"`{spelling}`" in section for spelling in spelled)


def test_every_command_is_on_the_page(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    printed = run("--help").out
    assert [one.name for one in commands()]
    assert all(one.name in printed for one in commands())
    lines = [line.strip("│ \n") for line in printed.partition("Options")[2].splitlines()]
    named = {line.split()[0] for line in lines if line and line[0].islower() and "  " in line}
    assert {one.name for one in commands()} == named


def test_every_axi_signal_is_a_port_or_in_the_table_of_those_that_are_not_there() -> None:
    there = set(AxiSignature(64).members)
    absent = [name for one in ABSENT for name in one.names]
    assert sorted([*there, *absent]) == sorted(AXI4)
    assert all(f"`{name}`" in "\n".join(absent_table()) for name in absent)
    assert len(id_table()) == 2 + len(StreamId.__members__)


@pytest.mark.parametrize("name", TOPS)
def test_every_port_is_on_the_page_and_in_the_template(name: str) -> None:
    section = generated_pages()["ports.md"].partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    shown = top(name)
    assert len(shown.ports) > 4
    for port in shown.ports:
        assert f"| `{port.name}` | {port.direction} | {port.width} |" in section
        if name != "dma":
            assert f"({port.name})" in generated_pages()["instantiation.md"]


def lint_of(name: str, template: str, folder: Path) -> str:
    """What Verilator says of a module that consists of the template, beside the top that it instantiates."""
    if name == "cluster":
        files = cluster_files_of(cluster())
    else:
        text = generated(hwc()) if name == "hwc" else pipeline_verilog(pipeline())
        files = {f"{name}.v": text, f"{name}.vlt": waivers(name)}
    for file in (f"{name}.v", f"{name}.vlt"):
        (folder / file).write_text(files[file], encoding="utf-8")
    module = f"module integration(input clk, input rst);\n{template}\nendmodule\n"
    (folder / "integration.v").write_text(module, encoding="utf-8")
    command = [str(verilator_root() / "bin" / "verilator_bin"), "--lint-only", "--top-module", "integration"]
    answer = subprocess.run(
        [*command, f"{name}.vlt", "integration.v", f"{name}.v"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"VERILATOR_ROOT": str(verilator_root())},
    )
    assert (answer.returncode == 0) == (answer.stderr == "")
    return answer.stderr


@pytest.mark.parametrize("name", ["hwc", pytest.param("cluster", marks=pytest.mark.nightly), "pipeline"])
def test_a_template_connects_every_port_of_the_verilog(name: str, tmp_path: Path) -> None:
    template = instantiation(top(name))
    assert lint_of(name, template, tmp_path) == ""


def test_a_template_that_leaves_a_port_out_and_has_one_too_wide_is_noticed(tmp_path: Path) -> None:
    template = instantiation(top("hwc"))
    wrong = "\n".join(line for line in template.splitlines() if not line.startswith("  .tcdm_i__be"))
    found = lint_of("hwc", wrong.replace("[3:0] tcdm_w__be", "[4:0] tcdm_w__be"), tmp_path)
    assert "PINMISSING" in found
    assert "WIDTH" in found


@pytest.mark.parametrize("name", WITH_REGISTERS)
def test_every_register_field_and_code_is_on_its_page(name: str) -> None:
    page = generated_pages()[f"registers/{name}.md"]
    bank = bank_of(name)
    assert len(bank.registers) > 10
    for one in bank:
        line = next(line for line in page.splitlines() if line.startswith(f"| `0x{one.address:03x}` |"))
        assert f"`{one.name}`" in line
        if len(one.fields) > 1:
            section = page.partition(f"{{ #{one.name} }}")[2].partition("\n#")[0]
            assert all(
                f"| `{field.name}` | `{field.access}` | `{field.reset:#x}` |" in section for field in one.fields
            )
    codes = [field.codes for one in bank for field in one.fields if field.codes]
    assert all(f"| {int(code)} | `{code.name}` |" in page for kind in codes for code in kind)


def test_the_timing_diagrams_are_what_the_gateware_does_now() -> None:
    """`make figures` writes them anew."""
    assert stored_diagrams() == diagrams()


def test_every_timing_diagram_is_shown() -> None:
    page = (ROOT / "docs" / "handshakes.md").read_text(encoding="utf-8")
    assert set(re.findall(r"(?m)^\{\{ timing-([\w-]+) \}\}$", page)) == set(stored_diagrams())
    assert with_inserts(page).count("<svg") == len(stored_diagrams())


def test_a_timing_diagram_has_a_shape_for_every_value() -> None:
    diagram = {"signal": [{"name": "clk", "wave": "p.|."}, {"name": "a<b", "wave": "x=|0", "data": ["7"]}]}
    svg = timing_svg(diagram, "title")
    assert [svg.count(f'class="{kind}"') for kind in ("line", "idle", "gap", "grid")] == [4, 1, 2, 3]
    assert ">7</text>" in svg
    assert "a&lt;b" in svg


def test_an_insert_that_nothing_is_known_by_is_refused() -> None:
    with pytest.raises(KeyError, match="nothing"):
        with_inserts("text\n\n{{ nothing }}\n")


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_well_formed_and_its_blocks_do_not_overlap(name: str) -> None:
    drawing = DRAWINGS[name]()
    assert ElementTree.fromstring(drawing.svg()).tag == "svg"
    solid = [box for box in drawing.placed if box not in drawing.frame_boxes]
    for number, one in enumerate(solid):
        for other in solid[number + 1 :]:
            apart = one.x + one.width <= other.x or other.x + other.width <= one.x
            assert apart or one.y + one.height <= other.y or other.y + other.height <= one.y, (one, other)


def test_the_picture_of_the_readme_is_the_one_of_the_first_page() -> None:
    """`make figures` writes it anew."""
    assert STORED.read_text(encoding="utf-8") == overview_file()
    assert f"](docs/assets/{STORED.name})" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "{{ drawing-overview }}" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


def test_drawings_show_the_widths_of_the_design() -> None:
    """The texts that come from the parameters change with them."""
    p = cluster()
    text = DRAWINGS["cluster"]().svg()
    assert f">{p.axi_bits} bit<" in text
    assert f">{p.tcdm_banks} banks of {p.tcdm.depth} words of 32 bit,<" in text
    assert f">{hwc().lanes.product} lanes<" in DRAWINGS["hwc"]().svg()


def test_a_block_outside_of_its_drawing_is_refused() -> None:
    drawing = Drawing("too small", 40)
    drawing.box((380, 8, 30, 20), "wide")
    with pytest.raises(AssertionError, match="leaves the drawing"):
        drawing.svg()


DOCSTRING = """One line.

    More.

    Members
    -------
    a, b : In(1)
        Both
        of them.
    {left,right}_end : Out(32)
    o_map{m} : Out(stream)
        Numbered.
    """


def test_members_of_a_docstring() -> None:
    names = [(one.names, one.kind, one.meaning) for one in members_of(DOCSTRING)]
    assert names == [
        ("a, b", "In(1)", "Both of them."),
        ("{left,right}_end", "Out(32)", ""),
        ("o_map{m}", "Out(stream)", "Numbered."),
    ]
    covered = {name: [one.covers(name) for one in members_of(DOCSTRING)].index(True) for name in
               ("a", "b", "left_end", "right_end", "o_map12")}  # fmt: skip
    assert covered == {"a": 0, "b": 0, "left_end": 1, "right_end": 1, "o_map12": 2}
    assert not any(one.covers("o_map") for one in members_of(DOCSTRING))
    assert members_of("One line.") == members_of(None) == ()


def test_members_become_a_list_on_the_api_pages() -> None:
    text = with_list(inspect.cleandoc(DOCSTRING))
    assert text.startswith("One line.\n\nMore.\n\n**Members**\n\n- `a, b`: `In(1)`\n  <br>Both of them.\n- ")
    assert "-----" not in text
