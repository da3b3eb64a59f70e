"""Parts of networks depth-first and layer by layer in the simulator, their results kept line by line.

None has its published size (inputs: channels x height x width):

- `dmcnn_vd_first4`: 3 x 64 x 64 instead of 3 x 720 x 1280, a quarter of the channels.
- `vgg_e_first5`: 3 x 56 x 56 instead of 3 x 224 x 224, a quarter of the channels.
- `mobilenet_v2_stride2`: 8 x 56 x 56 instead of 16 x 112 x 112, half of the channels.
"""

from collections.abc import Callable, Sequence
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
from hwgen.studies.engine.attempt import Step, Tell
from hwgen.studies.engine.work import results_of
from hwgen.studies.regress.depth_first_gain import run_both_ways
from hwgen.studies.regress.pipeline_cases import Part, whole_stack
from hwgen.tools.cache import digest_of, sources_digest

__all__ = ["NETWORKS", "WaysRegression", "perform"]

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
        state = self._state()
        steps = [
            Step("ways", digest_of([repr(part), state]), part.name, (part, self.small, self.hardware))
            for part in self.parts
        ]
        file = self.folder / "both_ways.jsonl"
        return results_of(steps, file, self.jobs, perform=f"{__name__}:perform", arrived=arrived)

    def _state(self) -> str:
        """A digest of everything that a result depends on."""
        packages = (cosim, hwgen.arch, hwgen.gateware, hwgen.ir, hwgen.lower, hwgen.model, hwgen.search)
        sources = sources_digest([*(Path(package.__path__[0]) for package in packages), Path(__file__).parent])
        return digest_of([self.small, self.hardware.as_data(), sources])


def perform(step: Step, tell: Tell) -> dict[str, Any]:
    """Simulate a part both ways."""
    part, small, hardware = step.arguments
    solution = whole_stack(part.made(small=small), 1)
    return run_both_ways(part.name, solution, hardware, macs=MACS, random=RANDOM).as_json()
