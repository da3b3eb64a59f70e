"""``hwgen fuzz``: what differs is found, made simple, kept and repeated; in what is here nothing does."""

import shlex
import time
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

import hwgen
from hwgen.api.predictions import LayerOnHierarchy
from hwgen.ir.document import dump_yaml, load_yaml
from hwgen.studies.engine.attempt import Step
from hwgen.studies.fuzz import bench as programs
from hwgen.studies.fuzz import study
from hwgen.studies.fuzz.bench import Answer, Bench, Differs
from hwgen.studies.fuzz.kind import Kind
from hwgen.studies.fuzz.pairs import Case, Space
from hwgen.studies.fuzz.study import KINDS, Fuzz, perform, repeated
from tests.cli.command_line import Run, refused
from tests.studies.engine.inline import open_inline

REFUSE = "import sys; sys.stderr.write({!r}); print({!r}); sys.exit(2)"
DOCUMENT = '{"error": {"message": "a: no", "status": 2}}'
BROKEN = {
    "raise KeyError('planted')": "exit status 1: KeyError: 'planted'",
    "print('{}'); raise SystemExit(3)": "exit status 3",
    "print('{}{}')": "standard output is no JSON document",
    "print('[NaN]')": "standard output is no JSON document: NaN",
    "import sys; sys.stderr.write('careful'); print('{}')": "done, and yet says: careful",
    "open('elsewhere', 'w'); print('{}')": "elsewhere is written, which is not where -o says",
    "open('known', 'w').write('b'); print('{}')": "known is written",
    "import tempfile; tempfile.mkstemp('.left'); print('{}')": ".left in the folder of temporary files",
    REFUSE.format("hwgen: a: no\n", "{}"): "the refusal in the document: {} and {'error'",
    REFUSE.format("hwgen: a: no\nand\n", DOCUMENT): "a refusal that is not one line",
    REFUSE.format("a: no\n", DOCUMENT): "a refusal that is not one line",
    REFUSE.format("hwgen: a: KeyError\n", DOCUMENT): "a refusal with 'Error'",
}
"""Programs in place of hwgen, and what of them is wrong."""
CASES = {"layers": 60, "networks": 20}
"""Cases of a night, of each kind; of others ten."""


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """Cases and their commands run in this process."""

    def ran(bench: Bench, command: tuple[str, ...]) -> tuple[int, str, str]:
        with monkeypatch.context() as patch:
            patch.chdir(bench.folder)
            return run(*command)

    monkeypatch.setattr(Bench, "_run", ran)
    monkeypatch.setattr("hwgen.studies.engine.work.open_farm", open_inline)


@pytest.mark.parametrize("program", BROKEN)
def test_a_program_that_breaks_a_promise(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "PROGRAM", program)
    (tmp_path / "known").write_text("a")
    with pytest.raises(Differs) as differs:
        Bench(tmp_path)("predict", "found", "-o", "out")
    assert str(differs.value).startswith("hwgen predict found -o out --json --quiet: ")
    assert BROKEN[program] in str(differs.value)


def test_a_program_that_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "PROGRAM", "open('out', 'w'); print('{}')")
    assert Bench(tmp_path)("predict", "-o", "out").json == {}
    monkeypatch.setattr(programs, "PROGRAM", REFUSE.format("hwgen: a: no\n", DOCUMENT))
    assert Bench(tmp_path)("predict").refused == "a: no"
    monkeypatch.setattr(programs, "PROGRAM", "import time; time.sleep(60)")
    monkeypatch.setattr(programs, "SECONDS", 0.2)
    with pytest.raises(Differs, match=r"not done after 0\.2 s"):
        Bench(tmp_path)("predict")


@pytest.mark.usefixtures("inline")
def test_a_planted_defect_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`predict` counts the images of a batch otherwise than `schedule`."""
    real = LayerOnHierarchy.to_dict

    def wrong(self: LayerOnHierarchy, **more: bool) -> dict[str, Any]:
        data = real(self, **more)
        data["energy"]["total"] += self.schedule.layer.batch > 1
        return data

    monkeypatch.setattr(study, "SHRINKING_SECONDS", 0)
    with monkeypatch.context() as patch:
        patch.setattr(LayerOnHierarchy, "to_dict", wrong)
        found = Fuzz(("hierarchies",), 2, 0, tmp_path).run(lambda value: None)
    one, *_ = found.differences
    assert "--hierarchy hierarchy.yaml" in one.what
    assert "--json --quiet: energy of schedule, and of predict: total " in one.what
    folder = tmp_path / Path(one.files[0]).parent
    assert {path.name for path in folder.iterdir()} == {"case.yaml", "commands.txt", "set.yaml", "hierarchy.yaml"}
    assert load_yaml(folder / "case.yaml")["batch"] > 1
    assert [line.split()[1] for line in (folder / "commands.txt").read_text().splitlines()] == ["schedule", "predict"]
    assert shlex.split(one.command) == ["hwgen", "fuzz", "--case", str(folder / "case.yaml")]
    assert repeated(folder / "case.yaml").differences == ()


def test_what_differs_is_made_as_simple_as_it_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as it differs in the same way; it is kept, and it is run again by its command."""

    def ask(case: Case, bench: Bench) -> None:
        bench.commands.append("hwgen predict found")
        if case["a"] > 1 and case["b"]:
            bench.differs(f"wrong by {case['a'] * case['c'] / 2}")
        if case["b"]:
            bench.differs("something else")

    space = Space({"a": (0, 1, 2, 3), "b": (None, "x", "y"), "c": (5, 6, 7)}, lambda case: True)
    monkeypatch.setitem(KINDS, "files", Kind(space, lambda case, folder: None, ask))
    case: Case = {"a": 3, "b": "y", "c": 7}
    value = perform(Step("case", "0123456789", "", ("files", case, str(tmp_path))), lambda stage: None)
    file = tmp_path / "differences" / "files_01234567" / "case.yaml"
    assert value["difference"] == {
        "what": "hwgen predict found: wrong by 5.0",
        "files": ["differences/files_01234567/case.yaml", "differences/files_01234567/commands.txt"],
        "command": f"hwgen fuzz --case {file}",
    }
    assert load_yaml(file) == {"kind": "files", "a": 2, "b": "x", "c": 5}
    again = hwgen.fuzz(case=file)
    assert [one.what for one in again.differences] == ["hwgen predict found: wrong by 5.0"]
    assert again.to_dict()["differences"] == [
        {"what": again.differences[0].what, "files": [str(file)], "command": value["difference"]["command"]}
    ]
    assert again.rows() == [{"what": again.differences[0].what, "command": value["difference"]["command"]}]
    file.write_text(dump_yaml({"kind": "files", "a": 2, "b": None, "c": 5}), encoding="utf-8")
    again = hwgen.fuzz(case=file)
    assert (again.differences, again.summary()) == ((), "1 case, 0 differences; 0 of 0 pairs of values; 0 s")


