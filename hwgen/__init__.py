"""hwgen: convolution schedules with proven traffic, and the hardware that runs them with exactly that traffic.

What a script or a notebook needs has a name here; each is imported when it is first asked for. From a network to
checked hardware it is one way, and every call is a part of it::

    network = hwgen.load("my.yaml")                      # or .onnx, a built-in name, [hwgen.Layer(...)]
    hw = hwgen.hardware("hwc")                           # a built-in name, a file, the keys of one
    plan = hwgen.schedule(network, hw, buffer="1KiB")    # the best schedule of each layer
    plan.cycles, plan.bytes, plan.utilisation            # what the model says: the same as hwgen.predict(plan)
    result = hwgen.cosim(plan)                           # the RTL: result.equal, result.exact, result.difference
    answer = hwgen.run("model.onnx", picture, hw)        # a quantised network: answer.outputs, answer.exact
    hwgen.choose("model.onnx", fps=30, mhz=80).hardware  # the smallest cluster that reaches them
    hwgen.generate(plan, "rtl_out/mine")                 # the Verilog, registers, a driver, programs
    hwgen.build("model.onnx", folder="board").bitstream  # the whole design for an FPGA board
    hwgen.synth(plan).clock_mhz                          # area and clock on an ECP5
    hwgen.sweep(network, buffer=["512", "1KiB"])         # many sizes and shapes, each in the RTL
    hwgen.fuzz(cases=100, output="fuzz").differences     # random cases of all of it: do the commands agree?
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hwgen.api.building import build as build
    from hwgen.api.choosing.request import choose as choose
    from hwgen.api.cosimulation import cosim as cosim
    from hwgen.api.forecasts import forecast as forecast
    from hwgen.api.generation.request import generate as generate
    from hwgen.api.installation import doctor as doctor
    from hwgen.api.machines import hardware as hardware
    from hwgen.api.mappings import import_mapping as import_mapping
    from hwgen.api.names import Hardware as Hardware
    from hwgen.api.names import InputError as InputError
    from hwgen.api.names import Layer as Layer
    from hwgen.api.names import ToolError as ToolError
    from hwgen.api.nests import Nest as Nest
    from hwgen.api.networks import Network as Network
    from hwgen.api.networks import load as load
    from hwgen.api.predictions import predict as predict
    from hwgen.api.progress import progress as progress
    from hwgen.api.results import Difference as Difference
    from hwgen.api.running import run as run
    from hwgen.api.scheduling.plan import Plan as Plan
    from hwgen.api.scheduling.request import schedule as schedule
    from hwgen.api.synthesis import synth as synth
    from hwgen.studies.fuzz.request import fuzz as fuzz
    from hwgen.studies.sweep.study import sweep as sweep

__version__ = "0.2.0"

_MODULES = {
    "Difference": "api.results",
    "Hardware": "api.names",
    "InputError": "api.names",
    "Layer": "api.names",
    "Nest": "api.nests",
    "Network": "api.networks",
    "Plan": "api.scheduling.plan",
    "ToolError": "api.names",
    "build": "api.building",
    "choose": "api.choosing.request",
    "cosim": "api.cosimulation",
    "doctor": "api.installation",
    "forecast": "api.forecasts",
    "fuzz": "studies.fuzz.request",
    "generate": "api.generation.request",
    "hardware": "api.machines",
    "import_mapping": "api.mappings",
    "load": "api.networks",
    "predict": "api.predictions",
    "progress": "api.progress",
    "run": "api.running",
    "schedule": "api.scheduling.request",
    "sweep": "studies.sweep.study",
    "synth": "api.synthesis",
}
"""The module of each name, in `hwgen`."""

__all__ = [
    "Difference",
    "Hardware",
    "InputError",
    "Layer",
    "Nest",
    "Network",
    "Plan",
    "ToolError",
    "build",
    "choose",
    "cosim",
    "doctor",
    "forecast",
    "fuzz",
    "generate",
    "hardware",
    "import_mapping",
    "load",
    "predict",
    "progress",
    "run",
    "schedule",
    "sweep",
    "synth",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'hwgen' has no attribute {name!r}")
    try:
        found: object = getattr(import_module(f"hwgen.{_MODULES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "hwgen.studies":
            raise
        raise AttributeError(f"hwgen.{name}: needs hwgen.studies, which is not installed") from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
