"""The DMA alone, against the AXI memory of cocotbext-axi: slow, and independent of our harness."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cosim.dma.run import DmaJob, Memories
from cosim.simulator.steps import build_request, launch, test_request
from hwgen.arch.descriptor import Ring, RingSelect
from hwgen.arch.dma import DmaParameters
from hwgen.export.conversion import converted
from hwgen.gateware.dma.dma import Dma
from hwgen.tools.toolchain import require_tools

__all__ = ["BusRun", "run_on_bus"]


@dataclass(frozen=True)
class BusRun:
    """The memories after a run, protocol violations, and the bursts as (channel, address, beats)."""

    memories: Memories
    breaches: tuple[str, ...]
    bursts: tuple[tuple[str, int, int], ...]


def run_on_bus(parameters: DmaParameters, job: DmaJob, *, stall_rate: int) -> BusRun:
    """All loads of a job, then all stores, under Icarus; every channel pauses in a given number of 256 cycles."""
    require_tools("icarus", waves=False)
    rings = {
        name: job.rings.get(ring, Ring(4096, 1024)) for name, ring in zip("iwo", list(RingSelect)[1:], strict=True)
    }
    windows = {"dram_base": job.dram_window[0], "dram_end": job.dram_window[1], "tcdm_base": job.tcdm_window[0],
               "tcdm_end": job.tcdm_window[1]}  # fmt: skip
    settings = windows | {f"ring_{name}_end": ring.end for name, ring in rings.items()}
    settings |= {f"ring_{name}_size": ring.size for name, ring in rings.items()}
    with tempfile.TemporaryDirectory(prefix="hwgen-") as name:
        folder = Path(name)
        (folder / "dma.v").write_text(converted(Dma(parameters), "dma"), encoding="utf-8")
        np.save(folder / "dram.npy", job.memories.dram)
        np.save(folder / "tcdm.npy", job.memories.tcdm)
        what = {
            "load": [word for each in job.loads for word in each.encode()],
            "store": [word for each in job.stores for word in each.encode()],
            "loads": len(job.loads),
            "stores": len(job.stores),
            "settings": settings,
            "width": parameters.beat_bytes,
            "random": job.random,
            "stall_rate": stall_rate,
            "dram_bytes": len(job.memories.dram),
        }
        (folder / "job.json").write_text(json.dumps(what), encoding="utf-8")
        _simulate(folder)
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        return BusRun(
            Memories(np.load(folder / "dram_after.npy"), np.load(folder / "tcdm_after.npy")),
            tuple(result["breaches"]),
            tuple((channel, address, beats) for channel, address, beats in result["bursts"]),
        )


def _simulate(folder: Path) -> None:
    launch(build_request("icarus", folder, [folder / "dma.v"], "dma"), folder)
    request = test_request("icarus", folder / "sim", folder, "tests.cosim.dma.tb_dma", "dma")
    launch(request, folder, {"HWGEN_DMA_JOB": str(folder)})
