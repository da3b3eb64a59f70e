"""The way from a schedule to hardware: generation parameters and run-time registers.

The one seam between the two worlds: above it are layers and nests, below it parameters and registers. What the
hardware cannot run is refused here, with a reason.
"""

from hwgen.lower.hwc.parameters import parameters_for
from hwgen.lower.hwc.program import Program, compile_layer, require_agreement, require_constants

__all__ = ["Program", "compile_layer", "parameters_for", "require_agreement", "require_constants"]
