"""Small networks depth-first and layer by layer in the simulator, their results kept line by line."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hwgen.gateware
import hwgen.ir
import hwgen.lower
import hwgen.model
import hwgen.pipeline
import hwgen.search
from cosim.both_ways import run_both_ways
from cosim.build import HARNESS
from cosim.fused_build import HARNESS as HARNESS_FUSED
from cosim.fused_cases import Part, whole_stack
from cosim.generation import digest_of, sources_digest
from cosim.ledger import Ledger
from hwgen.ir.hardware import Hardware

__all__ = ["NETWORKS", "WaysRegression"]

NETWORKS = (
    Part("dmcnn_vd_first4", "dmcnn_vd", "conv1", "conv4", 4, (64, 64), 16, (16, 12)),
    Part("vgg_e_first5", "vgg_e_first5", "conv1_1", "conv3_1", 4, (56, 56), 32, (16, 16)),
    Part("mobilenet_v2_stride2", "mobilenet_v2", "block01_expand", "block01_project", 2, (56, 56), 8, (16, 16)),
)
MACS = 64
"""Multipliers of the pipelines: as many as four HWCs have."""
RANDOM = 2019


@dataclass(frozen=True)
class WaysRegression:
    """Parts of networks on a pipeline of one stack each, and on a cluster with as much memory.

    What is kept in ``folder`` for the same sources and hardware is not simulated again.
    """

    parts: Sequence[Part]
    hardware: Hardware
    folder: Path
    small: bool = False
    jobs: int = 1

    def run(self, arrived: Callable[[dict[str, Any]], None]) -> list[dict[str, Any]]:
        """All results, in the order of the parts."""
        ledger = Ledger(self.folder / "both_ways.jsonl")
        kept, state = ledger.load(), self._state()

        def result(part: Part) -> dict[str, Any]:
            key = digest_of([repr(part), state])
            if key not in kept:
                solution = whole_stack(part.made(small=self.small), 1)
                kept[key] = run_both_ways(part.name, solution, self.hardware, macs=MACS, random=RANDOM).as_json()
                ledger.add(key, kept[key])
            arrived(kept[key])
            return kept[key]

        with ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(result, self.parts))

    def _state(self) -> str:
        """All that a result depends on, and a little more."""
        harness = sorted(file for folder in (HARNESS, HARNESS_FUSED) for file in folder.iterdir())
        packages = (hwgen.gateware, hwgen.ir, hwgen.lower, hwgen.model, hwgen.pipeline, hwgen.search)
        folders = [Path(package.__path__[0]) for package in packages]
        sources = sources_digest([*folders, Path(__file__).parent, *harness])
        return digest_of([self.small, self.hardware.as_data(), sources])
