"""The HWC that a schedule runs on: its generation parameters, and the schedule as it has it."""

from collections.abc import Mapping

from hwgen.arch.hwc import HwcParameters, check_lanes, memory_units
from hwgen.arch.parameter_error import ParameterError
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware, order_of
from hwgen.ir.lanes import WIDE, Lanes
from hwgen.ir.schedule import ARRAYS, Schedule
from hwgen.model.nest.biases import biases_kept
from hwgen.model.nest.lane_accesses import with_output_at_reduction
from hwgen.model.nest.one_level import allocation, require_one_image
from hwgen.search.hwc.memory_split import roomy

__all__ = ["NARROW", "parameters_for"]

NARROW = 8


def parameters_for(schedule: Schedule, hardware: Hardware | None = None) -> HwcParameters:
    """The HWC that a schedule runs on: the given one, or the smallest one for this schedule.

    Where only the budget of the given one's memories is fixed, the memories share what the schedule leaves of it.

    Raises `InputError` where the schedule does not fit the hardware.
    """
    require_one_image(schedule)
    where = schedule.layer.name
    orders = (order_of(schedule), order_of(with_output_at_reduction(schedule)))
    schedule = with_output_at_reduction(schedule)
    need = allocation(schedule)
    lanes, operand_bits = _datapath(schedule, hardware)
    if hardware is not None and hardware.order is not None and hardware.order not in orders:
        raise InputError(f"{where}: nest: expected the loop order and markers of {hardware.titled}")
    try:
        check_lanes(lanes)
    except ParameterError as error:
        raise InputError(f"{where}: {error}") from None
    if hardware is not None and schedule.ports != hardware.ports:
        raise InputError(f"{where}: ports: expected {hardware.ports} of {hardware.titled}, got {schedule.ports}")
    if hardware is not None and schedule.requantisation != hardware.requantisation:
        raise InputError(
            f"{where}: requantisation: expected {hardware.requantisation} of {hardware.titled}, "
            f"got {schedule.requantisation}"
        )
    if hardware is not None and schedule.lane_registers != hardware.lane_registers:
        expected, got = (str(one.lane_registers).lower() for one in (hardware, schedule))
        raise InputError(f"{where}: lane_registers: expected {expected} of {hardware.titled}, got {got}")
    if schedule.layer.form.column_window:
        _check_window(schedule, hardware, lanes)
    units = memory_units(lanes, operand_bits, schedule.ports)
    buffers = {array: max(-(-need[array] // unit), 2) * unit for array, unit in zip(ARRAYS, units, strict=True)}
    if hardware is not None and hardware.buffers is not None:
        for array in ARRAYS:
            if need[array] > hardware.buffers[array]:
                raise InputError(
                    f"{where}: {array} needs {need[array]} bytes, {hardware.titled} has {hardware.buffers[array]}"
                )
        buffers = dict(hardware.buffers)
    elif hardware is not None and sum(buffers.values()) > hardware.budget:
        raise InputError(f"{where}: needs {sum(buffers.values())} bytes, {hardware.titled} has {hardware.budget}")
    elif hardware is not None:
        inputs, weights, outputs = (buffers[array] for array in ARRAYS)
        buffers = roomy((inputs, weights, outputs), hardware.budget, units)
    bias_words = _bias_words(schedule, hardware)
    markers = {array: schedule.marked_loop(array) for array in ARRAYS}
    loops = tuple(loop.dim for loop in schedule.loops)
    places = {array: len(loops) if place is None else place for array, place in markers.items()}
    try:
        return HwcParameters(
            loops=loops,
            input_marker=places["I"],
            weight_marker=places["W"],
            output_marker=places["O"],
            input_bytes=buffers["I"],
            weight_bytes=buffers["W"],
            output_bytes=buffers["O"],
            lanes=lanes,
            operand_bits=operand_bits,
            bias_words=bias_words,
            ports=schedule.ports,
            in_flight=HwcParameters.in_flight if hardware is None else hardware.in_flight,
            position_bits=HwcParameters.position_bits if hardware is None else hardware.position_bits,
            read_back=hardware is not None and hardware.read_back,
            second_settings=hardware is not None and hardware.second_settings,
            block_ram=hardware is not None and hardware.block_ram,
            scaled=schedule.requantisation == "scaled",
            most_requantisers=HwcParameters.most_requantisers if hardware is None else hardware.requantisers,
            lane_registers=schedule.lane_registers,
            column_window=schedule.layer.form.column_window if hardware is None else hardware.column_window,
            constants=_pairs(None if hardware is None else hardware.constants),
            setting_bits=_pairs(None if hardware is None else hardware.setting_bits),
        )
    except ParameterError as error:
        raise InputError(f"{where}: {error}") from None


def _check_window(schedule: Schedule, hardware: Hardware | None, lanes: Lanes) -> None:
    """Raise `InputError` unless each operation has all channels and columns of the groups that are run at once."""
    where, at_once = schedule.layer.name, schedule.layer.form.groups_at_once
    if hardware is not None and not hardware.column_window:
        raise InputError(f"{where}: column_window: expected hardware that has one, got {hardware.titled}")
    if at_once > min(lanes.m, lanes.c):
        raise InputError(
            f"{where}: groups_at_once: expected at most {min(lanes.m, lanes.c)} where columns pass through a window "
            f"on lanes {lanes}, got {at_once}"
        )
    for dim in ("m", "c"):
        cut = [loop.step for loop in schedule.loops if loop.dim == dim and loop.step % at_once]
        if cut:
            raise InputError(
                f"{where}: nest: {dim}: expected steps of whole groups_at_once, {at_once}, where columns pass "
                f"through a window, got {cut[0]}"
            )


def _pairs(values: Mapping[str, int] | None) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((values or {}).items()))


def _bias_words(schedule: Schedule, hardware: Hardware | None) -> int:
    """The size of the bias store: the given hardware's, or the least power of two that holds what is kept."""
    if hardware is None:
        kept = biases_kept(schedule)
        return 1 << max(kept - 1, 1).bit_length() if kept else 0
    if schedule.bias_words > hardware.bias_words:
        raise InputError(
            f"{schedule.layer.name}: bias_words: expected at most the {hardware.bias_words} of hardware "
            f"{hardware.name}, got {schedule.bias_words}"
        )
    return hardware.bias_words


def _datapath(schedule: Schedule, hardware: Hardware | None) -> tuple[Lanes, int]:
    """Lanes of the HWC for 8-bit operands, and the widest operands that it computes with."""
    wide = schedule.bits.I == WIDE
    if hardware is None:
        return (schedule.lanes.doubled(), WIDE) if wide else (schedule.lanes, NARROW)
    where = schedule.layer.name
    if hardware.operand_bits < schedule.bits.I:
        raise InputError(f"{where}: bits: {hardware.titled} computes with {hardware.operand_bits} bits")
    lanes = hardware.lanes
    if lanes is None:
        lanes = schedule.lanes.doubled() if wide else schedule.lanes
    expected = lanes.halved() if wide else lanes
    if schedule.lanes != expected:
        got = schedule.lanes if schedule.lanes.product > 1 else "none"
        raise InputError(f"{where}: lanes: expected {expected} of {hardware.titled}, got {got}")
    return lanes, hardware.operand_bits
