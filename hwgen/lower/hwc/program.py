"""One layer on one HWC: its register values and the places of its tensors in the shared memory."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.layout import MemoryLayout, Region, Words, layout_of
from hwgen.arch.registers.control import Control
from hwgen.arch.registers.hwc import hwc_registers, layer_settings
from hwgen.arch.registers.relations import contradictions, misplaced
from hwgen.arch.requantisation import scaled_values, settings_for
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import WIDE
from hwgen.ir.requantisation import Requantisation
from hwgen.ir.schedule import Marker, Schedule
from hwgen.lower.hwc.parameters import NARROW, parameters_for
from hwgen.lower.hwc.registers import Placement, RegisterValues
from hwgen.model.nest.lane_accesses import with_output_at_reduction
from hwgen.model.nest.one_level import require_one_image

__all__ = ["Program", "check_format", "compile_layer", "requantiser_values", "require_agreement", "require_constants"]


@dataclass(frozen=True)
class Program:
    """What runs one layer on one HWC.

    ``registers`` are (name, byte address, value), to be written in this order; then ``start`` (address, value). When
    the interrupt comes, ``status`` (address) reads `Status.DONE` if all went well. ``requantisation`` is what becomes
    of sums; where channels have scales of their own, these are in memory, with the biases.
    """

    schedule: Schedule
    parameters: HwcParameters
    registers: tuple[tuple[str, int, int], ...]
    start: tuple[int, int]
    status: int
    layout: MemoryLayout
    requantisation: Requantisation

    @property
    def regions(self) -> dict[str, Region]:
        """Parts of the shared memory by name: input, weights, bias, output, partial."""
        return self.layout.regions

    def image(self, inputs: NDArray[np.signedinteger], weights: NDArray[np.int8], bias: NDArray[np.int32]) -> Words:
        """The shared memory before the run; see `MemoryLayout.image`."""
        return self.layout.image(inputs, weights, bias, self.requantisation.scales, self.requantisation.zero_in)

    def output(self, words: Words) -> NDArray[np.signedinteger]:
        """The output [M, E, F] that the run left in the shared memory."""
        return self.layout.output_of(words)


def compile_layer(
    schedule: Schedule, hardware: Hardware | None = None, requantisation: Requantisation | None = None
) -> Program:
    """Registers and memory layout of one layer; raises `InputError` with the reason where the HWC cannot run it.

    ``requantisation`` : what becomes of its sums, where the HWC scales them; None: what the layer says.

    The program's schedule has O's marker above a reduction loop, see `with_output_at_reduction`.
    """
    check_format(schedule)
    parameters = parameters_for(schedule, hardware)
    schedule = with_output_at_reduction(schedule)
    layout = layout_of(schedule)
    values = RegisterValues(schedule, parameters, Placement.of(layout)).registers()
    requantisation = requantisation or schedule.layer.requantisation_at(schedule.bits.O)
    values |= requantiser_values(schedule, requantisation, wide=parameters.wide)
    if parameters.wide:
        values |= {"wide": int(schedule.bits.I == WIDE)}
    values |= _window(layout)
    require_agreement(parameters, values, schedule.layer.name)
    bank = hwc_registers(parameters)
    registers = []
    require_constants(parameters, values, schedule.layer.name)
    values = {name: value for name, value in values.items() if name not in dict(parameters.constants)}
    for register in layer_settings(bank):
        value = values.pop(register.name)
        if not 0 <= value < 1 << register.width:
            raise InputError(
                f"{schedule.layer.name}: {register.meaning}: expected below {1 << register.width}, got {value}"
            )
        registers.append((register.name, register.address, value))
    assert not values, values
    return Program(
        schedule=schedule,
        parameters=parameters,
        registers=tuple(registers),
        start=(bank["control"].address, int(Control.START)),
        status=bank["status"].address,
        layout=layout,
        requantisation=requantisation,
    )


def require_constants(parameters: HwcParameters, values: Mapping[str, int], where: str) -> None:
    """Raise `InputError` for constants of the hardware that are other values, or of no setting."""
    unknown = {name for name, _ in (*parameters.constants, *parameters.setting_bits)} - set(values)
    if unknown:
        raise InputError(f"hardware: constants, setting_bits: expected settings of the HWC, got {min(unknown)}")
    for name, constant in parameters.constants:
        if values[name] != constant:
            raise InputError(f"{where}: {name}: the hardware is fitted to {constant}, got {values[name]}")


def _window(layout: MemoryLayout) -> dict[str, int]:
    """The registers of the memory that the layer may write: its outputs, and its partial sums if there are any."""
    written = [region for region in (layout.output, layout.partial) if region.size]
    base, end = min(region.base for region in written), max(region.end for region in written)
    return {"write_base": base, "write_last": end - 1}


def require_agreement(
    parameters: HwcParameters, values: Mapping[str, int], where: str, *, addresses_alone: bool = False
) -> None:
    """Raise `InputError` with the first of the settings that contradict each other.

    ``addresses_alone`` : the others were looked at before.
    """
    for found in (misplaced if addresses_alone else contradictions)(parameters, values):
        raise InputError(f"{where}: settings: {found}")


def requantiser_values(schedule: Schedule, requantisation: Requantisation, *, wide: bool) -> dict[str, int]:
    """The registers of a layer's requantisation; ``wide``: the HWC has 16-bit operands, too.

    Raises `InputError` for what the HWC does not do.
    """
    where, channels = schedule.layer.name, schedule.layer.output_channels
    if schedule.requantisation == "scaled":
        if len(requantisation.scales) not in (1, channels):
            raise InputError(f"{where}: scales: expected 1 or {channels}, got {len(requantisation.scales)}")
        return scaled_values(requantisation, where)
    values = settings_for(requantisation, where, schedule.bits.O, shifts_products=wide)
    return {**values, "product_shift": requantisation.product_shift} if wide else values


def check_format(schedule: Schedule) -> None:
    """Refuse operands, nests and kernels that no HWC runs, with the reason."""
    where, layer = schedule.layer.name, schedule.layer
    bits = schedule.bits
    if (bits.I, bits.W, bits.O, bits.acc) not in ((NARROW, NARROW, NARROW, 32), (WIDE, WIDE, WIDE, 32)):
        raise InputError(f"{where}: bits: the HWC computes with operands of 8 or of 16 bits, and 32-bit sums")
    if any(isinstance(item, Marker) and item.level.shared for item in schedule.nest):
        raise InputError(f"{where}: nest: one HWC has one memory level, got a tcdm marker")
    if any(loop.over for loop in schedule.loops):
        raise InputError(f"{where}: nest: one HWC cannot spread a loop over several")
    require_one_image(schedule)
    if wrong := layer.beyond_the_hardware():
        raise InputError(f"{where}: {wrong}")
