"""The hardware that schedules run on: lanes, the loop order an HWC was built for, its local memories."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from hwgen.ir.document import (
    InputError,
    Name,
    Value,
    check_header,
    dump_yaml,
    load_yaml,
    validated,
    write_atomically,
    written,
)
from hwgen.ir.lanes import LANE_DIMS, NARROW_PORTS, Lanes, LanesField, PortsField
from hwgen.ir.layer import DIMS, Dim
from hwgen.ir.level import LEVELS
from hwgen.ir.requantisation import RequantisationForm
from hwgen.ir.schedule import MOST_BIAS_WORDS, ArrayName, Marker, Schedule, check_markers, item_data, parse_item

__all__ = [
    "BLOCK_BYTES",
    "MULTIPLIERS",
    "MULTIPLIER_NUMBERS",
    "Cluster",
    "DmaCost",
    "Dram",
    "EnergyCost",
    "Hardware",
    "Order",
    "load_hardware",
    "order_of",
    "save_hardware",
]

Order = tuple[Dim | Marker, ...]
"""A nest without its steps: the loops' dimensions, outermost first, and the markers between them."""


def order_of(schedule: Schedule) -> Order:
    """The loop order and marker places of a schedule."""
    return tuple(item if isinstance(item, Marker) else item.dim for item in schedule.nest)


BLOCK_BYTES = 128
"""Bytes that one access of the DRAM moves, at a multiple of them."""


class Dram(Value):
    """The DRAM's timing in cycles of the cluster's clock, and its rows (as Sousa 2022 models bursts).

    A block of 128 bytes takes ``block_cycles``; one in another row than the last one of its bank, ``miss_cycles``
    more. An address is answered after ``latency`` cycles at the earliest. All 0: a beat in every cycle.
    """

    called = "DRAM"

    latency: int = Field(default=0, ge=0, lt=1 << 16)
    miss_cycles: int = Field(default=0, ge=0, lt=1 << 16)
    block_cycles: float = Field(default=0.0, ge=0, lt=1 << 8)
    row_bytes: int = Field(default=2048, ge=BLOCK_BYTES, le=1 << 20)
    banks: int = Field(default=8, ge=1, le=16)

    @model_validator(mode="after")
    def _powers(self) -> Self:
        for name in ("row_bytes", "banks"):
            if getattr(self, name) & (getattr(self, name) - 1):
                raise ValueError(f"{name}: expected a power of two, got {getattr(self, name)}")
        return self

    @property
    def immediate(self) -> bool:
        """Whether there is a beat in every cycle once an address is answered."""
        return self.miss_cycles == 0 and self.block_cycles == 0


class DmaCost(Value):
    """Cycles of the DMA as `hwgen calibrate` finds them (Cecconi 2017, Eq. 1): for a transfer, a run, a byte."""

    called = "DMA's cost"

    transfer: float = Field(ge=0)
    run: float = Field(ge=0)
    byte: float = Field(ge=0)


class EnergyCost(Value):
    """Energy of a byte that goes to or from the DRAM, the TCDM or a local buffer, and of a multiply-accumulate.

    In any unit; what is below a thousandth of it is not looked at.
    """

    called = "table of energies"

    dram: float = Field(ge=0, lt=1e6)
    tcdm: float = Field(ge=0, lt=1e6)
    local: float = Field(ge=0, lt=1e6)
    mac: float = Field(ge=0, lt=1e6)


class Cluster(Value):
    """The HWCs that share one memory, that memory, and the DRAM.

    ``tcdm`` is the size of the shared memory in bytes, ``banks`` the number of its word-interleaved banks;
    ``axi_bits`` is the width of the port to the DRAM. With ``multicast``, one read of the shared memory serves all
    HWCs that need the same words of I or W at the same place of their loops. With ``vector`` there is a vector unit,
    for sums of maps, pools and tables, beside the HWCs: 7 of them at most. ``dram`` is the timing of the DRAM,
    ``load`` and ``store`` are the parameters that `hwgen calibrate` measured with it, ``energy`` the weights of the
    objective energy.
    """

    called = "cluster"

    hwcs: int = Field(default=4, ge=1, le=8)
    tcdm: int = Field(default=1 << 18, ge=1 << 10, le=1 << 20)
    banks: int = Field(default=16, ge=1, le=64)
    axi_bits: Literal[32, 64, 128] = 64
    multicast: bool = False
    vector: bool = False
    dram: Dram | None = None
    load: DmaCost | None = None
    store: DmaCost | None = None
    energy: EnergyCost | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.banks & (self.banks - 1):
            raise ValueError(f"banks: expected a power of two, got {self.banks}")
        if self.vector and self.hwcs >= 8:
            raise ValueError(f"hwcs: expected 1 to 7 beside a vector unit, got {self.hwcs}")
        if self.tcdm % (4 * self.banks):
            raise ValueError(f"tcdm: expected a multiple of {4 * self.banks} bytes for {self.banks} banks")
        return self


MULTIPLIERS = 16
"""Multipliers of a datapath if nothing else is asked for."""
MULTIPLIER_NUMBERS = tuple(1 << n for n in range(2, 9))
"""Multipliers that a datapath may have."""
ALONG_ROWS = Lanes(x=MULTIPLIERS)
"""The lanes of a cluster on which a single layer is searched that leaves them free."""


