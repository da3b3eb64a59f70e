"""The DMA's harness and its DRAM under Icarus: the same sources, the same counts."""

import subprocess
from pathlib import Path

import pytest

from cosim.dma.model import SOURCES, wrapper
from cosim.sim.build import HARNESS
from hwgen.arch.descriptor import Descriptor, OperandTag, RingSelect
from hwgen.arch.dma import DmaParameters
from hwgen.export.conversion import converted
from hwgen.gateware.dma.dma import Dma


@pytest.mark.icarus
@pytest.mark.usefixtures("icarus")
def test_a_load_and_a_store(tmp_path: Path) -> None:
    load = Descriptor(900, OperandTag.I, RingSelect.FIXED, 4099, 514)
    store = Descriptor(900, OperandTag.O, RingSelect.FIXED, 20001, 514)
    words = "\n".join(f"{word:08x}" for word in (*load.encode(), *store.encode()))
    (tmp_path / "descriptors.hex").write_text(words)
    (tmp_path / "dma.v").write_text(converted(Dma(DmaParameters()), "dma"))
    (tmp_path / "dma_flat.v").write_text(wrapper(DmaParameters()))
    sources = [
        Path(__file__).with_name("dma_icarus.sv"),
        *(HARNESS / name for name in SOURCES),
        "dma.v",
        "dma_flat.v",
    ]
    compiled = ["iverilog", "-g2012", "-o", "bench", "-s", "bench", *map(str, sources)]
    subprocess.run(compiled, cwd=tmp_path, check=True, capture_output=True)
    shown = subprocess.run(["vvp", "bench"], cwd=tmp_path, check=True, capture_output=True, text=True, timeout=100)
    lines = [line for line in shown.stdout.splitlines() if not line.startswith("WARNING")]
    # 900 bytes from 4099: beats 512 to 624, blocks 32 to 39. To 20001, across 20480: beats 2500 to 2612, 156 to 163.
    assert lines[0] == "timed out 0 error 000000 done 1 1 violations 0 wrong 0"
    assert lines[1:3] == ["read 900 113 1 8 1", "written 900 113 2 8 1"]