def test_the_command_goes_on_where_it_was(run: Run, tmp_path: Path) -> None:
    command = ("fuzz", "--cases", 2, "--seed", 1, "--what", "files", "-o", tmp_path / "out", "--json")
    answer = run(*command)
    assert (answer.status, answer.err) == (0, "")
    found = answer.json
    assert (found["cases"], found["differences"]) == (2, [])
    assert 0 < found["pairs"]["covered"] < found["pairs"]["of"]
    kept = (tmp_path / "out" / "cases.jsonl").read_text()
    assert kept.count("\n") == 2
    began = time.perf_counter()
    assert run(*command).json == {**found, "seconds": pytest.approx(0, abs=time.perf_counter() - began + 10)}
    called = hwgen.fuzz(cases=2, seed=1, what=["files"], output=tmp_path / "out")
    assert (tmp_path / "out" / "cases.jsonl").read_text() == kept
    assert called.to_dict() == {**found, "seconds": round(called.seconds, 1)}
    assert (called.cases, called.differences) == (2, ())
    assert {"covered": called.pairs.covered, "of": called.pairs.of} == found["pairs"]
    with pytest.raises(AttributeError):
        called.seconds = 1  # type: ignore[misc]


def test_refusals(run: Run, tmp_path: Path) -> None:
    refused(run("fuzz"), "-o: expected a folder for what is found")
    with pytest.raises(hwgen.InputError, match=r"^-o: expected a folder for what is found$"):
        hwgen.fuzz()
    with pytest.raises(hwgen.InputError, match=r"^--cases: expected 1 or more, got 0$"):
        hwgen.fuzz(cases=0, output=tmp_path)
    with pytest.raises(hwgen.InputError, match=r"^--cases: expected at most 1,000,000, got 2,000,000$"):
        hwgen.fuzz(cases=2_000_000, output=tmp_path)
    refused(run("fuzz", "--what", "layer", "-o", tmp_path), "--what: expected some of layers, sets, networks, ")
    case = tmp_path / "case.yaml"
    case.write_text(dump_yaml({"kind": "files", "file": "set.yaml", "place": 0, "wrong": "mauve"}), encoding="utf-8")
    refused(run("fuzz", "--case", case), f"{case}: expected a case that hwgen fuzz has kept")
    refused(run("fuzz", "--case", case, "-o", tmp_path), "--case: expected without -o")


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize(("seed", "cluster"), [(5, None), (1, True)], ids=["hwc", "cluster"])
def test_layers_without_a_simulator(tmp_path: Path, seed: int, cluster: bool | None) -> None:
    given = {"simulated": None, "objective": "traffic", "cluster": cluster}
    drawn = (KINDS["layers"].space.drawn(rng, given) for rng in map(Random, count(seed)))
    case = next(case for case in drawn if case)
    value = perform(Step("case", "0123456789", "", ("layers", case, str(tmp_path))), lambda stage: None)
    assert value == {"difference": None, "refused": ""}


class Asked(Bench):
    """What commands are asked, none of which runs."""

    def __call__(self, *words: object, failing: bool = False) -> Answer:
        self.commands.append(" ".join(map(str, words)))
        return Answer(tuple(self.commands[-1:]), 0, {"layers": [], "schedules": [], "results": []})


@pytest.mark.parametrize(
    "given", [{"cluster": None, "simulated": "icarus"}, {"cluster": True, "cluster.clusters": 4}]
)
def test_commands_are_given_an_option_once(tmp_path: Path, given: dict[str, Any]) -> None:
    given = {"simulated": "verilator", "simulated.stalls": True, **given}
    case = next(filter(None, (KINDS["layers"].space.drawn(Random(seed), given) for seed in count())))
    bench = Asked(tmp_path)
    KINDS["layers"].ask(case, bench)
    assert len(bench.commands) > 7
    for command in bench.commands:
        options = [word for word in command.split() if word.startswith("-")]
        assert len(options) == len({*options}), command


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_differs(run: Run, tmp_path: Path, kind: str) -> None:
    """Each with its simulations; new cases every night would hide what changed, so they are always the same."""
    answer = run(
        "fuzz", "--cases", CASES.get(kind, 10), "--seed", 24, "--what", kind, "-o", tmp_path / "out", "--json"
    )
    assert answer.status == 0, answer.json["differences"]
