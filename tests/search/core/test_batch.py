import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.requantisation import GivenRequantisation
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.core import batch, shared_out
from hwgen.search.core.batch import Request, search_layers
from hwgen.search.core.optimal import Result

REQUEST = Request((200, 1024))


def layers() -> list[Layer]:
    """Five small layers, two of them the same but for the name."""
    found = []
    for number, channels in enumerate((2, 3, 4, 3, 5)):
        found.append(
            Layer(
                name=f"layer_{number}",
                input_channels=channels,
                output_channels=4,
                input_height=6,
                input_width=7,
                kernel=3,
            )
        )
    return found


def essence(results: list[list[Result]]) -> list[list[tuple[object, ...]]]:
    """Results without the time they took."""
    return [[(r.schedule, r.buffer_bytes, r.counts, r.need, r.covered, r.pruned) for r in each] for each in results]


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the layers that are really searched in this process."""
    names: list[str] = []
    real = batch.search

    def spy(layer: Layer, *arguments: object, **options: object) -> list[Result]:
        names.append(layer.name)
        return real(layer, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(batch, "search", spy)
    return names


def test_equal_layers_are_searched_once_and_keep_their_names(searched: list[str]) -> None:
    done: list[str] = []
    results = search_layers(layers(), REQUEST, jobs=1, progress=lambda layer: done.append(layer.name))
    assert searched == ["layer_0", "layer_1", "layer_2", "layer_4"]
    assert sorted(done) == [f"layer_{number}" for number in range(5)]
    assert [each[0].schedule.layer.name for each in results] == [f"layer_{number}" for number in range(5)]
    assert results[1][1].schedule.nest == results[3][1].schedule.nest


def test_layers_that_differ_in_their_requantisation_share_a_search_and_keep_it(searched: list[str]) -> None:
    plain = layers()[0]
    rectified = plain.requantised(GivenRequantisation(relu=True)).model_copy(update={"name": "rectified"})
    one, two = search_layers([plain, rectified], REQUEST, jobs=1)
    assert searched == ["layer_0"]
    assert (one[0].schedule.layer, two[0].schedule.layer) == (plain, rectified)


@pytest.mark.parametrize("seconds", [0.0, 1e6])
def test_any_number_of_jobs_gives_the_same_results_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(shared_out, "ALONE_SECONDS", seconds)
    alone = search_layers(layers(), REQUEST, jobs=1, store=tmp_path / "alone")
    together = search_layers(layers(), REQUEST, jobs=2, store=tmp_path / "together")
    assert essence(alone) == essence(together)
    files = [{path.name: path.read_bytes() for path in (tmp_path / run).iterdir()} for run in ("alone", "together")]
    assert files[0] == files[1]
    assert len(files[0]) == 4


def test_stored_results_are_used_again(tmp_path: Path, searched: list[str]) -> None:
    first = search_layers(layers(), REQUEST, jobs=1, store=tmp_path)
    searched.clear()
    assert essence(search_layers(layers(), REQUEST, jobs=1, store=tmp_path)) == essence(first)
    assert searched == []


@pytest.mark.parametrize(
    "other",
    [
        Request((200, 2048)),
        Request((200, 1024), objective="words"),
        Request((200, 1024), hardware=Hardware(name="hwc", lanes=Lanes(x=16))),
        Request((200, 1024), order=("m", "c", "y", "x", "k", "l")),
    ],
)
def test_stored_results_answer_only_the_same_request(tmp_path: Path, searched: list[str], other: Request) -> None:
    search_layers(layers()[:1], REQUEST, jobs=1, store=tmp_path)
    searched.clear()
    search_layers(layers()[:1], other, jobs=1, store=tmp_path)
    assert searched == ["layer_0"]


def test_the_name_of_the_hardware_does_not_matter(tmp_path: Path, searched: list[str]) -> None:
    for name in ("one", "other"):
        search_layers(layers()[:1], Request((200,), Hardware(name=name, lanes=Lanes(x=16))), jobs=1, store=tmp_path)
    assert searched == ["layer_0"]


@pytest.mark.parametrize("damage", ["", "{}", "not JSON", None])
def test_damaged_files_are_searched_again(tmp_path: Path, searched: list[str], damage: str | None) -> None:
    search_layers(layers()[:1], REQUEST, jobs=1, store=tmp_path)
    (path,) = tmp_path.iterdir()
    whole = path.read_text()
    if damage is None:  # a schedule that is none
        document = json.loads(whole)
        document["results"][0]["schedule"]["nest"] = []
        damage = json.dumps(document)
    path.write_text(damage)
    searched.clear()
    search_layers(layers()[:1], REQUEST, jobs=1, store=tmp_path)
    assert searched == ["layer_0"]
    assert path.read_text() == whole


def test_an_interrupt_loses_no_finished_layer(tmp_path: Path, searched: list[str]) -> None:
    def interrupt(layer: Layer) -> None:
        if layer.name == "layer_2":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search_layers(layers(), REQUEST, jobs=1, store=tmp_path, progress=interrupt)
    assert searched == ["layer_0", "layer_1", "layer_2"]
    searched.clear()
    resumed = search_layers(layers(), REQUEST, jobs=1, store=tmp_path)
    assert searched == ["layer_4"]
    assert essence(resumed) == essence(search_layers(layers(), REQUEST, jobs=1))


def _alive(session: int, timeout: float) -> bool:
    """Whether a process of a session still runs after a while."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            os.killpg(session, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    return True


PROGRAM = """
import sys
from pathlib import Path
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.core import shared_out
from hwgen.search.core.batch import Request, search_layers
shared_out.ALONE_SECONDS = 0
layers = load_layer_set("stoutchinin_2019").starting_with("resnet").convolutions()
search_layers(layers, Request((1024, 4096)), jobs=2, store=Path(sys.argv[1]))
"""


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path, blow: signal.Signals) -> None:
    rows = load_layer_set("stoutchinin_2019").starting_with("resnet").convolutions()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        deadline = time.monotonic() + 120
        while len(list(tmp_path.glob("*.json"))) < 2 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(blow)
        process.wait(60)
    assert not _alive(process.pid, timeout=20), "processes outlive the one that started them"
    done = {path.name: path.read_bytes() for path in tmp_path.glob("*.json")}
    assert len(done) >= 2
    seen: list[str] = []
    results = search_layers(
        rows, Request((1024, 4096)), jobs=1, store=tmp_path, progress=lambda layer: seen.append(layer.name)
    )
    assert len(results) == len(rows) == len(seen)
    for name, content in done.items():
        assert (tmp_path / name).read_bytes() == content
