"""The simulator of an HWC that a file describes, built while the schedules that it will run are still searched."""

from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from threading import Thread
from types import TracebackType
from typing import Self

from cosim.hwc.jobs import Job
from cosim.hwc.layer_data import requantisation_for
from cosim.hwc.preparation import rehearsal
from cosim.hwc.runner import build_profiled, depth_for, hwc_device
from cosim.simulator.pace import hwc_paces, soonest
from cosim.simulator.registry import SIMULATORS
from cosim.simulator.verilator import REHEARSED_CYCLES
from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.hwc import HwcParameters
from hwgen.export.cached import generated
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.lower.hwc import compile_layer
from hwgen.model.area.assumed import hwc_of
from hwgen.tools.processes import stop_all
from hwgen.tools.toolchain import ToolError

__all__ = ["BuildAhead"]

POLL_SECONDS = 0.05
TIMES_LEAST = (1, 2)
"""Multiples of the cycles that the lanes need at least. Where they ask for different builds, none is made ahead."""
MOST_OUTPUT_BYTES = 5
"""Bytes of an output and its partial sum."""
BIAS_BYTES = 8


class BuildAhead:
    """A context in which the simulator that `cosimulate` will want is built by a thread.

    `cosimulate` finds it in the cache, or waits until it is there. What fails here fails there again, and is told
    there. Who leaves the context by an error stops the build.
    """

    def __init__(self, processes: int, *, wanted: bool = True) -> None:
        """``processes`` : how many simulators will run at a time; ``wanted`` : whether anything is built ahead."""
        self._processes, self._wanted = processes, wanted
        self._rehearsal: Future[Job] = Future()
        self._thread: Thread | None = None
        self._parameters: HwcParameters | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is None:
            return
        if not self._rehearsal.done():
            self._rehearsal.cancel()
        while self._thread.is_alive():
            if kind is not None:
                stop_all(self._thread.ident)
            self._thread.join(POLL_SECONDS)

    def begin(self, layers: Sequence[Layer], hardware: Hardware) -> None:
        """Begin, if the hardware's file says all of the HWC, and the layers which build is the best."""
        if (
            not self._wanted
            or hardware.cluster is not None
            or None in (hardware.lanes, hardware.buffers, hardware.order)
        ):
            return
        with suppress(InputError):
            self._parameters = hwc_of(hardware)
            self._thread = Thread(target=self._build, args=(self._parameters, layers))
            self._thread.start()

    def rehearse(self, schedules: Sequence[Schedule], hardware: Hardware | None) -> None:
        """Let the build be profiled with the longest of the schedules that were found."""
        if self._thread is None or self._rehearsal.done():
            return
        longest = max(schedules, key=lambda schedule: schedule.layer.macs)
        program = compile_layer(longest, hardware, requantisation_for(longest, 0, 0))
        if program.parameters == self._parameters:
            self._rehearsal.set_result(rehearsal(program, REHEARSED_CYCLES))
        else:
            self._rehearsal.cancel()

    def _build(self, parameters: HwcParameters, layers: Sequence[Layer]) -> None:
        with suppress(InputError, ToolError, OSError, CancelledError):
            depths = {depth_for("verilator", words) for words in _image_words(layers, parameters)}
            if len(depths) > 1:
                return
            device = hwc_device(generated(parameters), depths.pop(), parameters.ports.each)
            paces = {
                name: pace for name, pace in hwc_paces(parameters.lanes.product).items() if SIMULATORS[name].native
            }
            least = [layer.macs / parameters.lanes.product for layer in layers]
            names = {
                soonest(
                    paces,
                    [times * cycles for cycles in least],
                    processes=self._processes,
                    built=lambda name: SIMULATORS[name].has(device, "bench"),
                ).simulator
                for times in TIMES_LEAST
            }
            name = names.pop()
            if names or SIMULATORS[name].has(device, "bench"):
                return
            if name == "verilator_profiled":
                build_profiled(device, self._rehearsal.result)
            else:
                SIMULATORS[name].build(device, "bench")


def _image_words(layers: Sequence[Layer], parameters: HwcParameters) -> tuple[int, int]:
    """Words of the largest layer's memory image, at least and at most, but for what alignment takes."""
    operand = parameters.operand_bits // 8
    least = max(layer.input_elements + layer.weight_elements + layer.output_elements for layer in layers)
    most = max(
        operand * (layer.input_elements + layer.weight_elements)
        + MOST_OUTPUT_BYTES * layer.output_elements
        + BIAS_BYTES * layer.output_channels
        for layer in layers
    )
    return least // WORD_BYTES, most // WORD_BYTES
