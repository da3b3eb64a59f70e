"""Every command in README and tutorial is run as it is written, or is an exception with a reason.

`tests.house.test_doc_examples` runs the tutorial's quick ones, this module README's. At night both pages are followed
in a copy of the checkout as a stranger would: `make demo`, `source .venv/bin/activate`, and then line by line in a
shell, on the running Python and on the newest that the machine has.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.cli.command_line import Run
from tests.house.test_doc_examples import blocks, missing

ROOT = Path(__file__).resolve().parents[2]
README, TUTORIAL = ROOT / "README.md", ROOT / "docs" / "tutorial.md"
PROGRAMS = ("hwgen", "make", "pip", "python", "git", "source", "apt")
QUICK = ("layers", "schedule", "predict", "depth-first")
NIGHTLY = ("hwgen schedule my.yaml --buffer 1KiB --shared -o hwc", "hwgen predict hwc")
"""Of README's quick ones those that search for long; `tests.cli.chains.test_hwcs` runs the like in every run."""
SECONDS = 3600.0
"""For one command."""

EXCEPTIONS = {
    "git clone <this repository> hwgen && cd hwgen": "the address is the reader's; the tests copy the checkout",
    "make docs": "`.ci/run` runs it",
    "make lint": "`.ci/run` runs it",
    "make test": "runs this test",
    "make bench": "takes longer than the tests, and needs an idle machine",
    "make examples": "takes minutes and downloads; what they are made of has tests of its own",
    "make regress": "takes hours; the regressions have tests of their own",
    "apt install iverilog": "installs for the whole machine",
    "apt install liblz4-dev zlib1g-dev": "installs for the whole machine",
    "hwgen schedule --min-utilisation": "names an option",
    "hwgen schedule --hardware cluster": "names an option",
}
"""Commands that are not run, with the reason."""
INSTALL = ("make demo", "source .venv/bin/activate")
"""What comes first, in the copy of the checkout; all else runs in an empty folder."""


def commands(page: Path) -> Iterator[tuple[str, str | None]]:
    """(command, what the page prints below it, if it does) in order: in blocks and between backticks."""
    text = page.read_text(encoding="utf-8")
    for fence, info, body, inline in re.findall(
        r"^(```)(\S?[^\n]*)\n(.*?)^```$|`([^`\n]+)`", text, re.DOTALL | re.MULTILINE
    ):
        if info.startswith("console"):
            command, _, expected = body.removeprefix("$ ").partition("\n")
            yield command, expected
        elif fence and not info:
            yield from ((line.partition("  #")[0].strip(), None) for line in body.splitlines() if of_program(line))
        elif inline and of_program(inline) and not re.fullmatch(r"hwgen [\w-]+", inline):  # names a command
            yield inline, None


def of_program(line: str) -> bool:
    return line.split(" ")[0] in PROGRAMS


def to_run(page: Path) -> list[tuple[str, str | None]]:
    """Those of a page that are no exceptions and no installation."""
    return [one for one in commands(page) if one[0] not in EXCEPTIONS and one[0] not in INSTALL]


def write_files(page: Path, folder: Path) -> None:
    """The page's files: blocks with a title, and of README the first block of YAML, whose name stands before it."""
    for language, title, text in blocks(str(page)):
        name = title or ("my.yaml" if language == "yaml" else "")
        if name:
            (folder / name).write_text(text, encoding="utf-8")


def test_every_command_is_run_or_an_exception() -> None:
    found = {command for page in (README, TUTORIAL) for command, _ in commands(page)}
    assert set(EXCEPTIONS) - found == set()
    assert {*INSTALL, *NIGHTLY} <= found
    assert {"layers", "schedule", "predict", "cosim", "generate", "install"} <= {
        command.split()[1] for command, _ in to_run(README)}  # fmt: skip
    in_blocks = [command for command, expected in to_run(TUTORIAL) if expected is not None]
    assert len(in_blocks) >= 12
    assert {command.split()[0] for command in in_blocks} == {"hwgen", "python"}


