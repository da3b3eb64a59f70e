"""Networks, schedules and predictions from Python: the same answers as the commands'."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

import hwgen
from hwgen.api.work import time_and_area
from hwgen.search.core.optimal import Balance, Cost
from tests.cli.command_line import Run, refused

STEM = hwgen.Layer(
    name="stem", input_channels=3, output_channels=8, input_height=12, input_width=12, kernel=3, stride=2, padding=1
)
NEST = "[m: 4, buffer: O, c: 1, buffer: [I, W], y: 1, k: 1, m: 1, l: 1]"
TABLE = """format: 1
kind: layer_list
network: mine
layers:
- {name: stem, op: conv, input_channels: 3, output_channels: 8, input_height: 12, input_width: 12, kernel: 3,
   stride: 2, padding: 1}
- {name: pool, op: pool, pool: max, input_channels: 8, output_channels: 8, input_height: 6, input_width: 6, kernel: 2}
"""


@pytest.fixture
def table(tmp_path: Path) -> str:
    (tmp_path / "mine.yaml").write_text(TABLE, encoding="utf-8")
    return str(tmp_path / "mine.yaml")


def timeless(document: dict[str, object]) -> str:
    """A document without what differs from run to run."""
    return repr(document).partition("'seconds'")[0]


def test_every_name_is_there_and_nothing_else_is() -> None:
    assert set(hwgen.__all__) == set(hwgen._MODULES)
    assert all(getattr(hwgen, name) is not None for name in hwgen.__all__)
    assert set(hwgen.__all__) <= set(dir(hwgen))
    with pytest.raises(AttributeError, match="module 'hwgen' has no attribute 'shedule'"):
        hwgen.shedule  # noqa: B018


def test_importing_it_imports_next_to_nothing() -> None:
    program = "import sys, hwgen; print(sorted({name.partition('.')[0] for name in sys.modules} & set(sys.argv[1:])))"
    heavy = ["numpy", "pydantic", "yaml", "numba", "typer", "rich", "amaranth", "altair", "cosim"]
    answer = subprocess.run([sys.executable, "-c", program, *heavy], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"


def test_a_network_is_the_same_from_code_and_from_a_table(run: Run, table: str) -> None:
    network = hwgen.load(table)
    assert network.to_dict() == run("layers", table, "--json").json
    assert [layer.name for layer in network.layers] == ["stem"]
    assert hwgen.Network(STEM).layers == hwgen.Network([STEM]).layers
    assert (hwgen.Network([STEM]).layers, hwgen.load([STEM]).macs) == (network.layers, STEM.macs)
    assert hwgen.load({"kind": "layer_list", "network": "n", "layers": [STEM.model_dump(mode="json")]}).layers == (
        STEM,
    )
    assert hwgen.load("lenet:C3").layers[0].name == "C3"
    assert "2 layers" in repr(network)


def test_a_plan_has_the_document_of_the_command(run: Run, table: str) -> None:
    for arguments, options in (
        (["--buffer", "256,512"], {"buffer": [256, "512"]}),
        (["--buffer", "512", "--hardware", "hwc"], {"buffer": "512", "hardware": "hwc"}),
        (["--hierarchy", "diannao"], {"hierarchy": "diannao"}),
    ):
        plan = hwgen.schedule(table, **options)  # type: ignore[arg-type]
        assert timeless(plan.to_dict()) == timeless(run("schedule", table, *arguments, "--json").json)


def test_a_prediction_has_the_document_of_the_command(run: Run, table: str, tmp_path: Path) -> None:
    plan = hwgen.schedule(table, "hwc", buffer=512, output=tmp_path / "found")
    document = run("predict", tmp_path / "found", "--json").json
    assert hwgen.predict(plan).to_dict() == hwgen.predict(tmp_path / "found").to_dict() == document
    (entry,) = document["schedules"]
    assert (plan.cycles, plan.energy) == (entry["cycles"], entry["energy"]["total"])
    assert plan.bytes == plan.to_dict()["schedules"][0]["total_bytes"]
    assert plan.utilisation == pytest.approx(STEM.macs / (16 * plan.cycles))
    (row,) = plan.rows()
    assert (row["layer"], row["bytes"], row["cycles"]) == ("stem", plan.bytes, plan.cycles)
    assert row["I_bytes"] + row["W_bytes"] + row["O_bytes"] == plan.bytes  # type: ignore[operator]
    assert f"{plan.bytes:,} bytes" in repr(plan)
    assert f"{plan.bytes:,}" in plan._repr_html_()


def test_cycles_stand_beside_what_nothing_goes_below() -> None:
    plan = hwgen.schedule([STEM], "hwc", buffer="1KiB")
    (entry,) = plan.to_dict()["schedules"]
    assert plan.cycles is not None
    assert 0 < entry["bound_cycles"] <= plan.cycles
    assert entry["gap_cycles"] == pytest.approx(plan.cycles / entry["bound_cycles"] - 1, abs=1e-6)
    (pure,) = hwgen.schedule([STEM], buffer="1KiB").to_dict()["schedules"]
    assert pure["bound_cycles"] is pure["gap_cycles"] is None


def test_sizes_are_plans_of_their_own() -> None:
    plan = hwgen.schedule(STEM, buffer=["256", "512"])
    assert [plan.of_size(size).bytes for size in (256, "512")] == [one.bytes for one in plan.layers]
    assert plan.bytes == sum(one.bytes for one in plan.layers)
    with pytest.raises(hwgen.InputError, match="expected one of 256B, 512B, got 1KiB"):
        plan.of_size(1024)


def test_a_nest_from_code() -> None:
    nest = hwgen.Nest(STEM, NEST, lanes={"x": 8})
    items = [{"m": 4}, {"buffer": ["O"]}, {"c": 1}, {"buffer": ["I", "W"]}, {"y": 1}, {"k": 1}, {"m": 1}, {"l": 1}]
    assert nest == hwgen.Nest(STEM, items, lanes={"x": 8})
    assert nest.text.splitlines()[:2] == ["for m in range(0, 8, 4):", "  # buffered at the loop below: O"]
    # I is read for each half of the output channels, W and O once.
    assert nest.bytes == hwgen.predict(nest).bytes == 2 * 3 * 12 * 12 + 8 * 27 + 8 * 6 * 6


@pytest.mark.parametrize("machine", ["m4c4_1KiB", "cluster_16_vector"])
def test_the_bytes_of_a_nest_are_those_of_its_plan(machine: str) -> None:
    plan = hwgen.schedule(STEM, machine)
    assert plan["stem"].bytes == plan.bytes


def test_a_nest_of_loops_by_name() -> None:
    """Loops outermost first; what is left of a step is done by loops inside, of as many as the lanes do."""
    nest = hwgen.Nest(STEM, m=4, y=2, c=1, k=1, hold={"O": "c", "I": "k", "W": "k"}, lanes={"x": 4})
    items = "[m: 4, y: 2, buffer: O, c: 1, buffer: [I, W], k: 1, m: 1, y: 1, x: 4, l: 1]"
    assert nest == hwgen.Nest(STEM, items, lanes={"x": 4})
    assert "for x" not in hwgen.Nest(STEM, m=4, lanes={"x": 8}).text, "eight lanes do a row of six"
    assert hwgen.Nest(STEM, m=4).text.splitlines()[1] == "  for m in range(m, m + 4, 1):"


def test_a_drawing_has_the_bytes_that_are_held() -> None:
    nest = hwgen.Nest(STEM, m=4, c=1, hold={"O": "c", "I": "c", "W": "c"})
    drawn = nest._repr_html_()
    assert drawn.count("<div") == drawn.count("</div>") == 1 + len(nest.schedule.loops) + 1
    # Across the channels: four maps of sums, one map of inputs, four kernels of one channel.
    held = re.findall(r"for c in [^<]*<span[^>]*>([^<]*)</span><span[^>]*>([^<]*)</span><span[^>]*>([^<]*)<", drawn)
    assert held == [("O 576 B", "I 144 B", "W 36 B")]
    levels = hwgen.Nest(STEM, "[m: 4, buffer: {tcdm: W}, c: 1, buffer: W, y: 1, k: 1, m: 1, l: 1]", lanes={"x": 8})
    assert ">W in the tcdm<" in levels._repr_html_()
    assert " B<" not in levels._repr_html_()


def test_a_plan_and_a_nest_are_written_for_the_commands(run: Run, tmp_path: Path) -> None:
    plan = hwgen.schedule(STEM, "hwc", buffer=512)
    plan.save(tmp_path / "plan")
    plan["stem"].save(tmp_path / "one.yaml")
    assert hwgen.Nest.load(tmp_path / "one.yaml") == plan["stem"]
    (saved,) = run("predict", tmp_path / "plan", "--json").json["schedules"]
    assert saved["cycles"] == plan.cycles


REFUSED_NESTS = [
    ((), {}, "nest of stem: expected loops such as m=6, with hold, or items"),
    ((NEST,), {"m": 4}, "nest of stem: expected loops such as m=6, with hold, or items"),
    ((NEST,), {"hold": {"O": "c"}}, "nest of stem: expected loops such as m=6, with hold, or items"),
    ((), {"q": 4}, "nest of stem: loop q: expected one of n, m, c, y, x, k, l"),
    ((), {"m": 4, "hold": {"O": "c"}}, "hold: expected I, W or O and one of the loops m, got O: c"),
    ((), {"m": 4, "hold": {"B": "m"}}, "hold: expected I, W or O and one of the loops m, got B: m"),
    ((), {"m": 9}, "nest: m: 9: expected a step from 1 to 8"),
]


@pytest.mark.parametrize(("items", "keys", "why"), REFUSED_NESTS)
def test_what_is_no_nest_is_said(items: tuple[str, ...], keys: dict[str, Any], why: str) -> None:
    with pytest.raises(hwgen.InputError, match=re.escape(why)):
        hwgen.Nest(STEM, *items, **keys)


REFUSED = [
    (lambda: hwgen.schedule("nothing", buffer=512), ("schedule", "nothing", "--buffer", "512")),
    (lambda: hwgen.schedule("lenet", buffer="1KB"), ("schedule", "lenet", "--buffer", "1KB")),
    (lambda: hwgen.schedule("lenet"), ("schedule", "lenet")),
    (lambda: hwgen.schedule("lenet", "cluster", buffer=512),
     ("schedule", "lenet", "--hardware", "cluster", "--buffer", "512")),
    (lambda: hwgen.schedule("lenet", "nothing"), ("schedule", "lenet", "--hardware", "nothing")),
    (lambda: hwgen.predict("nothing"), ("predict", "nothing")),
    (lambda: hwgen.predict("lenet"), ("predict", "lenet")),
    (lambda: hwgen.predict("nothing", fills=True), ("predict", "nothing", "--fills")),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "command"), REFUSED, ids=[" ".join(words) for _, words in REFUSED])
def test_what_is_wrong_is_said_as_the_command_says_it(wrong: object, command: tuple[str, ...], run: Run) -> None:
    with pytest.raises(hwgen.InputError) as raised:
        wrong()  # type: ignore[operator]
    refused(run(*command), str(raised.value))


def test_a_layer_that_is_wrong_is_one_line() -> None:
    sizes = {"input_channels": 3, "output_channels": 8, "input_height": 12, "input_width": 12}
    for keys, line in (
        ({"kernel": [1, 2, 3]}, r"layer a: kernel: expected \[height, width\], or one number .*, got \[1, 2, 3\]"),
        ({"kernel": 13}, "layer a: an input of 12 pixels is too small for its kernel of 13"),
        ({}, "layer a: kernel: missing key"),
        ({"kernel": 1, "strid": 2}, r"layer a: strid: unknown key \(did you mean stride\?\)"),
    ):
        with pytest.raises(hwgen.InputError, match=line):
            hwgen.Layer(name="a", **sizes, **keys)  # type: ignore[arg-type]
    with pytest.raises(hwgen.InputError, match=r"layers: expected hwgen\.Layer, got 'stem'"):
        hwgen.Network(["stem"])  # type: ignore[list-item]
    with pytest.raises(hwgen.InputError, match="hardware mine: lanes: expected powers of two"):
        hwgen.hardware({"name": "mine", "lanes": {"x": 3}})


def test_hardware_from_keywords_needs_no_name() -> None:
    made = hwgen.Hardware(lanes={"m": 4, "c": 4}, budget=1024)
    assert made == hwgen.hardware({"lanes": {"m": 4, "c": 4}, "budget": 1024})
    assert hwgen.hardware(made) is made
    plan = hwgen.schedule(STEM, made, objective="traffic")
    assert (plan.hardware, plan.machines()) == (made, [made])
    assert (made.name, hwgen.Hardware(name="mine").name) == ("hardware", "mine")
    for wrong, line in (
        ({"lanes": {"m": 3}}, "hardware: lanes: expected powers of two along m, c, y, x, 4 to 256 together, got m3"),
        ({"name": "mine", "lanes": {"m": 3}}, "hardware mine: lanes: expected powers of two"),
        ({"lanes": {"m": 4, "c": 4}, "budget": 10}, "hardware: budget: expected at least 96 bytes"),
        ({"lane": {"m": 4}}, r"hardware: lane: unknown key \(did you mean lanes\?\)"),
        ({"lanes": "m4c4"}, "hardware: lanes: expected a mapping of dimensions to lanes, got 'm4c4'"),
    ):
        with pytest.raises(hwgen.InputError, match=f"^{line}"):
            hwgen.schedule(STEM, hwgen.Hardware(**wrong))
    line = "hardware: expected keys by their names, such as name=..., got 'hwc'"
    with pytest.raises(hwgen.InputError, match=line):
        hwgen.Hardware("hwc")  # type: ignore[call-arg, misc]


def test_answers_are_frozen() -> None:
    plan = hwgen.schedule(STEM, buffer=512)
    with pytest.raises(FrozenInstanceError):
        plan.coverage = None  # type: ignore[misc,assignment]
    with pytest.raises(FrozenInstanceError):
        hwgen.load("lenet").name = "other"  # type: ignore[misc]


def test_nothing_is_printed_and_progress_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[str, float, float]] = []
    with hwgen.progress(lambda one: told.append((one.what, one.done, one.total))):
        hwgen.schedule([STEM], buffer=512)
    hwgen.schedule([STEM], buffer=512)
    assert capfd.readouterr() == ("", "")
    assert told == [("searching", 0, 1), ("searching", 1, 1)]
    with hwgen.progress():
        hwgen.schedule([STEM], buffer=512)
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "searching: 1 of 1" in printed.err


def test_pandas_is_asked_for_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    network = hwgen.load("lenet")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(hwgen.InputError, match=r"to_frame: needs the package pandas \(pip install pandas\)"):
        network.to_frame()


def test_several_sizes_are_a_curve_with_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[int, int, int]] = []

    def curve(sizes: list[tuple[int, int, int]]) -> dict[str, bytes]:
        drawn.extend(sizes)
        return {"svg": b"", "png": b""}

    monkeypatch.setattr("hwgen.report.size_curve.size_curve", curve)
    other = hwgen.Layer(name="other", input_channels=8, output_channels=4, input_height=6, input_width=6, kernel=1)
    plan = hwgen.schedule([STEM, other], buffer=["128", "512"])
    plan.plot()
    rows = plan.rows()
    assert drawn == [
        (
            size,
            *(
                sum(int(str(row[key])) for row in rows if row["buffer_bytes"] == size)
                for key in ("bytes", "bound_bytes")
            ),
        )
        for size in (128, 512)
    ]


def test_a_chart_is_a_picture(tmp_path: Path) -> None:
    figure = hwgen.schedule(STEM, buffer=512).plot()
    assert figure.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert figure.save(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF-")
    svg = figure.save(tmp_path / "a.svg").read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    assert svg == figure._repr_svg_()
    with pytest.raises(hwgen.InputError, match=r"expected a file name that ends in \.svg, \.png or \.pdf"):
        figure.save(tmp_path / "a.gif")


@pytest.fixture
def taken_back() -> Iterator[None]:
    """Ctrl-C as a terminal has it: a shell has its jobs in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("taken_back")
