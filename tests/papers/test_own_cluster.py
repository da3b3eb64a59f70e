"""Tiles of publications on our own cluster: what their nests move, the naive tile, ``hwgen paper ... --rtl``."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import hwgen.papers.own_cluster_rtl
from cosim.cluster.preparation import prepare_cluster
from cosim.device.result import LayerResult
from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.program import compile_cluster
from hwgen.model.cluster.cluster_counts import predict_cluster
from hwgen.model.cluster.ring_sizes import bytes_needed
from hwgen.papers.cecconi.model import TransferCost, exact_moves, exact_need
from hwgen.papers.cecconi.own_hardware import FULL, SMALL, naive_tile, way_cases
from hwgen.papers.cecconi.search import FILL
from hwgen.papers.command import SYSTEM
from hwgen.papers.own_cluster import own_hardware, sliced_on_cluster, tiled_on_cluster, untiled_on_cluster
from hwgen.papers.sousa import mappings
from hwgen.papers.sousa.model import FLOWS, SLICINGS, Mapping, filters_a_core
from hwgen.papers.sousa.own_hardware import own_mappings, own_npu
from hwgen.papers.stoutchinin.model import Tile
from tests.cli.command_line import Run, refused

LAYER = Layer(
    name="tiny", input_channels=5, output_channels=6, input_height=9, input_width=7, kernel=3, stride=2, padding=1
)
COST = TransferCost(40, 17, 0.14)
ELEMENTS = 150


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    cluster = load_hardware(named_file("hardware", "cluster_ddr3")).cluster
    assert cluster is not None
    return cluster


@pytest.mark.parametrize("tile", [Tile(m=4, c=2, y=2, x=3), Tile(m=6, c=5, y=5, x=4), Tile(m=1, c=3, y=5, x=1)])
def test_cecconis_tiles_move_what_his_model_says(cluster: Cluster, tile: Tile) -> None:
    """Biases come once for the layer; for him with every transfer of weights."""
    schedule = tiled_on_cluster(LAYER, tile, cluster.hwcs)
    counts = predict_cluster(compile_cluster(schedule, own_hardware(cluster)).schedule, cluster.hwcs).counts
    moved = exact_moves(LAYER, tile)
    calls = -(-5 // tile.y) * -(-4 // tile.x) * -(-5 // tile.c)
    assert counts["dram", "I", "read"].elements == moved.I.elements
    assert counts["dram", "W", "read"].elements == moved.W.elements - calls * LAYER.output_channels
    outputs = ("read_partial", "write_partial", "write")
    assert sum(counts["dram", "O", direction].elements for direction in outputs) == moved.O.elements


@pytest.mark.parametrize("slicing", SLICINGS)
@pytest.mark.parametrize("flow", FLOWS)
def test_sousas_mappings_are_spread_and_never_spill(cluster: Cluster, slicing: str, flow: str) -> None:
    npu = own_npu(cluster)
    mapping = Mapping(slicing, flow, 2, 3, 2)  # type: ignore[arg-type]
    schedule = sliced_on_cluster(LAYER, mapping, npu)
    shares = {loop.dim: loop.step for loop in schedule.loops if loop.over}
    expected = {"m": filters_a_core(LAYER, mapping, npu), "y": 2}
    assert shares == {dim: expected[dim] for dim in {"KS": "m", "OFM": "y", "KS&OFM": "my"}[slicing]}
    counts = predict_cluster(compile_cluster(schedule, own_hardware(cluster)).schedule, cluster.hwcs).counts
    assert counts["dram", "O", "write_partial"].elements == 0
    assert counts["dram", "O", "write"].elements == LAYER.output_elements


@pytest.mark.parametrize("wanted", [0.0, 1400.0, 3000.0, 1e9])
def test_the_naive_tile_is_the_nearest_of_those_that_fill_the_memory(wanted: float) -> None:
    every = [
        Tile(m=m, c=c, y=y, x=x) for c in range(1, 6) for y in range(1, 6) for x in range(1, 5) for m in range(1, 7)
    ]
    filling = [tile for tile in every if FILL * ELEMENTS <= exact_need(LAYER, tile) <= ELEMENTS]
    assert len(filling) > 20
    nearest = min(filling, key=lambda tile: abs(COST.of(exact_moves(LAYER, tile)) - wanted))
    assert naive_tile(LAYER, COST, ELEMENTS, wanted) == nearest


def test_all_of_the_paper_runs_fit_the_cluster(cluster: Cluster) -> None:
    mappings = own_mappings(cluster)
    assert [case.chosen for case in mappings] == ["bursts in view", "counting bytes"] * 2
    layers = [layer for layer in SMALL.layers if layer.name in SMALL.simulated]
    tiles = [case.run for layer in layers for case in way_cases(layer, cluster, SMALL.elements)]
    for case, other in [
        *zip(mappings[::2], mappings[1::2], strict=True),
        *((tiles[at + 3], tiles[at]) for at in (1, 8)),
    ]:
        assert case.expected is not None
        assert other.expected is not None
        assert case.expected < other.expected
    for case in [*mappings, *tiles]:
        compile_cluster(case.schedule, own_hardware(cluster), serial=case.serial)


def test_the_hwcs_have_room_for_the_largest_kernels(cluster: Cluster) -> None:
    """Of 7 x 7 and 5 x 5: full size and small differ in maps and channels only."""
    assert (
        [layer.kernel[0] for layer in FULL.layers[:3]] == [layer.kernel[0] for layer in SMALL.layers[:3]] == [7, 5, 5]
    )
    for layer in SMALL.layers[:2]:
        tile = Tile(m=layer.output_channels, c=layer.input_channels, y=8, x=layer.output_width)
        compile_cluster(tiled_on_cluster(layer, tile, cluster.hwcs), own_hardware(cluster))


def test_without_buffering_every_input_is_fetched_for_all_that_the_hwcs_do_at_a_time(cluster: Cluster) -> None:
    """Three bands of two rows, of one column of four outputs, two waves of filters: partial sums stay."""
    layer = Layer(**{**LAYER.model_dump(), "output_channels": 20})
    schedule = untiled_on_cluster(layer, cluster.hwcs)
    counts = predict_cluster(compile_cluster(schedule, own_hardware(cluster)).schedule, cluster.hwcs).counts
    rows = 4 + 5 + 2  # 0 to 3, 3 to 7, 7 and 8
    assert counts["dram", "I", "read"].elements == 2 * 5 * 7 * rows
    assert counts["dram", "W", "read"].elements == 3 * layer.weight_elements
    assert counts["dram", "O", "write_partial"].elements == 0
    assert bytes_needed(schedule, 1 << 20) < 2048


def pretended(cycles: int, *, equal: bool = True) -> Callable[..., list[LayerResult]]:
    """Simulations that are none."""

    def run(schedules: list[Schedule], hardware: Hardware, **_: object) -> list[LayerResult]:
        tasks = [prepare_cluster(schedule, hardware) for schedule in schedules]
        busy = {"busy_load": 30, "busy_store": 12}
        return [
            LayerResult(
                task.program.schedule, "verilator", 1.0, predicted=task.counts, measured=task.counts, equal=equal,
                output_exact=True, predicted_cycles=cycles, cycles=cycles, stalls=busy,
                failures=() if equal else ("I differs",),
            )
            for task in tasks
        ]  # fmt: skip

    return run


def pretend(monkeypatch: pytest.MonkeyPatch, *, equal: bool = True) -> None:
    """Have nothing simulated, on one cluster or several, after all that is prepared for it, and nothing drawn."""
    monkeypatch.setattr(hwgen.papers.own_cluster_rtl, "cosimulate_clusters", pretended(1234, equal=equal))
    monkeypatch.setattr(mappings, "load_system", lambda *_, **__: None)
    monkeypatch.setattr(mappings, "run_clusters", lambda *_: None)
    found = SimpleNamespace(cycles=4321, passed=equal, failures=() if equal else ("W differs",), seconds=1.0)
    monkeypatch.setattr(mappings, "judge", lambda wanted, _: found if wanted else None)
    monkeypatch.setattr("hwgen.papers.figures.rendered", lambda figure: {"png": b"", "svg": b""})


@pytest.mark.parametrize(
    ("paper", "few", "cases"),
    [("cecconi-2017", ("conv4", "--small"), 7), ("sousa-2022", ("lenet", "--limit", "1"), 4)],
)
def test_the_command(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paper: str, few: tuple[str, ...], cases: int
) -> None:
    pretend(monkeypatch)
    answer = run("paper", paper, "--networks", *few, "--rtl", "-o", tmp_path, "--json")
    assert answer.status == 0
    runs = answer.json["rtl"]
    assert [one["cycles"] for one in runs] == [1234] * cases
    assert [one["moving"] for one in runs] == [42] * cases
    assert all(one["dram_bytes"] > 0 and one["equal"] for one in runs)
    assert "| 42 | 1,234 | 1,234 |" in (tmp_path / "README.md").read_text(encoding="utf-8")
    assert (tmp_path / "rtl.csv").exists()
    pretend(monkeypatch, equal=False)
    wrong = run("paper", paper, "--networks", *few, "--rtl", "-o", tmp_path / "other")
    assert (wrong.status, "I differs" in wrong.err, "| NO |" in wrong.out) == (1, True, True)
    if paper == "sousa-2022":
        # The shortest layers are run whatever the limit is, on both DRAMs.
        rows = answer.json["system"]
        assert [(row["hardware"], row["layer"]) for row in rows] == [
            (hardware, layer) for hardware in SYSTEM.split(",") for layer in ("C1", "C3", "C5")
        ]
        assert {row[way]["measured"] for row in rows for way in ("burst_aware", "byte_counting")} == {4321}
        assert "C1, burst-aware: W differs" in wrong.err


def test_what_has_passed_is_kept(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "found" / "rtl.jsonl"
    module = hwgen.papers.own_cluster_rtl
    one, other = own_mappings(cluster)[:2]
    monkeypatch.setattr(module, "cosimulate_clusters", pretended(1234, equal=False))
    assert not module.simulated([one], cluster, store=store)[0].equal
    monkeypatch.setattr(module, "cosimulate_clusters", pretended(1234))
    found = module.simulated([one], cluster, store=store)
    monkeypatch.setattr(module, "cosimulate_clusters", pretended(5678))
    assert [run.cycles for run in module.simulated([one, other], cluster, store=store)] == [1234, 5678]
    assert module.simulated([one], cluster, store=store) == found

    def never(*_: object) -> None:
        raise AssertionError("what is kept is computed again")

    cycles = module.cycles_on(cluster, store)(one.schedule, True)
    monkeypatch.setattr(module, "cluster_cycles", never)
    assert module.cycles_on(cluster, store)(one.schedule, True) == cycles


def test_wrong_options_are_refused(run: Run, tmp_path: Path) -> None:
    answer = run("paper", "sousa-2022", "--hardware", "hwc", "--networks", "lenet", "-o", tmp_path)
    refused(answer, "--hardware: hwc: expected cluster.load, as hwgen calibrate stores it")
    answer = run("paper", "goetschalckx-2019", "--rtl", "--networks", "vgg", "-o", tmp_path)
    refused(answer, "goetschalckx-2019 --rtl: expected no options but -o, --small, --results and --json")