def test_extras_are_quoted_for_every_shell() -> None:
    """Zsh takes square brackets for a pattern; and no index needs to have the package."""
    for page in (README, *sorted((ROOT / "docs").rglob("*.md"))):
        for line in re.findall(r"pip install[^`\n]*", page.read_text(encoding="utf-8")):
            assert "hwgen" not in line, line
            assert re.fullmatch(r"[^\[]*('[^']*'[^\[]*)*", line), line


def test_readme_quick_commands(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(README, tmp_path)
    for command, _ in to_run(README):
        program, verb, *arguments = shlex.split(command)
        if program == "hwgen" and verb in QUICK and command not in NIGHTLY:
            answer = run(verb, *arguments)
            assert (answer.status, answer.err) == (0, ""), command
            assert answer.out, command


# --- at night ---


@cache
def newest_python() -> Path | None:
    """The newest Python that is newer than the running one: on the path, or among those of pyenv."""
    on_path = (shutil.which(f"python3.{minor}") for minor in range(sys.version_info.minor + 1, 40))
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[tuple[int, ...], Path] = {}
    for path in [*map(Path, filter(None, on_path)), *pyenv.glob("3.*/bin/python3")]:
        program = "import sys, venv, ensurepip; print(*sys.version_info[:2])"
        answer = subprocess.run([path, "-c", program], capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            found[tuple(map(int, answer.stdout.split()))] = path
    newest = max(found, default=(0,))
    return found[newest] if newest > sys.version_info[:2] else None


def shell(line: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    bash = shutil.which("bash")
    assert bash is not None
    return subprocess.run(
        [bash, "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
    )


PLAIN = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}


def install(python: Path, folder: Path) -> Path:
    """A copy of the checkout in which `make demo` has run with a Python."""
    kept = shutil.ignore_patterns(".git", ".venv", "build", "results", "rtl_out", ".*_cache", "__pycache__")
    checkout = folder / "hwgen"
    shutil.copytree(ROOT, checkout, ignore=kept)
    (checkout / "rtl_out").mkdir()
    made = shell(f"{INSTALL[0]} PYTHON={shlex.quote(str(python))}", checkout, PLAIN)
    assert made.returncode == 0, made.stderr[-2000:]
    assert "predicted = measured for every operand and direction" in made.stdout
    return checkout


def follow(checkout: Path, page: Path, place: Path) -> None:
    """The commands of a page of the checkout, in an empty folder."""
    place.mkdir()
    write_files(page, place)
    for command, expected in to_run(page):
        if "--sim icarus" in command and shutil.which("iverilog") is None:
            continue
        inside = checkout if command.startswith("pip") else place
        ran = shell(f"source {shlex.quote(str(checkout))}/.venv/bin/activate && {command}", inside, PLAIN)
        refused = expected is not None and expected.startswith("hwgen: ")
        if command.startswith("hwgen"):
            assert (ran.returncode, ran.stderr) == ((2, expected) if refused else (0, "")), command
        assert ran.returncode == (2 if refused else 0), (command, ran.stderr)
        assert missing("" if refused or expected is None else expected, ran.stdout) == [], command


def first_day(python: Path, folder: Path) -> None:
    """README and tutorial from the first line on, with a Python."""
    checkout = install(python, folder)
    for page in (README, TUTORIAL):
        follow(checkout, checkout / page.relative_to(ROOT), folder / page.stem)
    assert {"expand.O.npy", "expand.json"} <= {path.name for path in (folder / TUTORIAL.stem / "run").iterdir()}
    assert {"hwc.v", "hwc.core"} <= {path.name for path in (folder / TUTORIAL.stem / "rtl").iterdir()}
    shutil.rmtree(folder)


@pytest.mark.nightly
@pytest.mark.icarus
def test_both_pages_on_this_python(tmp_path: Path) -> None:
    first_day(Path(sys.base_prefix) / "bin" / "python3", tmp_path / "first_day")


@pytest.mark.nightly
@pytest.mark.icarus
def test_both_pages_on_the_newest_python(tmp_path: Path) -> None:
    python = newest_python()
    if python is None:
        pytest.skip(f"no Python newer than {sys.version_info.major}.{sys.version_info.minor} is installed")
    first_day(python, tmp_path / "first_day")
