"""Area and clock in a sweep: of HWCs, whole clusters, pipelines; rows and blocks. Stand-ins for the tools."""

from pathlib import Path
from typing import Any

import pytest

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.hwc import ALONG_X, HwcParameters
from hwgen.arch.pipeline import PipelineParameters
from hwgen.ir.excerpt import at_resolution, excerpt, narrowed
from hwgen.ir.hardware import Cluster
from hwgen.readers.layer_sets import load_layer_set
from hwgen.studies.regress.plans import Configuration
from hwgen.studies.sweep.clusters import ClusterConfiguration
from hwgen.studies.sweep.depth_first.request import DepthFirstQuestion
from hwgen.studies.sweep.depth_first.run import DepthFirstSweep
from hwgen.studies.sweep.request import Outcome, Question
from hwgen.studies.sweep.run import Sweep
from hwgen.studies.sweep.steps import curve_step, synthesise_step
from hwgen.studies.sweep.tables.columns import AREA_NAMES, AREAS
from hwgen.studies.sweep.tables.files import write_results
from hwgen.studies.sweep.tables.merge import known_tables
from hwgen.synthesis.blocks import Block
from hwgen.synthesis.ecp5 import Area, CriticalPath, Device, Gates, Synthesis
from hwgen.tools.toolchain import ToolError
from tests.studies.engine.inline import open_inline
from tests.studies.engine.points import layers_named

ONE = Synthesis(
    Device(), 80.0, CriticalPath("a", "b", 1.0, 2.0), Area(100, 5, 30, 2, 1), {"O": Area(lut_rams=3)},
    Gates(1000, 30, 8, 64), {},
)  # fmt: skip
"""Of an HWC, and of a pipeline."""
HWC = {
    "datapath": Block(Area(60, 3, 30, 2), Gates(700, 20, 0, 8)),
    "": Block(Area(40, 5, 0, 0, 1), Gates(300, 10, 0, 64)),
}
AROUND = {
    "core.dma.load": Block(Area(50, 1, 5), Gates(90, 5, 0, 32)),
    "tcdm": Block(Area(7, 0, 2, 0, 4), Gates(60, 1, 0, 4096)),
}


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hwgen.studies.engine.work.open_farm", open_inline)

    def placed(parameters: Any, device: Device, **_: Any) -> Synthesis:
        assert isinstance(parameters, HwcParameters | PipelineParameters)
        return ONE

    def cluster(parameters: ClusterParameters, **_: Any) -> dict[str, Block]:
        one = sum(HWC.values(), Block())
        return {f"{parameters.hwcs} HWCs": sum([one] * parameters.hwcs, Block()), **AROUND}

    for name, stand_in in {
        "synthesise_hwc": placed, "synthesise_pipeline": placed, "cluster_blocks": cluster,
        "hwc_blocks": lambda parameters, **_: HWC, "pipeline_blocks": lambda parameters, **_: HWC,
    }.items():  # fmt: skip
        monkeypatch.setattr(f"hwgen.studies.sweep.synthesis.{name}", stand_in)


