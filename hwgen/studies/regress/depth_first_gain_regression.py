"""Parts of networks depth-first and layer by layer in the simulator, their results kept line by line.

None has its published size (inputs: channels x height x width):

- `dmcnn_vd_first4`: 3 x 64 x 64 instead of 3 x 720 x 1280, a quarter of the channels.
- `vgg_e_first5`: 3 x 56 x 56 instead of 3 x 224 x 224, a quarter of the channels.
- `mobilenet_v2_stride2`: 8 x 56 x 56 instead of 16 x 112 x 112, half of the channels.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cosim
import hwgen.arch
import hwgen.gateware
import hwgen.ir
import hwgen.lower
import hwgen.model
import hwgen.search
from hwgen.ir.hardware import Hardware
from hwgen.studies.regress.depth_first_gain import run_both_ways
from hwgen.studies.regress.pipeline_cases import Part, whole_stack
from hwgen.tools.cache import digest_of, sources_digest
from hwgen.tools.ledger import Ledger

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

    A result that ``folder`` has for the same sources and hardware is not simulated again.
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
        """A digest of everything that a result depends on."""
        packages = (cosim, hwgen.arch, hwgen.gateware, hwgen.ir, hwgen.lower, hwgen.model, hwgen.search)
        sources = sources_digest([*(Path(package.__path__[0]) for package in packages), Path(__file__).parent])
        return digest_of([self.small, self.hardware.as_data(), sources])
