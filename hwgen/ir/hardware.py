"""The hardware that schedules run on: lanes, the loop order an HWC was built for, its local memories."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from hwgen.ir.document import InputError, Name, check_header, dump_yaml, validated, write_atomically, written
from hwgen.ir.keys import MaybePowerOfTwo, PowerOfTwo, Rule, Stated, Unset, Values
from hwgen.ir.lanes import LANE_DIMS, NARROW_PORTS, Lanes, LanesField, PortsField
from hwgen.ir.layer import DIMS, Dim
from hwgen.ir.level import LEVELS
from hwgen.ir.requantisation import RequantisationForm
from hwgen.ir.schedule import (
    ARRAYS,
    MOST_BIAS_WORDS,
    ArrayName,
    Marker,
    Schedule,
    check_markers,
    item_data,
    parse_item,
)

__all__ = [
    "BLOCK_BYTES",
    "MOST_HWCS",
    "MULTIPLIERS",
    "MULTIPLIER_NUMBERS",
    "VECTOR_ELEMENTS",
    "Cluster",
    "DmaCost",
    "Dram",
    "EnergyCost",
    "Hardware",
    "Order",
    "order_of",
    "order_text",
    "save_hardware",
]

Order = tuple[Dim | Marker, ...]
"""A nest without its steps: the loops' dimensions, outermost first, and the markers between them."""


def order_of(schedule: Schedule) -> Order:
    """The loop order and marker places of a schedule."""
    return tuple(item if isinstance(item, Marker) else item.dim for item in schedule.nest)


def order_text(order: Order | None) -> str | None:
    """An order as one word, such as ``myx[O]c[I]k[W]lmyx``; None stays None."""
    if order is None:
        return None
    return "".join(f"[{''.join(item.arrays)}]" if isinstance(item, Marker) else item for item in order)


BLOCK_BYTES = 128
"""Bytes that one access of the DRAM moves, at a multiple of them."""


class Dram(Stated):
    """The DRAM's timing in cycles of the cluster's clock, and its rows.

    Blocks are after Sousa 2022, who names open rows and leaves them out: rows are ours, and so is ``latency``.

    A block of 128 bytes takes ``block_cycles``; one in another row than the last one of its bank, ``miss_cycles``
    more. With ``access_cycles`` each block takes these first, and then of ``block_cycles`` the part of its beats that
    a burst moves, as Eq. 6 charges the CAS latency for each burst of 128 bytes and the transfer for each byte. Blocks
    come one after the other, so nothing overlaps. An address is answered after ``latency`` cycles at the earliest,
    which do overlap. All 0: a beat in every cycle.
    """

    called = "DRAM"

    latency: int = Field(default=0, ge=0, lt=1 << 16, description="cycles from an address to its first beat")
    miss_cycles: int = Field(default=0, ge=0, lt=1 << 16, description="cycles more of a block in another row")
    block_cycles: float = Field(default=0.0, ge=0, lt=1 << 8, description="cycles of a block of 128 bytes")
    access_cycles: float = Field(
        default=0.0, ge=0, lt=1 << 8, description="cycles before each block (CAS); of a part of it that part's beats"
    )
    row_bytes: PowerOfTwo = Field(default=2048, ge=BLOCK_BYTES, le=1 << 20, description="bytes of a row")
    banks: PowerOfTwo = Field(default=8, ge=1, le=16, description="banks, each with an open row")

    @property
    def immediate(self) -> bool:
        """Whether there is a beat in every cycle once an address is answered."""
        return self.miss_cycles == 0 and self.block_cycles == 0 and self.access_cycles == 0


class DmaCost(Stated):
    """Cycles of the DMA as `hwgen calibrate` finds them (Cecconi 2017, Eq. 1): for a transfer, a run, a byte."""

    called = "DMA's cost"

    transfer: float = Field(ge=0, description="cycles of a transfer")
    run: float = Field(ge=0, description="cycles of a run of consecutive addresses")
    byte: float = Field(ge=0, description="cycles of a byte")


class EnergyCost(Stated):
    """Energy of a byte that goes to or from the DRAM, the TCDM or a local buffer, and of a multiply-accumulate.

    In any unit; what is below a thousandth of it is not looked at.
    """

    called = "table of energies"

    dram: float = Field(ge=0, lt=1e6, description="energy of a byte of the DRAM")
    tcdm: float = Field(ge=0, lt=1e6, description="energy of a byte of the TCDM")
    local: float = Field(ge=0, lt=1e6, description="energy of a byte of a local buffer")
    mac: float = Field(ge=0, lt=1e6, description="energy of a multiply-accumulate")