class Hardware(Value):
    """One HWC, or several of them in a cluster.

    ``lanes`` is the datapath's shape; where it is free, ``multipliers`` is how many there are (16 if it is absent).
    ``buffers`` the bytes of the I, W and O memories (fixed at generation),
    ``order`` the loop order and marker places it was generated for. Without ``lanes``, ``order`` or ``buffers`` they
    are free: taken from the schedule that the HWC is generated for, the memories within ``budget`` bytes.
    ``bias_words`` biases are kept beside them: a power of two, or none; with 64 nearly every network's biases are
    below 1 % of its traffic, for memories up to 16 KiB. ``ports`` are the widths of the ports to the shared memory,
    which make an access in every cycle if it answers within ``in_flight`` cycles.
    Sizes of its layers are below ``2 ** position_bits``. With 16 ``operand_bits`` it runs layers of 16-bit operands
    too, on half of the lanes: along c, else along x, else along m, else along y. With ``read_back``
    software can read the settings of a layer, with ``second_settings`` write those of the next one while one runs.
    With ``block_ram`` the memories of I and W read synchronously. With ``requantisation: scaled`` each output channel
    has a multiplier and a shift of its own, which come with its bias, and inputs and outputs have zero points. At
    most ``requantisers`` outputs of 8 bits are made in a cycle.
    Fitted hardware has ``constants`` in place of settings that its layers have alike, and as many ``setting_bits`` of
    others as they need. With ``cluster`` it is what schedules of two memory levels run on.
    """

    called = "hardware file"

    name: Name
    lanes: LanesField | None = None
    multipliers: int | None = None
    budget: int = Field(default=1024, ge=1, le=1 << 24)
    buffers: dict[ArrayName, Annotated[int, Field(ge=0)]] | None = None
    order: Order | None = None
    operand_bits: Literal[8, 16] = 8
    bias_words: int = Field(default=64, ge=0, le=MOST_BIAS_WORDS)
    ports: PortsField = NARROW_PORTS
    in_flight: int = Field(default=4, ge=1, le=13)
    position_bits: int = Field(default=16, ge=8, le=16)
    read_back: bool = False
    second_settings: bool = False
    block_ram: bool = False
    requantisation: RequantisationForm = "shift"
    requantisers: Literal[1, 2, 4] = 4
    constants: dict[str, Annotated[int, Field(ge=0, lt=1 << 32)]] | None = None
    setting_bits: dict[str, Annotated[int, Field(ge=1, le=32)]] | None = None
    cluster: Cluster | None = None

    @field_validator("order", mode="before")
    @classmethod
    def _parse_order(cls, order: Any) -> Any:
        if order is None:
            return None
        if not isinstance(order, list | tuple):
            raise ValueError(f"expected a list of dimensions and markers, got {written(order)}")
        return tuple(part for index, item in enumerate(order) for part in _order_items(item, index))

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        outside = () if self.lanes is None else self.lanes.outside(LANE_DIMS)
        if outside:
            raise ValueError(
                f"lanes: {outside[0]}: expected lanes along {', '.join(LANE_DIMS)}, as the datapath has them"
            )
        if self.multipliers is not None:
            if self.multipliers not in MULTIPLIER_NUMBERS:
                raise ValueError(f"multipliers: expected a power of two from 4 to 256, got {self.multipliers}")
            if self.lanes is not None and self.lanes.product != self.multipliers:
                raise ValueError(f"multipliers: expected {self.lanes.product} as lanes has, got {self.multipliers}")
            if self.cluster is not None and self.multipliers != MULTIPLIERS:
                raise ValueError(
                    f"multipliers: expected {MULTIPLIERS} in a cluster without lanes, got {self.multipliers}"
                )
        if self.order is not None:
            check_markers(self.order, "order")
        if self.buffers is not None:
            if set(self.buffers) != {"I", "W", "O"}:
                raise ValueError("buffers: expected bytes for I, W and O")
            if sum(self.buffers.values()) > self.budget:
                raise ValueError(f"buffers: expected at most {self.budget} bytes, got {sum(self.buffers.values())}")
        if self.bias_words & (self.bias_words - 1) or self.bias_words == 1:
            raise ValueError(
                f"bias_words: expected 0, or a power of two from 2 to {MOST_BIAS_WORDS}, got {self.bias_words}"
            )
        if self.requantisation == "scaled" and self.operand_bits != 8:
            raise ValueError(f"requantisation: expected shift with {self.operand_bits} operand_bits, got scaled")
        if self.cluster is not None and self.ports.widest > 32 * self.cluster.banks:
            raise ValueError(
                f"ports: expected at most {32 * self.cluster.banks} bits with {self.cluster.banks} banks, "
                f"got {self.ports}"
            )
        if self.cluster is not None and (self.read_back or self.second_settings):
            raise ValueError(
                "read_back and second_settings: expected neither in a cluster: its program writes settings"
            )
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
            raise InputError(f"hardware {self.name}: lanes: expected a shape, such as {{x: 16}}")
        return self.lanes

    def as_data(self) -> dict[str, Any]:
        """Plain data in the file format."""
        data = {"format": 1, "kind": "hardware", **self.model_dump(mode="json", exclude={"order"}, exclude_none=True)}
        for name in ("requantisation", "requantisers"):
            if data[name] == type(self).model_fields[name].default:
                del data[name]
        if self.cluster is not None and not self.cluster.vector:
            del data["cluster"]["vector"]
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


def load_hardware(path: Path) -> Hardware:
    """Read one hardware file."""
    return Hardware.from_data(load_yaml(path), str(path))


def save_hardware(hardware: Hardware, path: Path) -> bool:
    """Write one hardware file atomically; False if it was already there and equal."""
    return write_atomically(path, dump_yaml(hardware.as_data()))
