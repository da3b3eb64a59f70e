"""The generated pages of the documentation: nothing that the code has is left out of them."""

import re

import pytest
import yaml

from manual.api import ROOT, rooms
from manual.commands import Command, commands
from manual.pages import generated_pages
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
    lines = [line.strip("│ \n") for line in printed.partition("Commands")[2].splitlines()]
    named = {line.split()[0] for line in lines if line and line[0].islower() and "  " in line}
    assert {one.name for one in commands()} == named
