"""The generated C driver queues the tiles of a stack; what it writes runs in the simulator."""

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import cosim.pipeline.run
from cosim.pipeline.comparison import run_stacks
from cosim.pipeline.run import END, POLL, READ, WAIT, WRITE
from hwgen.arch.registers.control import Control, Status
from hwgen.arch.registers.pipeline import pipeline_registers
from hwgen.export.driver.files import driver_files
from hwgen.export.registers.files import register_files
from hwgen.ir.layer_set import Network
from hwgen.lower.pipeline.movers import settings_by_tile
from hwgen.studies.regress.pipeline_cases import PipelineCase, whole_stack
from tests.cosim.driver.test_drivers import BUSY, FAILED, HERE, OK, STRICT, connected
from tests.cosim.pipeline.test_pipelines import prepared
from tests.export.generated_files import written

MAIN = """\
#include "pipeline_driver.h"
uint32_t (*bus_read)(uint32_t);
void (*bus_write)(uint32_t, uint32_t);
void (*memory_store)(uint32_t, uint8_t);
uint8_t (*memory_fetch)(uint32_t);
static const struct hwgen_device device = {0, 0, 0};
int queue(const struct pipeline_write *writes, uint32_t count, int more)
{
    const struct pipeline_tile tile = {writes, count};

    return pipeline_queue(&device, &tile, more);
}
"""


def network() -> Network:
    """One convolution of 3x3 on a small map, which is cut into tiles."""
    rows = [
        {"name": "conv", "op": "conv", "inputs": ["input"], "input_channels": 1, "output_channels": 2,
         "kernel": [3, 3], "padding": [1, 1, 1, 1], "input_height": 5, "input_width": 8,
         "output_height": 5, "output_width": 8},
    ]  # fmt: skip
    source = {"name": "input", "channels": 1, "height": 5, "width": 8}
    return Network.from_data({"format": 1, "kind": "network", "network": "queued", "input": source, "layers": rows})


@pytest.mark.usefixtures("icarus")
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_tiles_are_queued_by_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = prepared(PipelineCase("queued", whole_stack(network(), 2)))
    registers = pipeline_registers(stack.parameters)
    written(tmp_path, {**register_files(registers), **driver_files(registers), "main.c": MAIN})
    command = ["cc", *STRICT, "-O1", "-fPIC", "-shared", f'-DHWGEN_PORT="{HERE / "port.h"}"', "-o", "driver.so"]
    subprocess.run([*command, "main.c", "pipeline_driver.c"], cwd=tmp_path, check=True)
    driver, addresses = ctypes.CDLL(str(tmp_path / "driver.so")), registers.addresses
    done: list[tuple[int, int, int]] = []
    answers = [int(Status.QUEUED), 0]  # the settings of the first tile are still needed when the second one comes

    def read(address: int) -> int:
        assert address == addresses["status"]
        return answers.pop(0) if done else 0

    keep = connected(driver, stack.images.memory, read, lambda address, value: done.append((WRITE, address, value)))
    tiles = settings_by_tile(stack.program, None)
    assert len(tiles) == 2
    for number, tile in enumerate(tiles):
        values = [(addresses[name], value, 0) for name, value in tile.items() if name in addresses]
        array = (ctypes.c_uint32 * 3 * len(values))(*((ctypes.c_uint32 * 3)(*one) for one in values))
        more = number < len(tiles) - 1
        result = driver.queue(array, len(values), int(more))
        if number:
            assert result == BUSY
            assert len(done) == len(tiles[0]) + 1  # nothing has been written since
            done.append((POLL, addresses["status"], int(Status.QUEUED)))
            result = driver.queue(array, len(values), int(more))
        assert result == OK
        assert done[-1] == (WRITE, addresses["control"], Control.START | (Control.MORE if more else 0))
    answers.append(int(Status.FAILED))
    assert driver.queue(None, 0, 0) == FAILED
    played = cosim.pipeline.run._script

    def script(parameters: Any, job: Any) -> list[tuple[int, int, int]]:
        """Set-up and end as they are; in between what the driver did."""
        usual = played(parameters, job)
        start = (WRITE, addresses["control"], Control.START | Control.MORE)
        first = usual.index(start) - len(tiles[0])
        ends = [(WAIT, 0, 0), (READ, addresses["cycles"], 0), (READ, addresses["status"], Status.FAILED)]
        return [*usual[:first], *done, *ends, (WRITE, addresses["control"], Control.CLEAR), (END, 0, 0)]

    monkeypatch.setattr(cosim.pipeline.run, "_script", script)
    (ran,) = run_stacks([stack], simulator="icarus")
    assert ran.passed, ran.failures
    del keep