def _at_most_7(cluster: "Cluster") -> str | None:
    full = cluster.vector and cluster.hwcs >= MOST_HWCS
    return f"hwcs: expected 1 to {MOST_HWCS - 1} beside a vector unit, got {cluster.hwcs}" if full else None


def _whole_words(cluster: "Cluster") -> str | None:
    line = 4 * cluster.banks
    wrong = cluster.tcdm % line
    return (
        f"tcdm: expected a multiple of {line} bytes for {cluster.banks} banks, got {cluster.tcdm}" if wrong else None
    )


def _elements_of_a_unit(cluster: "Cluster") -> str | None:
    if cluster.vector or cluster.vector_elements == 1:
        return None
    return f"vector_elements: expected 1 without a vector unit, got {cluster.vector_elements}"


VECTOR_ELEMENTS = (1, 2, 4, 8)
"""Elements that a vector unit may take in a cycle."""
MOST_HWCS = 8
"""HWCs of a cluster, or one fewer and a vector unit."""


class Cluster(Stated):
    """The HWCs that share one memory, that memory, and the DRAM; each key says what it is."""

    called = "cluster"

    hwcs: int = Field(default=4, ge=1, le=MOST_HWCS, description="HWCs")
    tcdm: int = Field(default=1 << 18, ge=1 << 10, le=1 << 20, description="bytes of the TCDM")
    banks: PowerOfTwo = Field(
        default=16, ge=2, le=64, description="banks of the TCDM, among which consecutive words are spread"
    )
    axi_bits: Literal[32, 64, 128] = Field(default=64, description="width of the port to the DRAM")
    multicast: bool = Field(
        default=False,
        description="HWCs that need the same words of I or W at the same place of their loops read them together, in "
        "one access of the TCDM; see [memory levels](semantics/memory-levels.md)",
    )
    vector: bool = Field(
        default=False,
        description="a [vector unit](architecture.md#vector-unit) for sums of feature maps, pools and tables works "
        "beside the HWCs",
    )
    vector_elements: Literal[1, 2, 4, 8] = Field(
        default=1,
        description="elements of a window that the vector unit takes in a cycle, at most. Of what has no window, as "
        "sums and tables, it makes 1, 2, 2 or 4 outputs. With 8 its ports have 64 bits, else 32",
    )
    dram: Annotated[Dram | None, Unset("a beat in every cycle")] = Field(
        default=None,
        description="the DRAM's timing, in cycles of the cluster's clock. All times 0: a beat in every cycle",
    )
    load: Annotated[DmaCost | None, Unset("not known")] = Field(
        default=None, description="what the DMA's loads cost, as `hwgen calibrate` measures it and writes it here"
    )
    store: Annotated[DmaCost | None, Unset("not known")] = Field(default=None, description="the same of its stores")
    energy: Annotated[EnergyCost | None, Unset("the table `yang_2016`")] = Field(
        default=None, description="energies in any unit, the weights of the objective `energy`"
    )

    rules = (
        Rule(("hwcs", "vector"), f"at most {MOST_HWCS - 1} `hwcs` beside a `vector` unit", _at_most_7),
        Rule(("vector_elements", "vector"), "1 without a `vector` unit", _elements_of_a_unit),
        Rule(("tcdm", "banks"), "`tcdm` is a multiple of a word in each of the `banks`", _whole_words),
    )


MULTIPLIERS = 16
"""Multipliers of a datapath if nothing else is asked for."""
MULTIPLIER_NUMBERS = tuple(1 << n for n in range(2, 9))
"""Multipliers that a datapath may have."""
ALONG_ROWS = Lanes(x=MULTIPLIERS)
"""The lanes of a cluster on which a single layer is searched that leaves them free."""


def _datapath_has(one: "Hardware") -> str | None:
    if one.lanes is None:
        return None
    if outside := one.lanes.outside(LANE_DIMS):
        return f"lanes: {outside[0]}: expected lanes along {', '.join(LANE_DIMS)}, as the datapath has them"
    return None