def test_ctrl_c_raises_and_what_was_found_stays(tmp_path: Path) -> None:
    """Layers that were finished are read from the folder; the interpreter goes on, with its own handler."""
    layers = [STEM, *hwgen.load("vgg16:conv").layers]
    Timer(0.1, _interrupt_when, (tmp_path / ".found",)).start()
    with pytest.raises(KeyboardInterrupt):
        hwgen.schedule(layers, "hwc", buffer="1KiB", output=tmp_path)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert 1 <= len(_results(tmp_path / ".found")) < len({str(layer.shape_data) for layer in layers})
    assert hwgen.schedule(STEM, buffer=512).bytes > 0


def _results(store: Path) -> list[Path]:
    """Files that have their names: one that is being written begins with a dot and may be taken back."""
    return [path for path in store.glob("*") if not path.name.startswith(".")]


def _interrupt_when(store: Path) -> None:
    """Ctrl-C, as soon as a whole result is in the folder."""
    for _ in range(6000):
        if _results(store):
            os.kill(os.getpid(), signal.SIGINT)
            return
        time.sleep(0.005)


@pytest.mark.parametrize(
    ("cycles", "said"), [(3293, " 0.0336 ms at "), (20_800, " 0.212 ms at "), (9_300_000, " 94.9 ms at ")]
)
def test_a_short_time_is_not_said_to_be_none(cycles: int, said: str) -> None:
    """On built-in hardware that is estimated at 97.8 MHz."""
    cost = Cost(3841, cycles)
    assert said in str(time_and_area(Balance(cost, cost, cost, 1, None, 0.05), hwgen.hardware("hwc_16")))
