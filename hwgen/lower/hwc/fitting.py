"""Hardware that is no wider than its layers need."""

from collections.abc import Sequence

from hwgen.arch.registers.hwc import PLACES
from hwgen.arch.requantisation import SCALED
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule
from hwgen.lower.hwc.program import compile_layer

__all__ = ["fitted", "narrowed"]

LEAST_BITS = 8
QUANTISATION = {setting.name for setting in SCALED}
"""Settings that follow from the quantisation of a network, which schedules do not say."""
LEAST_ADDRESS_BITS = 24
"""Bits of addresses, at least, so that operands can be anywhere in 16 MiB."""
OWN = "program_digest"
"""Not known before the hardware is, which it tells from others."""


def fitted(hardware: Hardware, schedules: Sequence[Schedule]) -> Hardware:
    """The same hardware, as these schedules need it: the narrowest coordinates, settings that all have alike as
    constants, the others as wide as their largest value, addresses as wide as a memory of 16 MiB needs if that is
    enough. It runs other layers only if they agree with that.

    Raises `InputError` where the hardware itself cannot run one of them.
    """
    return _with_settings(narrowed(hardware, schedules), schedules)


def narrowed(hardware: Hardware, schedules: Sequence[Schedule]) -> Hardware:
    """The same hardware with the narrowest coordinates that these schedules allow: it refuses layers of larger maps.

    Raises `InputError` where the hardware itself cannot run one of them.
    """
    bits = LEAST_BITS
    for schedule in schedules:
        compile_layer(schedule, hardware)
        while bits < hardware.position_bits and not _runs(schedule, _of_bits(hardware, bits)):
            bits += 1
    return _of_bits(hardware, min(bits, hardware.position_bits))


def _with_settings(hardware: Hardware, schedules: Sequence[Schedule]) -> Hardware:
    """The same with the settings that these schedules have."""
    programs = [{name: value for name, _, value in compile_layer(one, hardware).registers} for one in schedules]
    everywhere = set.intersection(*(set(program) for program in programs)) - {OWN, *QUANTISATION}
    found = {name: {program[name] for program in programs} for name in sorted(everywhere)}
    places = {name: values for name, values in found.items() if name.endswith(PLACES)}
    others = {name: values for name, values in found.items() if name not in places}
    constants = {name: min(values) for name, values in others.items() if len(values) == 1}
    bits = {name: max(values).bit_length() for name, values in others.items() if len(values) > 1}
    # As wide as any of them is asked to be.
    asked = [bits for name, bits in (hardware.setting_bits or {}).items() if name.endswith(PLACES)]
    needed = [max(values).bit_length() for values in places.values()]
    bits |= dict.fromkeys(places, max(LEAST_ADDRESS_BITS, *asked, *needed))
    return hardware.model_copy(
        update={
            "constants": {**(hardware.constants or {}), **constants},
            "setting_bits": {**(hardware.setting_bits or {}), **bits},
        }
    )


def _of_bits(hardware: Hardware, bits: int) -> Hardware:
    return hardware.model_copy(update={"position_bits": bits})


def _runs(schedule: Schedule, hardware: Hardware) -> bool:
    try:
        compile_layer(schedule, hardware)
    except InputError:
        return False
    return True