def _multipliers_agree(one: "Hardware") -> str | None:
    if one.multipliers is None or one.lanes is None or one.lanes.product == one.multipliers:
        return None
    return f"multipliers: expected {one.lanes.product} as lanes has, got {one.multipliers}"


def _multipliers_of_a_cluster(one: "Hardware") -> str | None:
    if one.cluster is None or one.lanes is not None or one.multipliers in (None, MULTIPLIERS):
        return None
    return f"multipliers: expected {MULTIPLIERS} in a cluster without lanes, got {one.multipliers}"


def _buffers_of_all(one: "Hardware") -> str | None:
    if one.buffers is None or set(one.buffers) == {"I", "W", "O"}:
        return None
    return "buffers: expected bytes for I, W and O"


def _buffers_in_budget(one: "Hardware") -> str | None:
    together = sum((one.buffers or {}).values())
    return f"buffers: expected at most {one.budget} bytes, got {together}" if together > one.budget else None


def _no_single_bias(one: "Hardware") -> str | None:
    if one.bias_words != 1:
        return None
    return f"bias_words: expected 0, or a power of two from 2 to {MOST_BIAS_WORDS}, got {one.bias_words}"


def _scales_bytes(one: "Hardware") -> str | None:
    if one.requantisation == "shift" or one.operand_bits == 8:
        return None
    return f"requantisation: expected shift with {one.operand_bits} operand_bits, got {one.requantisation}"


def _registers_of_bytes(one: "Hardware") -> str | None:
    if not one.lane_registers or one.operand_bits == 8:
        return None
    return f"lane_registers: expected false with {one.operand_bits} operand_bits, got true"


def _window_of_lanes(one: "Hardware") -> str | None:
    lanes = one.lanes
    if not one.column_window or (lanes and lanes.c > 1 and lanes.y == lanes.x == 1 and one.operand_bits == 8):
        return None
    return (
        "column_window: expected lanes along m and c alone, and operands of 8 bits, "
        f"got {one.operand_bits} bits and lanes {lanes or 'that are free'}"
    )


def _window_in_order(one: "Hardware") -> str | None:
    if not one.column_window:
        return None
    order = one.order or ()
    loops = [item for item in order if not isinstance(item, Marker)]
    inside = {
        array: [loop for loop in order[at:] if not isinstance(loop, Marker)]
        for at, item in enumerate(order)
        if isinstance(item, Marker)
        for array in item.arrays
    }
    marked = len(inside) == len(ARRAYS) and min(len(inside["I"]), len(inside["W"])) > 1
    if marked and loops[-1] == "x" and inside["I"].count("x") == 1 and inside["I"][0] not in ("x", "l"):
        return None
    return (
        "column_window: expected an order with all three markers, x innermost and not marked for I or W, "
        "and no other x, and no marked l, at the marker of I or inside"
    )


def _ports_in_banks(one: "Hardware") -> str | None:
    if one.cluster is None or one.ports.widest <= 32 * one.cluster.banks:
        return None
    return f"ports: expected at most {32 * one.cluster.banks} bits with {one.cluster.banks} banks, got {one.ports}"


def _settings_of_a_single_one(one: "Hardware") -> str | None:
    if one.cluster is None or not (one.read_back or one.second_settings):
        return None
    return "read_back and second_settings: expected neither in a cluster: its program writes settings"


