"""Generation parameters of hardware of which a file leaves some to the schedule: what is assumed in their place."""

from collections.abc import Mapping

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.hwc import REDUCTION, HwcParameters
from hwgen.arch.lanes import LANES, memory_units
from hwgen.arch.parameter_error import ParameterError
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware, Order
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Dim
from hwgen.ir.schedule import ARRAYS, ArrayName, Marker

__all__ = ["USUAL_ORDER", "assumed_buffers", "cluster_of", "hwc_of"]

USUAL_ORDER: Order = (
    "m", "y", "x", Marker(("O",)), "c", Marker(("I",)), "k", Marker(("W",)), "l", "m", "y", "x",
)  # fmt: skip
"""The order that is assumed where a file has none: that of most built-in hardware."""
SHARES: dict[ArrayName, float] = {"I": 0.25, "W": 0.125}
"""Parts of a budget that I and W are assumed to have, as in most built-in hardware; O has the rest."""


def assumed_buffers(
    lanes: Lanes, budget: int, operand_bits: int = 8, units: tuple[int, int, int] | None = None
) -> dict[ArrayName, int]:
    """Bytes of I, W and O for a budget: a quarter, an eighth and the rest, in whole units of each memory.

    Each has at least two units, even where the budget has no room for them.
    """
    unit = dict(zip(ARRAYS, units or memory_units(lanes, operand_bits), strict=True))
    found = {array: max(2, int(budget * SHARES[array]) // unit[array]) * unit[array] for array in SHARES}
    return {**found, "O": max(2, (budget - sum(found.values())) // unit["O"]) * unit["O"]}


def hwc_of(
    hardware: Hardware,
    *,
    lanes: Lanes | None = None,
    buffers: Mapping[ArrayName, int] | None = None,
    order: Order | None = None,
) -> HwcParameters:
    """The HWC of a hardware file, or each of its cluster's.

    Parameters
    ----------
    hardware : one HWC or a cluster.
    lanes, buffers, order : what the file leaves free. Without them lanes along x, `assumed_buffers`, `USUAL_ORDER`.

    Raises `InputError` where no HWC can be made of it.
    """
    shape = hardware.lanes or lanes or Lanes(x=hardware.multipliers or LANES)
    units = memory_units(shape, hardware.operand_bits, hardware.ports)
    sizes = hardware.buffers or buffers or assumed_buffers(shape, hardware.budget, units=units)
    loops, markers = _with_output_at_reduction(hardware.order or order or USUAL_ORDER)
    try:
        return HwcParameters(
            loops=loops,
            input_marker=markers["I"],
            weight_marker=markers["W"],
            output_marker=markers["O"],
            input_bytes=sizes["I"],
            weight_bytes=sizes["W"],
            output_bytes=sizes["O"],
            lanes=shape,
            operand_bits=hardware.operand_bits,
            position_bits=hardware.position_bits,
            bias_words=hardware.bias_words,
            ports=hardware.ports,
            in_flight=hardware.in_flight,
            cluster=hardware.cluster is not None,
            read_back=hardware.read_back,
            second_settings=hardware.second_settings,
            block_ram=hardware.block_ram,
            scaled=hardware.requantisation == "scaled",
            most_requantisers=hardware.requantisers,
            column_window=hardware.column_window,
            lane_registers=hardware.lane_registers,
            constants=tuple(sorted((hardware.constants or {}).items())),
            setting_bits=tuple(sorted((hardware.setting_bits or {}).items())),
        )
    except ParameterError as error:
        raise InputError(f"{hardware.titled}: {error}") from None


def cluster_of(hardware: Hardware, hwc: HwcParameters) -> ClusterParameters:
    """The cluster of a hardware file, of such HWCs; raises `InputError`."""
    one = hardware.cluster
    if one is None:
        raise InputError(f"{hardware.titled}: expected a cluster")
    try:
        return ClusterParameters(
            hwc, one.hwcs, one.tcdm, one.banks, one.axi_bits, one.multicast,
            vector=one.vector, vector_elements=one.vector_elements,
        )  # fmt: skip
    except ParameterError as error:
        raise InputError(f"{hardware.titled}: {error}") from None


def _with_output_at_reduction(order: Order) -> tuple[tuple[Dim, ...], dict[ArrayName, int]]:
    """Loops, and the index of the loop at each operand's marker; O's is above a reduction loop, as the HWC has it.

    Above a loop over m, y or x the marker means as much as one right inside; where no reduction loop stands there,
    one of a single iteration does, over c.
    """
    given = [item for item in order if not isinstance(item, Marker)]
    loops: list[Dim] = []
    markers: dict[ArrayName, int] = {}
    place = 0
    for item in order:
        if isinstance(item, Marker):
            markers |= dict.fromkeys(item.arrays, len(loops))
            continue
        loops.append(item)
        place += 1
        if markers.get("O") == len(loops) - 1 and item not in REDUCTION:
            markers["O"] = len(loops)
            if place == len(given) or given[place] not in REDUCTION:
                loops.append("c")
    return tuple(loops), {array: markers.get(array, len(loops)) for array in ARRAYS}
