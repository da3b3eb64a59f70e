"""A quantised model taken whole, or as the shapes of its layers: which hardware it is for, and what is said."""

from pathlib import Path

import pytest

import hwgen
from hwgen.api.generation.networks import GeneratedNetwork
from hwgen.ir.document import load_yaml
from hwgen.lower.network.placement import DEFAULT_CLUSTER
from tests.cli.command_line import Run, refused
from tests.readers.integers.models import small

SAID = "no hardware is given: the built-in cluster_64_vector, maps that fit staying in its TCDM\n"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return small(tmp_path / "small.onnx").relative_to(tmp_path)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.nightly
def test_a_network_is_generated_for_the_cluster_that_it_runs_on(run: Run, model: Path) -> None:
    answer = run("generate", model, "-o", "made")
    assert (answer.status, answer.err) == (0, SAID)
    assert load_yaml(Path("made/hardware.yaml"))["name"] == DEFAULT_CLUSTER
    assert run("generate", model, "-o", "named", "--hardware", DEFAULT_CLUSTER, "--resident").err == ""
    assert contents(Path("made")) == contents(Path("named"))


def test_hardware_and_residence_where_none_is_named(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, bool]] = []

    def stop(
        _model: Path, machine: hwgen.Hardware, _folder: Path, *, resident: bool, keep_init: bool, clusters: int
    ) -> None:
        calls.append((machine.name, resident))
        raise hwgen.InputError(f"stop {keep_init}")

    monkeypatch.setattr("hwgen.api.generation.request.generate_network", stop)
    answer = run("generate", model, "-o", "made")
    assert answer.err == "hwgen: stop False\n"
    assert run("generate", model, "-o", "made", "--hardware", "cluster_64").err == "hwgen: stop False\n"
    with pytest.raises(hwgen.InputError, match="stop"):
        hwgen.generate(str(model), "made")
    assert calls == [("cluster_64_vector", True), ("cluster_64", False), ("cluster_64_vector", True)]
    refused(run("generate", model, "-o", "made", "--buffer", "1KiB"), "--buffer: not for a quantised network")


def test_shapes_alone_are_asked_for(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``--partial``, which goes with no network taken whole."""
    made: list[GeneratedNetwork] = []
    monkeypatch.setattr("hwgen.api.generation.request.make_hardware", lambda *_, **__: made)
    monkeypatch.setattr("hwgen.api.generation.request.write_made", lambda *_: None)
    answer = run("generate", model, "-o", "made", "--partial", "--per-layer", "--objective", "traffic")
    assert answer.err == "small.onnx: left out: the weights\n"
    refused(
        run("generate", model, "-o", "made", "--partial", "--hardware", "cluster_64_vector"),
        "--partial: not for a quantised network",
    )


@pytest.mark.parametrize(
    ("options", "where"),
    [
        (("--per-layer", "--objective", "traffic"), "an HWC of its own for each"),
        (("--hardware", "m4c4_1KiB"), "the HWC m4c4_1KiB"),
        (("--hardware", "cluster_64"), "one HWC of the cluster cluster_64"),
        pytest.param((), "the best HWC of 1KiB for them all (--hardware: another)", marks=pytest.mark.nightly),
    ],
)
def test_synthesis_says_which_layers_and_which_hardware_it_takes(
    run: Run, model: Path, options: tuple[str, ...], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("hwc_blocks", "cluster_blocks"):
        monkeypatch.setattr(f"hwgen.api.synthesis.{kind}", lambda *_, **__: {})
    answer = run("synth", model, "--blocks", *options)
    assert answer.err == (
        "small.onnx: a quantised network, taken as the shapes of 1 layer(s), n3, without weights and other nodes, "
        f"on {where}; hwgen run takes all of it\n"
    )
    assert run("synth", "lenet:C5", "--blocks", "--hardware", "m4c4_1KiB").err == ""


@pytest.mark.parametrize(
    "options",
    [("--buffer", 512), ("--hardware", "m4c4_1KiB"), ("--hardware", "cluster_64"), ("--hierarchy", "diannao")],
)
def test_a_schedule_of_a_quantised_network_is_of_shapes_alone(
    run: Run, model: Path, options: tuple[str, ...]
) -> None:
    said = (
        "small.onnx: a quantised network, taken as the shapes of 1 layer(s), n3, without weights and other nodes; "
        "hwgen run takes all of it\n"
    )
    assert run("schedule", model, *options).err == said
    assert run("schedule", "lenet:C5", "--buffer", 512).err == ""


@pytest.mark.parametrize(
    ("hardware", "where"), [("m4c4_1KiB", "the HWC m4c4_1KiB"), ("cluster_64", "the cluster cluster_64")]
)
def test_cosim_says_that_it_takes_shapes(
    run: Run, model: Path, hardware: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hwgen.api.cosimulation.run_work", lambda *_, **__: [])
    said = (
        "small.onnx: a quantised network, taken as the shapes of 1 layer(s), n3, without weights and other nodes, "
        f"on {where}; hwgen run takes all of it"
    )
    assert run("cosim", model, "--hardware", hardware).err == f"{said}\n"
    heard: list[str] = []
    monkeypatch.setattr("hwgen.api.models.remark", heard.append)
    hwgen.cosim(hwgen.load(model), hardware)
    assert heard == [said]
    hwgen.cosim("lenet:C5", hardware)
    assert heard == [said]
