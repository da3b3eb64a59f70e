"""``cosim --program`` on clusters: what ``generate`` wrote is what runs."""

import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import cosim.cluster.results
from cosim.cluster.preparation import ClusterTask
from cosim.device.job import Job
from hwgen.arch.hardware_file import load_hardware
from hwgen.export.cached import generated_cluster
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import Cluster, save_hardware
from hwgen.ir.schedule import save_schedule
from hwgen.lower.cluster.program import compile_cluster
from tests.cli.command_line import Run, refused
from tests.cosim.cluster.test_clusters import cases, hardware
from tests.oracles.cluster_interpreter import Machine
from tests.random.clusters import cluster_schedules

NAME = "fig8"
"""The cluster that other tests simulate in every run, too."""
CASES = 4


def written(folder: Path, count: int = CASES) -> tuple[str, ...]:
    """Random schedules for a cluster as arguments of a command."""
    save_hardware(hardware(NAME), folder / "hardware.yaml")
    for schedule in cases(NAME)[:count]:
        save_schedule(schedule, folder / "set" / f"{schedule.layer.name}.yaml")
    return str(folder / "set"), "--hardware", str(folder / "hardware.yaml")


class NotSimulated(Exception):
    """In the stead of a simulation."""


Asked = tuple[str | None, list[Job]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Asked]:
    """Runs a command up to what it asks of the simulator: the Verilog, if it is not made now, and the jobs."""

    def ask(run: Run, *arguments: object) -> Asked:
        texts: list[str | None] = []
        jobs: list[Job] = []
        real = cosim.cluster.results.prepare_cluster

        def prepare(*schedule: Any, **options: Any) -> Any:
            task = real(*schedule, **options)
            jobs.append(task.job)
            return task

        def load(*_: object, verilog: str | None, **__: object) -> None:
            texts.append(verilog)
            raise NotSimulated

        with monkeypatch.context() as patch:
            patch.setattr(cosim.cluster.results, "prepare_cluster", prepare)
            patch.setattr(cosim.cluster.results, "load_cluster", load)
            with pytest.raises(NotSimulated):
                run(*arguments)
        return texts[0], jobs

    return ask


def test_the_simulator_is_asked_for_the_same_run_to_the_byte(
    run: Run, tmp_path: Path, asked: Callable[..., Asked]
) -> None:
    work = written(tmp_path)
    assert run("generate", *work, "-o", tmp_path / "rtl").status == 0
    _, ours = asked(run, "cosim", *work, "--seed", 3, "--stalls")
    verilog, theirs = asked(run, "cosim", "--program", tmp_path / "rtl", "--seed", 3, "--stalls")
    parameters = compile_cluster(cases(NAME)[0], hardware(NAME)).hardware
    assert verilog == generated_cluster(parameters) == (tmp_path / "rtl" / "cluster.v").read_text(encoding="utf-8")
    ours, theirs = ([replace(job, name=job.name.partition(":")[2]) for job in jobs] for jobs in (ours, theirs))
    assert len(ours) == len(theirs) == CASES
    for one, two in zip(ours, theirs, strict=True):
        for field in fields(Job):
            assert np.array_equal(getattr(one, field.name), getattr(two, field.name)), field.name


def test_sums_that_are_scaled_get_the_zero_points_that_the_program_has(
    run: Run, tmp_path: Path, asked: Callable[..., Asked], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the simulator is asked for is executed without it: the output is the one that is expected."""
    # A cluster that other tests generate, too.
    machine = load_hardware(named_file("hardware", "m4c4_1KiB")).model_copy(
        update={"requantisation": "scaled", "cluster": Cluster(hwcs=2, tcdm=1 << 14, vector=True)}
    )
    save_hardware(machine, tmp_path / "hardware.yaml")
    for schedule in cluster_schedules(machine, Random(NAME), CASES):
        save_schedule(schedule, tmp_path / "set" / f"{schedule.layer.name}.yaml")
    work = (tmp_path / "set", "--hardware", tmp_path / "hardware.yaml")
    assert run("generate", *work, "-o", tmp_path / "rtl").status == 0
    tasks: list[ClusterTask] = []
    real = cosim.cluster.results.prepare_cluster
    monkeypatch.setattr(
        cosim.cluster.results,
        "prepare_cluster",
        lambda *given, **more: tasks.append(real(*given, **more)) or tasks[-1],
    )
    asked(run, "cosim", "--program", tmp_path / "rtl", "--seed", 3)
    assert len(tasks) == CASES
    for task in tasks:
        program, words = task.program, task.job.image.copy()
        begin = task.job.registers["program_address"] // 4
        tcdm = np.zeros(program.cluster.tcdm, np.uint8)
        computer = Machine(
            program.parameters, program.cluster.hwcs, words.view(np.uint8), tcdm, program.rings, Random(1)
        )
        computer.run([int(word) for word in words[begin : begin + task.job.registers["program_words"]]])
        assert np.array_equal(program.output(words), task.expected)
        assert len({*task.expected.flat}) > 1


@pytest.mark.nightly
def test_counts_and_outputs_are_those_of_cosim_and_of_the_file(run: Run, tmp_path: Path) -> None:
    work = written(tmp_path, 1)
    folder = tmp_path / "rtl"
    assert run("generate", *work, "-o", folder).status == 0
    program = run("cosim", "--program", folder, "--json")
    assert program.status == 0, program.out
    (one,), (two,) = (
        [{**result, "seconds": 0, "folder": ""} for result in answer.json["results"]]
        for answer in (program, run("cosim", *work, "--json"))
    )
    assert one == two
    assert one["equal"] is one["output_exact"] is True
    path = folder / "programs" / "random_0.json"
    data = json.loads(path.read_text())
    data["registers"]["program_words"] -= 1
    path.write_text(json.dumps(data))
    wrong = run("cosim", "--program", folder, "--json")
    assert wrong.status == 1
    assert any("ended with" in failure for failure in wrong.json["results"][0]["failures"])


def test_refusals(run: Run, tmp_path: Path) -> None:
    work = written(tmp_path, 1)
    folder = tmp_path / "rtl"
    assert run("generate", *work, "-o", folder).status == 0
    path = folder / "programs" / "random_0.json"
    data = json.loads(path.read_text())
    refused(run("cosim", "--program", folder, "--sim", "icarus"), "--sim: clusters run in Verilator, without wavefor")
    refused(run("generate", *work, "-o", folder, "--operands", tmp_path), "--operands: not for clusters")
    refused(
        run("pack", folder, "--operands", tmp_path), f"{folder}: not for clusters: their tensors are stored in DRAM"
    )
    path.with_suffix(".hex").write_text("words")
    refused(run("cosim", "--program", folder), "random_0.hex: expected the words of a program, 8 hexadecimal digits")
    path.write_text(json.dumps({**data, "cluster": "0123"}))
    refused(
        run("cosim", "--program", folder), f"{path}: expected a program of the cluster in cluster.v, ", "got 0123"
    )
    (folder / "cluster.v").unlink()
    refused(run("cosim", "--program", folder), "cluster.v: expected the Verilog that hwgen generate wrote")
