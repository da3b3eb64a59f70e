"""The simulator of an HWC that a file describes, built while the schedules that it will run are still searched."""

from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial

from cosim.hwc.jobs import Job
from cosim.hwc.layer_data import requantisation_for
from cosim.hwc.preparation import rehearsal
from cosim.hwc.runner import build_profiled, depth_for, hwc_device
from cosim.simulator.ahead import TIMES_LEAST, Ahead
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

__all__ = ["HwcAhead"]

MOST_OUTPUT_BYTES = 5
"""Bytes of an output and its partial sum."""
BIAS_BYTES = 8


class HwcAhead(Ahead):
    """The build that `cosim.hwc.results.cosimulate` will want. See `Ahead`."""

    def __init__(self, processes: int, *, wanted: bool = True) -> None:
        """``processes`` : how many simulators will run at a time."""
        super().__init__(wanted=wanted)
        self._processes = processes
        self._rehearsal: Future[Job] = Future()
        self._parameters: HwcParameters | None = None

    def begin(self, layers: Sequence[Layer], hardware: Hardware) -> None:
        """Begin, if the hardware's file says all of an HWC, and the layers which build is the best."""
        if hardware.cluster is None and self.may_build(hardware):
            with suppress(InputError):  # it will be told of the schedules
                self._parameters = hwc_of(hardware)
                self.start(partial(self._build, self._parameters, layers))

    def rehearse(self, schedules: Sequence[Schedule], hardware: Hardware | None) -> None:
        """Let the build be profiled with the longest of the schedules that were found."""
        if not self.begun or self._rehearsal.done():
            return
        longest = max(schedules, key=lambda schedule: schedule.layer.macs)
        program = compile_layer(longest, hardware, requantisation_for(longest, 0, 0))
        if program.parameters == self._parameters:
            self._rehearsal.set_result(rehearsal(program, REHEARSED_CYCLES))
        else:
            self.give_up()

    def give_up(self) -> None:
        """See `Ahead`: no schedule will come."""
        self._rehearsal.cancel()

    def _build(self, parameters: HwcParameters, layers: Sequence[Layer]) -> None:
        depths = {depth_for("verilator", words) for words in _image_words(layers, parameters.operand_bits)}
        if len(depths) > 1:
            return
        device = hwc_device(generated(parameters), depths.pop(), parameters.ports.each)
        paces = {name: pace for name, pace in hwc_paces(parameters.lanes.product).items() if SIMULATORS[name].native}
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


def _image_words(layers: Sequence[Layer], operand_bits: int) -> tuple[int, int]:
    """Words of the largest layer's memory image, at least and at most, but for what alignment takes."""
    operand = operand_bits // 8
    least = max(layer.input_elements + layer.weight_elements + layer.output_elements for layer in layers)
    most = max(
        operand * (layer.input_elements + layer.weight_elements)
        + MOST_OUTPUT_BYTES * layer.output_elements
        + BIAS_BYTES * layer.output_channels
        for layer in layers
    )
    return least // WORD_BYTES, most // WORD_BYTES
