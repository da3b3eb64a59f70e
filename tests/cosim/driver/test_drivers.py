"""The generated C drivers, compiled, run layers on the generated example systems, by their buses alone."""

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import pytest

from hwgen.arch.registers.control import Control
from hwgen.arch.registers.errors import ClusterError, HwcError
from hwgen.arch.registers.hwc import hwc_registers
from hwgen.export.cluster import cluster_files_of
from hwgen.export.cluster_program import cluster_program_files
from hwgen.export.hwc import files_of
from hwgen.export.hwc_program import program_files
from hwgen.golden.convolution import layer_output
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.program import compile_cluster
from hwgen.lower.hwc import compile_layer
from tests.cosim.cluster.test_clusters import cases, hardware
from tests.cosim.driver.system import ExampleSystem, build
from tests.export.generated_files import written
from tests.random.layers import hwc, schedules_for

HERE = Path(__file__).parent
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
OK, BUSY, IDLE, FAILED, TIMEOUT, NO_BLOCK, OTHER_HARDWARE, OUTSIDE = range(8)
"""enum hwgen_result."""
MAIN = """\
#include "{block}_driver.h"
{includes}
uint32_t (*bus_read)(uint32_t);
void (*bus_write)(uint32_t, uint32_t);
void (*memory_store)(uint32_t, uint8_t);
uint8_t (*memory_fetch)(uint32_t);

static const struct hwgen_device device = {{0, 0, 0}};
static const struct {block}_program *const programs[] = {{ {programs} }};
struct hwgen_end end;
struct {block}_counters counters;

int probe(void) {{ return {block}_probe(&device); }}
int wait(uint32_t polls) {{ return {block}_wait(&device, polls, &end); }}
int acknowledge(void) {{ return {block}_acknowledge(&device, &end); }}
int poll(void) {{ return {block}_poll(&device); }}
void count(void) {{ {block}_counters(&device, &counters); }}
int start(int i) {{ {before} return {block}_start(&device, programs[i]); }}
int store(int i, int region, const void *bytes, uint32_t count)
{{
    const struct hwgen_region regions[] = {{programs[i]->input, programs[i]->weights, programs[i]->bias}};

    return hwgen_store(&device, regions[region], bytes, count);
}}
int fetch(int i, void *bytes, uint32_t count) {{ return hwgen_fetch(&device, programs[i]->output, bytes, count); }}
{more}
"""
REGIONS = ("input", "weights", "bias")


@dataclass
class Driven:
    """A system, and the driver beside it."""

    system: ExampleSystem
    driver: ctypes.CDLL
    keep: list[object]
    answers: dict[int, int]
    """What registers read in place of what they hold, by address."""

    def end(self) -> tuple[int, int]:
        """Status and error code of the last end."""
        status, error, _ = (ctypes.c_uint32 * 3).in_dll(self.driver, "end")
        return status, error


def compiled(folder: Path, block: str, layers: list[str], before: str = "", more: str = "") -> ctypes.CDLL:
    """The driver with the programs of some layers, of generated files."""
    includes = "\n".join(f'#include "programs/{layer}.h"' for layer in layers)
    programs = ", ".join(f"&{block}_program_{layer}" for layer in layers)
    text = MAIN.format(block=block, includes=includes, programs=programs, before=before, more=more)
    (folder / "main.c").write_text(text, encoding="utf-8")
    command = ["cc", *STRICT, "-O1", "-fPIC", "-shared", f'-DHWGEN_PORT="{HERE / "port.h"}"', "-o", "driver.so"]
    subprocess.run([*command, "main.c", f"{block}_driver.c"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "driver.so"))


def connected(
    driver: ctypes.CDLL, memory: np.ndarray, read: Callable[[int], int], write: Callable[[int, int], None]
) -> list[object]:
    """Lead the accesses of a driver to a memory, and to what reads and writes registers; keep what is returned."""

    def store(address: int, byte: int) -> None:
        memory[address] = byte

    u32, u8 = ctypes.c_uint32, ctypes.c_uint8
    functions: dict[str, tuple[object, Callable[..., object]]] = {
        "bus_read": (ctypes.CFUNCTYPE(u32, u32), read),
        "bus_write": (ctypes.CFUNCTYPE(None, u32, u32), write),
        "memory_store": (ctypes.CFUNCTYPE(None, u32, u8), store),
        "memory_fetch": (ctypes.CFUNCTYPE(u8, u32), lambda address: int(memory[address])),
    }
    keep: list[object] = []
    for name, (kind, function) in functions.items():
        pointer = kind(function)  # type: ignore[operator]
        ctypes.c_void_p.in_dll(driver, name).value = ctypes.cast(pointer, ctypes.c_void_p).value
        keep.append(pointer)
    return keep


def driven(folder: Path, block: str, layers: list[str], before: str = "", more: str = "") -> Driven:
    """Compile the driver with the programs of some layers, and build the system, from generated files."""
    driver, system = compiled(folder, block, layers, before, more), ExampleSystem(build(folder, block))
    answers: dict[int, int] = {}

    def read(address: int) -> int:
        return answers.get(address, system.read(address))

    return Driven(system, driver, connected(driver, system.memory, read, system.write), answers)