class Hardware(Stated):
    """One HWC, or several of them in a cluster; each key says what it is.

    Without ``lanes``, ``order`` or ``buffers`` they are free: taken from the schedule that the HWC is generated for,
    the memories within ``budget`` bytes. Fitted hardware has ``constants`` in place of settings that its layers have
    alike, and as many ``setting_bits`` of others as they need.
    """

    called = "hardware file"

    name: Annotated[Name, Values("letters, digits and any of _ . + -")] = Field(
        default="hardware", description="a name"
    )
    lanes: Annotated[
        LanesField | None,
        Values("powers of two along m, c, y and x, 4 to 256 together"),
        Unset("free: that of the schedule; a search chooses it"),
    ] = Field(default=None, description="shape of the datapath, such as `{m: 4, x: 4}`")
    multipliers: Annotated[MaybePowerOfTwo, Unset("as many as `lanes` has, else 16")] = Field(
        default=None,
        ge=MULTIPLIER_NUMBERS[0],
        le=MULTIPLIER_NUMBERS[-1],
        description="lanes together where their shape is free",
    )
    budget: int = Field(default=1024, ge=1, le=1 << 24, description="bytes that the three memories may have together")
    buffers: Annotated[
        dict[ArrayName, Annotated[int, Field(ge=0)]] | None,
        Values("bytes for I, W and O"),
        Unset("free: as the schedule needs"),
    ] = Field(default=None, description="bytes of the `I`, `W` and `O` memory, fixed at generation")
    order: Annotated[
        Order | None,
        Values("a list of dimensions and markers, as in a nest without its steps"),
        Unset("free: that of the schedule"),
    ] = Field(default=None, description="the loop order and marker places that the HWC is generated for")
    operand_bits: Literal[8, 16] = Field(
        default=8,
        description="with 16, layers of 16-bit operands run, too, on half of the lanes: half of those along `c`, "
        "else along `x`, else `m`, else `y`",
    )
    bias_words: PowerOfTwo = Field(
        default=64,
        ge=0,
        le=MOST_BIAS_WORDS,
        description="biases that the HWC keeps, 32 bits each, beside the three memories. Schedules that are searched "
        "for the hardware keep as many",
    )
    ports: Annotated[PortsField, Values("32, 64, 128, 256 or 512 for I, W and O"), Unset("32 each")] = Field(
        default=NARROW_PORTS,
        description="bits that one access of the `I`, `W` and `O` port moves, each for itself, such as `{W: 128}`",
    )
    in_flight: int = Field(
        default=4,
        ge=1,
        le=13,
        description="cycles from a grant to its answer up to which each port makes an access in every cycle: two "
        "more accesses than that may be open",
    )
    position_bits: int = Field(
        default=16,
        ge=8,
        le=16,
        description="width of a coordinate: sizes of layers are below 2 to this power. `--fitted` finds the least "
        "for a layer set",
    )
    read_back: bool = Field(
        default=False, description="software can read the settings of a layer, which are write-only otherwise"
    )
    second_settings: bool = Field(
        default=False,
        description="software can write the settings of the next layer, and its start, while a layer runs",
    )
    block_ram: bool = Field(
        default=False,
        description="the memories of `I` and `W` read synchronously, so that large ones become block RAM: cycles are "
        "the same, the clock may be slower",
    )
    requantisation: RequantisationForm = Field(
        default="shift",
        description="`shift`: one shift for all output channels, ReLU, a ceiling. `scaled`: the arithmetic of "
        "[quantised networks](semantics/counts.md#scaled-sums), with a multiplier and a shift for each output "
        "channel and zero points",
    )
    requantisers: Literal[1, 2, 4] = Field(
        default=4,
        description="outputs of 8 bits that are made in a cycle, at most; never more than there are lanes along `x`. "
        "With `scaled` each takes two multipliers",
    )
    column_window: bool = Field(
        default=False,
        description="lanes along `c` can do the columns of the kernel of depthwise layers, which pass through a "
        "shift register for each channel",
    )
    lane_registers: bool = Field(
        default=False,
        description="the operand that the innermost loops do not move stays in [registers at the "
        "lanes](semantics/memory-levels.md#registers-at-the-lanes): the local memories are accessed only for another "
        "vector of it, and these accesses are predicted and counted",
    )
    constants: Annotated[
        dict[str, Annotated[int, Field(ge=0, lt=1 << 32)]] | None,
        Values("32-bit values by the name of a setting"),
        Unset("none"),
    ] = Field(
        default=None,
        description="of fitted hardware: settings that have this value in place of a register. `--fitted` finds them "
        "for a layer set; a layer that needs another value is refused",
    )
    setting_bits: Annotated[
        dict[str, Annotated[int, Field(ge=1, le=32)]] | None,
        Values("1 to 32 by the name of a setting"),
        Unset("none"),
    ] = Field(
        default=None,
        description="of fitted hardware: widths of registers that are narrower. Registers of addresses get 24 bits, "
        "unless a layer needs more: all operands are then in the first 16 MiB that the ports address, whose upper "
        "address bits are zero. With `setting_bits: {input_base: 32}` in the file all of them keep 32 bits",
    )
    cluster: Annotated[Cluster | None, Unset("a single HWC")] = Field(
        default=None, description="makes it a cluster, which schedules of two memory levels run on"
    )

    rules = (
        Rule(("lanes",), "along m, c, y and x", _datapath_has),
        Rule(("multipliers", "lanes"), "`multipliers` are as many as `lanes` has", _multipliers_agree),
        Rule(
            ("multipliers", "cluster"), "16 `multipliers` in a `cluster` without `lanes`", _multipliers_of_a_cluster
        ),
        Rule(("buffers",), "all three", _buffers_of_all),
        Rule(("buffers", "budget"), "`buffers` are within `budget`", _buffers_in_budget),
        Rule(("bias_words",), "not 1", _no_single_bias),
        Rule(("requantisation", "operand_bits"), "`scaled` with 8 `operand_bits` only", _scales_bytes),
        Rule(
            ("column_window", "lanes", "operand_bits"),
            "`column_window` with lanes along `m` and `c` alone, and 8 bits",
            _window_of_lanes,
        ),
        Rule(
            ("column_window", "order"),
            "`column_window` with `x` innermost, and no other one inside the loop of I, which is neither `x` nor `l`",
            _window_in_order,
        ),
        Rule(("lane_registers", "operand_bits"), "`lane_registers` with 8 `operand_bits` only", _registers_of_bytes),
        Rule(("ports", "cluster.banks"), "a port is as wide as all `banks` together, at most", _ports_in_banks),
        Rule(("read_back", "second_settings", "cluster"), "neither in a `cluster`", _settings_of_a_single_one),
    )

    @field_validator("order", mode="before")
    @classmethod
    def _parse_order(cls, order: Any) -> Any:
        if order is None:
            return None
        if not isinstance(order, list | tuple):
            raise ValueError(f"expected a list of dimensions and markers, got {written(order)}")
        return tuple(part for index, item in enumerate(order) for part in _order_items(item, index))

    @model_validator(mode="after")
    def _marked(self) -> Self:
        if self.order is not None:
            check_markers(self.order, "order")
        return self

    @property
    def number_of_multipliers(self) -> int:
        """Multiply-accumulates in one cycle."""
        return self.lanes.product if self.lanes is not None else self.multipliers or MULTIPLIERS

    @property
    def shape(self) -> Lanes:
        """The lanes; where they are free, along x in a cluster, else raises `InputError`."""
        if self.lanes is None and self.cluster is not None:
            return ALONG_ROWS
        if self.lanes is None:
            raise InputError(f"{self.titled}: lanes: expected a shape, such as {{x: 16}}")
        return self.lanes

    @property
    def titled(self) -> str:
        """What messages call it: without a name of its own just hardware."""
        return "hardware" if self.name == type(self).model_fields["name"].default else f"hardware {self.name}"

    def as_data(self) -> dict[str, Any]:
        """Plain data in the file format."""
        data = {"format": 1, "kind": "hardware", **self.model_dump(mode="json", exclude={"order"}, exclude_none=True)}
        for name in ("requantisation", "requantisers", "column_window", "lane_registers"):
            if data[name] == type(self).model_fields[name].default:
                del data[name]
        if self.cluster is not None and not self.cluster.vector:
            del data["cluster"]["vector"]
        if self.cluster is not None and self.cluster.vector_elements == 1:
            del data["cluster"]["vector_elements"]
        if self.order is not None:
            data["order"] = [item_data(item) if isinstance(item, Marker) else item for item in self.order]
        return data

    @classmethod
    def from_data(cls, data: object, where: str = "hardware") -> "Hardware":
        """Validate plain data; raises `InputError` with one line."""
        return validated(cls, check_header(data, ("hardware",), where, cls.called), where)


def _order_items(item: Any, index: int) -> tuple[Any, ...]:
    if isinstance(item, Marker) or item in DIMS:
        return (item,)
    if isinstance(item, Mapping) and "buffer" in item:
        markers = parse_item(item, index)
        for marker in markers:
            if isinstance(marker, Marker) and marker.level.name not in LEVELS:
                raise ValueError(
                    f"item {index}: buffer: expected the level {' or '.join(LEVELS)}, got {marker.level}"
                )
        return markers
    raise ValueError(f"item {index}: expected one of {' '.join(DIMS)} or a marker ('buffer: I'), got {written(item)}")


def save_hardware(hardware: Hardware, path: Path) -> bool:
    """Write one hardware file atomically; False if it was already there and equal."""
    return write_atomically(path, dump_yaml(hardware.as_data()))
