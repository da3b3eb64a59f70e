"""Names of other rooms that scripts need, too."""

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.layer import Layer
from hwgen.tools.toolchain import Simulator, ToolError

__all__ = ["Hardware", "InputError", "Layer", "Simulator", "ToolError"]
