"""What ``generate`` wrote is what runs: ``cosim --program`` against ``cosim``, packed operands, wrong files."""

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import yaml

import cosim.hwc.results
import hwgen.api.generation.hwcs
import hwgen.export.hwc_program
from cosim.hwc.jobs import Job
from cosim.hwc.layer_data import randomly_requantised
from hwgen.export.manifest import read_manifest
from hwgen.golden.convolution import layer_output
from hwgen.ir.document import InputError
from hwgen.ir.hardware import save_hardware
from hwgen.ir.schedule import load_schedule, save_schedule
from hwgen.lower.hwc import Program
from hwgen.search.core.batch import Request, search_layers
from tests.cli.command_line import Run, refused
from tests.random.layers import hwc, random_layer, schedules_for

NAMES = ("fig8", "everything", "sums_of_channels")
"""HWCs that other tests of every run simulate, too: their builds are there. All but the first: 16 bits, too."""
SETS, FEWER_SETS = 20, 6
"""How many nightly, and in every run."""
SIMULATED = 4
"""The set that is simulated in every run; nightly all of them are."""


def written(number: int, folder: Path) -> tuple[str, ...]:
    """A random layer set, one to three layers, as arguments of a command: schedules, or a table for the command to
    schedule, on the HWC whose orders are searched at once."""
    rng, name = Random(number), NAMES[number % len(NAMES)]
    hardware, count = hwc(name), rng.randint(1, 3)
    save_hardware(hardware, folder / "hardware.yaml")
    given = ("--hardware", str(folder / "hardware.yaml"))
    if name != "fig8" or number == 0:
        for schedule in schedules_for(hardware, rng, count, 3000):
            save_schedule(schedule, folder / "set" / f"{schedule.layer.name}.yaml")
        return (str(folder / "set"), *given)
    rows: list[dict[str, Any]] = []
    while len(rows) < count:
        layer = random_layer(rng, f"layer{len(rows)}", 3000)
        try:
            ((found,),) = search_layers([layer], Request((hardware.budget,), hardware), jobs=1)
        except InputError:
            continue
        requantised = randomly_requantised(found.schedule, np.random.default_rng(number)).layer
        rows.append({**requantised.model_dump(mode="json"), "activation": rng.choice([None, "relu"])})
    table = {"format": 1, "kind": "layer_list", "network": f"set{number}", "layers": rows}
    (folder / "set.yaml").write_text(yaml.safe_dump(table), encoding="utf-8")
    return (str(folder / "set.yaml"), *given)


class NotSimulated(Exception):
    """In the stead of a simulation."""


Recorded = list[tuple[str, Sequence[Job]]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[str, Sequence[Job]]]:
    """Runs a command up to what it asks of the simulator: the Verilog and the jobs."""

    def ask(run: Run, *arguments: object) -> tuple[str, Sequence[Job]]:
        seen: Recorded = []

        def record(verilog: str, jobs: Sequence[Job], **_: object) -> None:
            seen.append((verilog, [replace(job, image=np.array(job.image)) for job in jobs]))
            raise NotSimulated

        with monkeypatch.context() as patch:
            patch.setattr(cosim.hwc.results, "run_jobs", record)
            with pytest.raises(NotSimulated):
                run(*arguments)
        return seen[0]

    return ask


def differences(ours: Sequence[Job], theirs: Sequence[Job]) -> list[str]:
    """The settings of jobs that differ, the images bit by bit."""
    assert len(ours) == len(theirs)
    return [
        f"{one.name}: {field.name}"
        for one, two in zip(ours, theirs, strict=True)
        for field in fields(Job)
        if not np.array_equal(getattr(one, field.name), getattr(two, field.name))
    ]


@pytest.mark.parametrize("sets", [FEWER_SETS, pytest.param(SETS, marks=pytest.mark.nightly)])
def test_the_simulator_is_asked_for_the_same_run_to_the_byte(
    run: Run, tmp_path: Path, asked: Callable[..., tuple[str, Sequence[Job]]], sets: int
) -> None:
    """Random layer sets: Verilog, registers, memory images, stalls."""
    layers = set()
    for number in range(sets):
        folder = tmp_path / str(number)
        work = written(number, folder)
        assert run("generate", *work, "-o", folder / "rtl").status == 0
        options = ("--seed", number, *(["--stalls"] if number % 2 else []))
        verilog, jobs = asked(run, "cosim", *work, *options)
        program, theirs = asked(run, "cosim", "--program", folder / "rtl", *options)
        assert program == verilog == (folder / "rtl" / "hwc.v").read_text(encoding="utf-8")
        assert not differences(jobs, theirs)
        for job in jobs:
            values = {name: value for name, _, value in job.registers}
            layers.add((values["shift"], values["relu"], values["ceiling"] < 127, values.get("wide", 0)))
    assert {relu for _, relu, _, _ in layers} == {low for _, _, low, _ in layers} == {False, True}
    assert {wide for *_, wide in layers} == {0, 1}
    assert len({shift for shift, *_ in layers}) >= 5


