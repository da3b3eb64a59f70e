"""What a layer needs of the settings of a hardware, and at least of its memories, whatever the schedule.

It is said before anything is searched. A bound, not the need: hardware that passes may still have no schedule that
fits.
"""

from collections.abc import Iterable
from math import prod

from hwgen.arch.lanes import memory_units
from hwgen.arch.requantisation import record_bytes
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import LANE_DIMS, WIDE, Lanes
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import ARRAYS, ArrayName, Bits, Loop, Marker, Schedule
from hwgen.model.nest.one_level import allocation
from hwgen.search.core.orders import TILED

__all__ = ["require_room"]


def require_room(layers: Iterable[Layer], hardware: Hardware, bits: Bits | None = None) -> None:
    """Raise `InputError` for a layer that no setting can tell or whose smallest tile does not fit, with the figures.

    ``bits`` : widths of the elements; 8-bit operands and 32-bit sums if left out.
    """
    bits = bits or Bits()
    for layer in layers:
        _settings(layer, hardware)
        if hardware.cluster is not None:
            _tcdm(layer, hardware, bits)
        refusals = []
        for lanes in [hardware.lanes] if hardware.lanes else Lanes.shapes(hardware.number_of_multipliers, LANE_DIMS):
            refusal = _memories(layer, hardware, lanes, bits)
            if refusal is None:
                break
            refusals.append(refusal)
        else:
            raise InputError(refusals[0])


def _settings(layer: Layer, hardware: Hardware) -> None:
    """The settings that the layer alone tells, which the hardware must have; a tile of a cluster has others."""
    if wrong := layer.beyond_the_hardware():
        raise InputError(f"{layer.name}: {wrong}")
    values = {"stride_y": layer.stride[0], "stride_x": layer.stride[1]}
    if hardware.cluster is None:
        values |= {
            "padding_top": layer.padding[0],
            "padding_left": layer.padding[1],
            "group_outputs": layer.outputs_per_group,
            "group_inputs": layer.channels_per_group,
            "input_height": layer.input_height,
            "input_width": layer.input_width,
            **{f"extent_{dim}": extent for dim, extent in layer.extents.items()},
        }
    constants, bits = hardware.constants or {}, hardware.setting_bits or {}
    for name, value in values.items():
        if constants.get(name, value) != value:
            raise InputError(f"{layer.name}: {name}: the hardware is fitted to {constants[name]}, got {value}")
        most = 1 << min(bits.get(name, hardware.position_bits), hardware.position_bits)
        if name not in constants and value >= most:
            raise InputError(f"{layer.name}: {name}: expected below {most}, as the hardware has it, got {value}")


def _tcdm(layer: Layer, hardware: Hardware, bits: Bits) -> None:
    """The shared memory holds all biases, and of each operand what one output needs."""
    assert hardware.cluster is not None
    rows, columns = (_window(layer, axis) for axis in (0, 1))
    needs = {
        "biases": record_bytes(hardware.requantisation) * layer.output_channels,
        "I": bits.bytes_of("I", rows * columns),
        "W": bits.bytes_of("W", prod(layer.weight_kernel)),
        "O": bits.bytes_of("O", 1),
    }
    together = sum(needs.values())
    if together > hardware.cluster.tcdm:
        said = ", ".join(f"{name} {size}" for name, size in needs.items())
        raise InputError(
            f"{layer.name}: the TCDM needs at least {together} bytes for its smallest tile ({said}), "
            f"it has {hardware.cluster.tcdm}"
        )


def _window(layer: Layer, axis: int) -> int:
    """Rows or columns of the input that an output reads, at most: without the padding."""
    extent = (layer.input_height, layer.input_width)[axis]
    outputs = (layer.output_height, layer.output_width)[axis]
    begins = (output * layer.stride[axis] - layer.padding[axis] for output in range(outputs))
    return max(min(begin + layer.kernel[axis], extent) - max(begin, 0) for begin in begins)


def _memories(layer: Layer, hardware: Hardware, lanes: Lanes, bits: Bits) -> str | None:
    """What is wrong with the memories of an HWC with these lanes; None if nothing is."""
    units = memory_units(lanes, hardware.operand_bits, hardware.ports)
    needs = dict(zip(ARRAYS, (2 * unit for unit in units), strict=True))
    extents = _least_extents(layer, hardware)
    covered = all(extent <= lanes.along(dim) or dim in (hardware.order or ()) for dim, extent in extents.items())
    if hardware.order is not None and covered and bits.I < WIDE:
        for array in ARRAYS:
            needs[array] = max(needs[array], allocation(_smallest(layer, hardware, lanes, array, bits))[array])
    if hardware.buffers is not None:
        for array, need in needs.items():
            if need > hardware.buffers[array]:
                whole = "" if hardware.cluster is None else " of a whole kernel"
                return (
                    f"{layer.name}: {array}: no schedule fits: the smallest tile{whole} needs {need} bytes with "
                    f"lanes {lanes}, {hardware.titled} has {hardware.buffers[array]}"
                )
        return None
    together = sum(needs.values())
    if together > hardware.budget:
        said = ", ".join(f"{array} {need}" for array, need in needs.items())
        return (
            f"{layer.name}: no schedule fits a buffer of {hardware.budget} bytes: the smallest tile needs {together} "
            f"({said}) with lanes {lanes}"
        )
    return None


def _least_extents(layer: Layer, hardware: Hardware) -> dict[Dim, int]:
    """What an HWC computes at the least: all of the layer; in a cluster a tile, of a channel and an output.

    No tile that is searched cuts the kernel.
    """
    if hardware.cluster is None:
        return dict(layer.extents)
    return {dim: 1 if dim in TILED else extent for dim, extent in layer.extents.items()}


def _smallest(layer: Layer, hardware: Hardware, lanes: Lanes, array: ArrayName, bits: Bits) -> Schedule:
    """The schedule in the hardware's order in which an operand's tile is as small as it can be.

    One iteration of every loop down to the marked one; all lanes at work below it. In a cluster it is that of a tile.
    """
    tile = () if hardware.cluster is None else TILED
    nest: list[Loop | Marker] = [Loop(dim, 1) for dim in tile]
    left, inside, marked = _least_extents(layer, hardware), False, False
    for item in hardware.order or ():
        if isinstance(item, Marker):
            marked |= array in item.arrays
            nest.append(item)
            continue
        left[item] = min(left[item], lanes.along(item)) if inside else 1
        inside |= marked
        nest.append(Loop(item, left[item]))
    return Schedule(
        layer=layer,
        bits=bits,
        nest=tuple(nest),
        lanes=lanes,
        ports=hardware.ports,
        requantisation=hardware.requantisation,
        lane_registers=hardware.lane_registers,
    )