def test_all_of_a_cluster_is_in_its_row(tmp_path: Path) -> None:
    (layer,) = layers_named("a")
    hwc = Configuration("per-layer", 512, lanes=ALONG_X)
    configurations = tuple(ClusterConfiguration(hwc, Cluster(hwcs=hwcs, tcdm=1 << 14)) for hwcs in (1, 3))
    question = Question((layer,), configurations, simulate=False, synthesise=True)
    outcome = Sweep(question, tmp_path).run()
    tables = write_results(tmp_path, outcome, question)
    one, three = (row for row in tables.rows if row["status"] == "predicted")
    assert (one["luts"], three["luts"]) == (100 + 57, 3 * 100 + 57)
    assert (three["dsps"], three["ffs"], three["gates"]) == (6, 3 * 30 + 7, 3 * 1000 + 150)
    # Buffers are the HWCs' and the banks; the rest are queues.
    assert (three["buffer_lut_rams"], three["lut_rams"]) == (3 * 3, 3 * (8 - 3) + 1)
    assert (three["buffer_block_rams"], three["block_rams"]) == (4, 3)
    assert (three["buffer_bits"], three["queue_bits"]) == (3 * 8 + 4096, 3 * 64 + 32)
    # The clock is that of an HWC alone.
    assert (three["clock_mhz"], three["critical_path"]) == (80.0, "a -> b")
    blocks = [row for row in tables.areas if row["design"] == three["design"]]
    assert [row["block"] for row in blocks] == ["3 HWCs", "core.dma.load", "tcdm"]
    assert sum(row["luts"] for row in blocks) == three["luts"]
    assert sum(row["memory_bits"] for row in blocks) == three["buffer_bits"] + three["queue_bits"]
    assert (blocks[0]["kind"], blocks[0]["lut4_equivalents"]) == ("cluster", 300 + 6 * 24)
    assert one["design"] != three["design"]
    assert known_tables(tmp_path).areas == tables.areas
    # A look at the model keeps all of it.
    later = Question((layer,), configurations, simulate=False)
    assert write_results(tmp_path, Sweep(later, tmp_path / "other").run(), later).areas == tables.areas


def test_rows_are_there_before_their_area(tmp_path: Path) -> None:
    """Syntheses come last, each design once, and what is under way says how many there are."""
    layers = layers_named("a", "b", "c")
    question = Question(layers, (Configuration("shared", 512, lanes=ALONG_X),), simulate=False, synthesise=True)
    told: list[tuple[str, int, int]] = []
    shown: list[tuple[str, int, int]] = []
    sweep = Sweep(question, tmp_path, tell=lambda *line: told.append(line), look=lambda *line: shown.append(line))
    assert sweep.run().attempts["synthesise"] == 1
    (synthesised,) = (done for line, done, known in told if line.startswith("synthesis shared 512"))
    assert (synthesised, told[0][2]) == (3, 3)
    assert ("0 of 1 designs synthesised; 1 step to be begun", 3, 3) in shown
    step = synthesise_step(HwcParameters(("m",), 1, 1, 1, 64, 64, 128), Device(), "one", 1.0)
    assert step.urgency < 0 <= curve_step(layers[0], [64]).urgency


def pipelines(folder: Path) -> Outcome:
    network = at_resolution(narrowed(excerpt(load_layer_set("srgan"), "rb02_conv1", "rb02_add"), 32), 10, 8)
    question = DepthFirstQuestion(network, "block", (200, 4096), (8,), simulate=False, synthesise=True)
    outcome = DepthFirstSweep(question, folder, attempts=1).run()
    write_results(folder, outcome, question)
    return outcome


def test_pipelines_are_synthesised_once(tmp_path: Path) -> None:
    outcome = pipelines(tmp_path)
    assert outcome.attempts["synthesise"] == 1  # both memories have the same solution
    for row in outcome.pipelines:
        assert (row["status"], row["luts"], row["clock_mhz"]) == ("predicted", 100, 80.0)
        assert all(row[name] is not None for name in AREA_NAMES)
    assert [row["block"] for row in outcome.areas] == ["datapath", "(top)"]
    assert [list(row) for row in outcome.areas] == [[column.name for column in AREAS]] * 2
    assert outcome.areas[0]["kind"] == "pipeline"


def test_a_synthesis_that_fails_leaves_a_failed_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> Synthesis:
        raise ToolError("synthesis: nextpnr failed: no room")

    monkeypatch.setattr("hwgen.studies.sweep.synthesis.synthesise_pipeline", failing)
    outcome = pipelines(tmp_path)
    assert {(row["status"], row["reason"], row["luts"]) for row in outcome.pipelines} == {
        ("failed", "synthesis: synthesis: nextpnr failed: no room", None)
    }
    assert outcome.areas == []