def operands(schedule: Schedule, seed: int) -> dict[str, np.ndarray]:
    layer, rng = schedule.layer.of_network, np.random.default_rng(seed)
    shapes = {
        "input": (layer.input_channels, layer.input_height, layer.input_width),
        "weights": (layer.output_channels, layer.input_channels // layer.groups, *layer.kernel),
    }
    found = {name: rng.integers(-100, 101, shape, dtype=np.int8) for name, shape in shapes.items()}
    return found | {"bias": rng.integers(-300, 300, layer.output_channels, dtype=np.int32)}


def stored(one: Driven, number: int, images: Mapping[str, np.ndarray]) -> None:
    for place, region in enumerate(REGIONS):
        image = np.ascontiguousarray(images[region]).reshape(-1).view(np.uint8)
        assert one.driver.store(number, place, image.ctypes.data_as(ctypes.c_void_p), image.size) == OK


def fetched(one: Driven, number: int, size: int) -> np.ndarray:
    found = np.zeros(size, np.int8)
    assert one.driver.fetch(number, found.ctypes.data_as(ctypes.c_void_p), size) == OK
    return found


def checked(folder: Path, block: str, source: str | None = None) -> None:
    """cppcheck finds nothing in the driver, or in another source beside it."""
    options = ["--std=c99", "--enable=warning,style,performance,portability", "--error-exitcode=1", "--quiet"]
    checker = Path(sys.executable).with_name("cppcheck")
    subprocess.run([checker, *options, source or f"{block}_driver.c"], cwd=folder, check=True)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_layers_on_an_hwc(tmp_path: Path) -> None:
    schedules = [one for one in schedules_for(hwc("fig8"), Random("driver"), 2, 3000) if one.bits.I == 8]
    programs = [compile_layer(schedule, hwc("fig8")) for schedule in schedules]
    names = [schedule.layer.name for schedule in schedules]
    written(tmp_path, files_of(programs[0].parameters))
    given = [operands(schedule, seed) for seed, schedule in enumerate(schedules)]
    for name, program, content in zip(names, programs, given, strict=True):
        written(tmp_path / "programs", program_files(name, program, content))
    more = "void stop(void) { hwc_abort(&device); }"
    checked(tmp_path, "hwc")
    one = driven(tmp_path, "hwc", names, more=more)
    assert (one.driver.probe(), one.driver.poll()) == (OK, IDLE)
    for number, (program, content) in enumerate(zip(programs, given, strict=True)):
        layer, layout = program.schedule.layer.of_network, program.layout
        packed = {region: layout.packed(region, operand) for region, operand in content.items()}
        stored(one, number, packed)
        assert one.driver.start(number) == OK
        assert one.driver.start(number) == BUSY
        if number == 0:  # by polling
            assert one.driver.wait(1) == TIMEOUT
            assert one.driver.wait(0) == OK
        else:  # by interrupt
            assert one.system.run_to_interrupt(1_000_000)
            assert one.driver.acknowledge() == OK
        assert one.driver.poll() == IDLE
        expected = layer_output(layer, content["input"], content["weights"], content["bias"])
        region = program.regions["output"]
        memory = np.zeros(region.base + region.size, np.int8)
        memory[region.base :] = fetched(one, number, region.size)
        np.testing.assert_array_equal(layout.output_of(memory.view(np.uint32)), expected)
        assert len(np.unique(expected)) > 4
        one.driver.count()
        assert ctypes.c_uint32.in_dll(one.driver, "counters").value > layer.macs // 16
    assert one.system.refused == []
    assert one.driver.store(0, 0, b"", programs[0].regions["input"].size + 1) == OUTSIDE
    registers = hwc_registers(programs[0].parameters).addresses
    one.answers[registers["digest"]] = 1
    assert one.driver.probe() == OTHER_HARDWARE
    one.answers[registers["identity"]] = 1
    assert one.driver.probe() == NO_BLOCK
    one.answers.clear()
    one.driver.start(0)
    one.driver.stop()
    assert one.driver.wait(0) == FAILED
    assert one.end()[1] == HwcError.ABORTED.value
    one.system.write(registers["digest"], int(Control.START))
    assert len(one.system.refused) == 1
    assert (one.driver.poll(), one.driver.acknowledge(), one.end()[1]) == (
        FAILED, FAILED, HwcError.READ_ONLY_REGISTER.value,
    )  # fmt: skip


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_layers_on_a_cluster(tmp_path: Path) -> None:
    machine = hardware("fig8")
    programs = [compile_cluster(schedule, machine) for schedule in cases("fig8")[:2]]
    names = [program.schedule.layer.name for program in programs]
    written(tmp_path, cluster_files_of(programs[0].hardware))
    for name, program in zip(names, programs, strict=True):
        written(tmp_path / "programs", cluster_program_files(name, program))
    checked(tmp_path, "cluster")
    before, more = "cluster_store_program(&device, programs[i]);", "void stop(void) { cluster_abort(&device); }"
    one = driven(tmp_path, "cluster", names, before=before, more=more)
    assert (one.driver.probe(), one.driver.poll()) == (OK, IDLE)
    for number, program in enumerate(programs):
        content = operands(program.schedule, number)
        image = program.image(content["input"], content["weights"], content["bias"]).view(np.uint8)
        regions = {"input": program.layout.inputs, "weights": program.layout.weights, "bias": program.layout.bias}
        stored(one, number, {name: image[one.base : one.base + one.size] for name, one in regions.items()})
        assert one.driver.start(number) == OK
        assert one.driver.wait(0) == OK
        expected = layer_output(
            program.schedule.layer.of_network, content["input"], content["weights"], content["bias"]
        )
        np.testing.assert_array_equal(fetched(one, number, expected.size).reshape(expected.shape), expected)
    one.driver.start(0)
    one.driver.stop()
    assert one.driver.wait(0) == FAILED
    assert one.end()[1] == ClusterError.ABORTED.value
    assert one.system.refused == []
