"""Hardware that is no wider than its layers need."""

from collections.abc import Sequence

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule
from hwgen.lower.hwc.program import compile_layer

__all__ = ["fitted"]

LEAST_BITS = 8


def fitted(hardware: Hardware, schedules: Sequence[Schedule]) -> Hardware:
    """The same hardware with the narrowest coordinates that these schedules can be lowered with.

    Raises `InputError` where the hardware itself cannot run one of them.
    """
    bits = LEAST_BITS
    for schedule in schedules:
        compile_layer(schedule, hardware)
        while bits < hardware.position_bits and not _runs(schedule, _narrowed(hardware, bits)):
            bits += 1
    return _narrowed(hardware, min(bits, hardware.position_bits))


def _narrowed(hardware: Hardware, bits: int) -> Hardware:
    return hardware.model_copy(update={"position_bits": bits})


def _runs(schedule: Schedule, hardware: Hardware) -> bool:
    try:
        compile_layer(schedule, hardware)
    except InputError:
        return False
    return True