def test_settings_that_the_hardware_has_as_constants_are_known_of_its_programs(
    run: Run, tmp_path: Path, asked: Callable[..., tuple[str, Sequence[Job]]]
) -> None:
    """Many settings are constants of the fitted HWC, in its file and in no program."""
    rtl = tmp_path / "rtl"
    assert run("generate", *written(2, tmp_path), "--fitted", "-o", rtl).status == 0
    program, theirs = asked(run, "cosim", "--program", rtl)
    verilog, jobs = asked(run, "cosim", rtl / "schedules", "--hardware", rtl / "hardware.yaml")
    assert program == verilog == (rtl / "hwc.v").read_text(encoding="utf-8")
    assert not differences(jobs, theirs)


def results(answer: Any) -> list[dict[str, Any]]:
    """All of a run but the time it took, which passed every check."""
    assert answer.status == 0, answer.out
    found = [{**one, "seconds": 0, "cpu_seconds": 0} for one in answer.json["results"]]
    assert found
    assert all(one["equal"] and one["output_exact"] for one in found)
    return found


@pytest.mark.parametrize(
    "number", [one if one == SIMULATED else pytest.param(one, marks=pytest.mark.nightly) for one in range(SETS)]
)
def test_outputs_and_counts_are_those_of_cosim(run: Run, tmp_path: Path, number: int) -> None:
    work = written(number, tmp_path)
    assert run("generate", *work, "-o", tmp_path / "rtl").status == 0
    dumps = [tmp_path / "cosim", tmp_path / "program"]
    ours = run("cosim", *work, "--seed", number, "--dump", dumps[0], "--json")
    theirs = run("cosim", "--program", tmp_path / "rtl", "--seed", number, "--dump", dumps[1], "--json")
    assert [{**one, "folder": "."} for one in results(ours)] == results(theirs)
    outputs = sorted(dumps[0].glob("*.O.npy"))
    assert len(outputs) == len(ours.json["results"])
    for path in outputs:
        assert np.array_equal(np.load(path), np.load(dumps[1] / path.name))


@pytest.fixture(scope="module")
def rtl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder ``rtl`` for schedules of 8 and 16 bits, generated, and the schedules in ``set``."""
    folder = tmp_path_factory.mktemp("program")
    hardware = hwc("everything")
    save_hardware(hardware, folder / "hardware.yaml")
    schedules = schedules_for(hardware, Random("program"), 4, 3000)
    assert {schedule.bits.I for schedule in schedules} == {8, 16}
    for schedule in schedules:
        save_schedule(schedule, folder / "set" / f"{schedule.layer.name}.yaml")
    return folder


def generate(run: Run, folder: Path, *options: object) -> Path:
    """Generate the schedules of `rtl` into it."""
    answer = run("generate", folder / "set", "--hardware", folder / "hardware.yaml", "-o", folder / "rtl", *options)
    assert answer.status == 0, answer.err
    return folder / "rtl"


def operands_of(folder: Path) -> dict[str, dict[str, np.ndarray]]:
    """Random operands for all schedules of a folder, written into ``operands`` beside it."""
    rng = np.random.default_rng(11)
    made = {}
    (folder / "operands").mkdir(exist_ok=True)
    for path in sorted((folder / "set").glob("*.yaml")):
        schedule = load_schedule(path)
        layer, dtype = schedule.layer.of_network, f"int{schedule.bits.I}"
        shape = (layer.input_channels, layer.input_height, layer.input_width)
        most = 1 << (schedule.bits.I - 1)
        weights = (layer.output_channels, layer.channels_per_group, *layer.kernel)
        arrays = {
            "I": rng.integers(-most, most, shape).astype(dtype),
            "W": rng.integers(-most, most, weights).astype(dtype),
            "bias": rng.integers(-5000, 5000, layer.output_channels).astype(np.int32),
        }
        made[layer.name] = arrays
        for short, array in arrays.items():
            np.save(folder / "operands" / f"{layer.name}.{short}.npy", array)
    return made


def test_packed_operands_run_and_give_their_outputs(run: Run, rtl: Path) -> None:
    """Images are written with the programs, or packed later; the same bytes; their outputs are the reference's."""
    operands = operands_of(rtl)
    folder = generate(run, rtl, "--operands", rtl / "operands")
    images = {path.name: path.read_bytes() for path in (folder / "programs").glob("*.bin")}
    assert len(images) == 3 * len(operands)
    for name in operands:
        regions = json.loads((folder / "programs" / f"{name}.json").read_text())["regions"]
        for region in ("input", "weights", "bias"):
            assert len(images[f"{name}.{region}.bin"]) == regions[region]["bytes"]
    generate(run, rtl)
    assert not list((folder / "programs").glob("*.bin"))
    packed = run("pack", folder, "--operands", rtl / "operands", "--json")
    assert packed.json["files"] == {f"programs/{name}": len(content) for name, content in images.items()}
    assert {path.name: path.read_bytes() for path in (folder / "programs").glob("*.bin")} == images
    manifest = read_manifest(folder)
    assert manifest is not None
    assert set(manifest.files) == {
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    } - {"manifest.json"}
    results(run("cosim", "--program", folder, "--dump", rtl / "dump", "--json"))
    for name, arrays in operands.items():
        layer = load_schedule(rtl / "set" / f"{name}.yaml").layer.of_network
        expected = layer_output(layer, arrays["I"], arrays["W"], arrays["bias"])
        assert np.array_equal(np.load(rtl / "dump" / f"{name}.O.npy"), expected)
        assert len(np.unique(expected)) > 2


def test_a_register_that_is_written_wrong_is_found(run: Run, rtl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs is the file: a program with another shift fails."""

    def spoilt(name: str, program: Program, operands: Any) -> Any:
        registers = tuple((name, at, value ^ (name == "shift")) for name, at, value in program.registers)
        return original(name, replace(program, registers=registers), operands)

    original = hwgen.export.hwc_program.program_files
    monkeypatch.setattr(hwgen.api.generation.hwcs, "program_files", spoilt)
    generate(run, rtl)
    answer = run("cosim", "--program", rtl / "rtl", "--json")
    assert answer.status == 1
    assert not any(one["output_exact"] for one in answer.json["results"])


def test_files_of_an_earlier_run_are_removed(run: Run, rtl: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(generate(run, rtl), tmp_path / "rtl")
    (folder / "mine.txt").write_text("not generated", encoding="utf-8")
    (folder / "programs" / "mine.h").write_text("not generated either", encoding="utf-8")
    save_schedule(load_schedule(rtl / "set" / "random_1.yaml"), tmp_path / "one" / "random_1.yaml")
    answer = run("generate", tmp_path / "one", "--hardware", rtl / "hardware.yaml", "-o", folder)
    assert answer.status == 0
    assert sorted(path.name for path in (folder / "programs").iterdir()) == [
        "mine.h", "random_1.h", "random_1.json"]  # fmt: skip
    assert [path.name for path in (folder / "schedules").iterdir()] == ["random_1.yaml"]
    assert (folder / "mine.txt").exists()
    assert run("cosim", "--program", folder, "--json").status == 0


def test_what_does_not_belong_together_is_refused(run: Run, rtl: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(generate(run, rtl), tmp_path / "rtl")
    program = folder / "programs" / "random_0.json"
    data = json.loads(program.read_text())
    (folder / "programs" / "old.json").write_text(program.read_text())
    refused(run("cosim", "--program", folder), "old.json: expected a program that manifest.json lists")
    (folder / "programs" / "old.json").unlink()
    program.write_text(json.dumps({**data, "hwc": "0123"}))
    refused(run("cosim", "--program", folder), f"{program}: expected a program of the HWC in hwc.v, {data['hwc']}, "
                                               "got one of 0123")  # fmt: skip
    program.write_text(json.dumps({**data, "registers": [{"name": "shift"}]}))
    refused(run("cosim", "--program", folder), f"{program}: registers: item 0: address: missing key")
    program.write_text(json.dumps({**data, "registers": data["registers"][1:]}))
    refused(run("cosim", "--program", folder), f"{program}: registers: expected program_digest among them")
    slabs = [{**entry, "value": 0} if entry["name"] == "input_slabs" else entry for entry in data["registers"]]
    program.write_text(json.dumps({**data, "registers": slabs}))
    refused(run("cosim", "--program", folder), f"{program}: settings: input_slabs: expected 1 to ", ", got 0")
    program.write_text(json.dumps({key: data[key] for key in ("layer", "regions")}))
    refused(run("cosim", "--program", folder), f"{program}: expected a program that hwgen generate writes, format 1")
    program.unlink()
    refused(run("cosim", "--program", folder), f"{program}: cannot be read: No such file or directory")
    program.write_text(json.dumps(data))
    (folder / "programs" / "random_0.bias.bin").write_bytes(b"123")
    refused(run("cosim", "--program", folder), "random_0.bias.bin: expected ", "got 3")
    (folder / "hwc.v").write_text("module hwc; endmodule")
    refused(run("cosim", "--program", folder), "hwc.v: expected an HWC that hwgen generate wrote")
    (folder / "manifest.json").write_text("{}")
    refused(run("cosim", "--program", folder), "manifest.json: expected what hwgen generate writes, format 1")
    begun = {"format": 1, "kind": "generated", "designs": [], "files": [], "unfinished": True}
    (folder / "manifest.json").write_text(json.dumps(begun))
    refused(run("cosim", "--program", folder), f"{folder}: expected all that hwgen generate writes; it has")
    outside = {"format": 1, "kind": "generated", "designs": [], "files": ["../set/random_0.yaml"]}
    (folder / "manifest.json").write_text(json.dumps(outside))
    generated = ("generate", rtl / "set", "--hardware", rtl / "hardware.yaml", "-o", folder)
    refused(run(*generated), "files: expected paths inside the folder, got ../set/random_0.yaml")
    (folder / "manifest.json").unlink()
    refused(
        run("cosim", "--program", folder), f"{folder}: expected a folder that hwgen generate wrote, found no manif"
    )
    refused(run("cosim", "--program", folder, "--buffer", "1KiB"), "--buffer: not with --program")
    refused(run("cosim"), "SCHEDULE: expected schedules, a layer set, or --program DIR")


def test_operands_that_do_not_fit_are_refused(run: Run, rtl: Path, tmp_path: Path) -> None:
    generate(run, rtl)
    made = operands_of(rtl)
    pack = ("pack", rtl / "rtl", "--operands", tmp_path)
    name, arrays = next(iter(made.items()))
    refused(run(*pack), f"{tmp_path / name}.W.npy: expected the weights [", "found no such file")
    np.save(tmp_path / f"{name}.W.npy", arrays["W"][:, :, :, :0])
    refused(run(*pack), f"{name}.W.npy: expected int", ", got int")
    np.save(tmp_path / f"{name}.W.npy", arrays["W"].astype(np.float32))
    refused(run(*pack), "got float32")
    np.save(tmp_path / f"{name}.W.npy", arrays["W"].astype(np.int64) + (1 << 20))
    refused(run(*pack), f"{name}.W.npy: expected -", f", got {int(arrays['W'].min()) + (1 << 20)} to")
    (tmp_path / f"{name}.W.npy").write_text("weights")
    refused(run(*pack), "expected an array that numpy.save wrote")


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_c_driver_writes_the_same_registers(run: Run, rtl: Path, tmp_path: Path) -> None:
    """Compiled C runs the program on an array in the HWC's stead; addresses move with the memory."""
    folder = generate(run, rtl)
    (tmp_path / "main.c").write_text(f"""
#include <stdio.h>
#include "{folder}/hwc_driver.c"
#include "{folder}/programs/random_0.h"
#include "{folder}/programs/random_1.h"
static uint32_t registers[4096];
int main(void)
{{
    const struct hwgen_device hwc = {{registers, 0, 0x1000}};
    int result = hwc_start(&hwc, &hwc_program_random_0);
    for (uint32_t i = 0; i < 4096; i++)
        printf("%u ", registers[i]);
    registers[HWC_STATUS / 4] = HWC_STATUS_DONE;
    result += hwc_wait(&hwc, 1, 0);
    printf("%d %u", result, hwc_program_random_1.weights.bytes);
    return 0;
}}
""")
    compiled = ["cc", "-Wall", "-Wextra", "-Werror", "-o", tmp_path / "main", tmp_path / "main.c"]
    subprocess.run(compiled, check=True)
    *registers, result, size = map(
        int, subprocess.run([tmp_path / "main"], capture_output=True, check=True).stdout.split()
    )
    programs = [json.loads((folder / "programs" / f"random_{i}.json").read_text()) for i in (0, 1)]
    assert (result, size) == (0, programs[1]["regions"]["weights"]["bytes"])
    expected = {
        entry["address"]: entry["value"] + 0x1000 * entry.get("in_memory", 0) for entry in programs[0]["registers"]
    }
    moved = {entry["name"] for entry in programs[0]["registers"] if entry.get("in_memory")}
    bases = {"input_base", "weight_base", "output_base", "partial_base", "bias_base"}
    assert moved == bases | {"write_base", "write_last"}
    expected |= {programs[0]["start"]["address"]: programs[0]["start"]["value"]}
    assert {4 * i: value for i, value in enumerate(registers) if value} == {
        address: value % (1 << 32) for address, value in expected.items() if value % (1 << 32)
    }
