"""What the host program loads and compares, beside the document that says where: ``board.json`` and its files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.layout import Region
from hwgen.arch.registers.cluster import cluster_registers
from hwgen.arch.registers.control import Control, Status
from hwgen.arch.serial import DESIGN_IDENTITY, DESIGN_WORDS, Ask, Room, Told
from hwgen.export.board.design import BoardParameters, design_digest
from hwgen.ir.document import json_text
from hwgen.lower.system.networks import PlacedProgram

__all__ = ["FACTS", "HOST", "BoardMap", "BoardProgram", "host_files"]

HOST = "run.py"
"""The host program, as it is beside the bitstream."""
FACTS = "board.json"
REGISTERS = ("control", "status", "cycles", "fault_address")


@dataclass(frozen=True)
class BoardMap:
    """A map of int8 that the host stores before a program or reads after it.

    Members
    -------
    name : the tensor's.
    region : where it is in the memory.
    scale, zero_point : a byte b stands for scale * (b - zero_point).
    classes : it is one row of numbers, the largest of which is the answer.
    contents : its bytes, of each image.
    elements : of the map, which are more or fewer than its bytes where it is laid out.
    places : of an input that is laid out for its layer: the element of the map that each byte is, -1 for `padding`.
        None: the bytes are the elements.
    padding : the byte that stands for what is not in the map.
    """

    name: str
    region: Region
    scale: float
    zero_point: int
    classes: bool
    contents: tuple[bytes, ...]
    elements: int
    places: bytes | None = None
    padding: int = 0

    def as_data(self) -> dict[str, object]:
        """Plain data, without the contents."""
        return {
            "name": self.name,
            "base": self.region.base,
            "bytes": self.region.size,
            "scale": self.scale,
            "zero_point": self.zero_point,
            "classes": self.classes,
            "elements": self.elements,
            "padding": self.padding,
        }


@dataclass(frozen=True, eq=False)
class BoardProgram:
    """A program of the network: what it reads and makes, and the cycles that are predicted."""

    name: str
    program: PlacedProgram
    inputs: tuple[BoardMap, ...]
    outputs: tuple[BoardMap, ...]
    cycles: int


def host_files(
    parameters: BoardParameters,
    programs: Sequence[BoardProgram],
    weights: bytes,
    facts: Mapping[str, object],
    *,
    count: int,
    baud: float,
) -> dict[str, str | bytes]:
    """The host program, its document and the bytes that it loads and compares, by name.

    ``facts`` : what else the document says: network, board, clock. ``count`` : of the images.
    """
    files: dict[str, str | bytes] = {HOST: (Path(__file__).with_name(HOST)).read_text(encoding="utf-8")}
    load = [("weights", Region(0, len(weights)), weights)]
    for one in programs:
        words = one.program.words.astype("<u4").tobytes()
        load.append((one.name, Region(one.program.address, len(words)), words))
    files |= {f"data/{name}.load.bin": content for name, _, content in load}
    files |= {
        _places(one, number): each.places
        for one in programs
        for number, each in enumerate(one.inputs)
        if each.places is not None
    }
    images = []
    for image in range(count):
        entries = []
        for at, one in enumerate(programs):
            entry: dict[str, list[str]] = {}
            for way, maps in (("inputs", one.inputs), ("outputs", one.outputs)):
                names = [f"data/image{image}/{at}.{way}.{number}.bin" for number in range(len(maps))]
                files |= {name: each.contents[image] for name, each in zip(names, maps, strict=True)}
                entry[way] = names
            entries.append(entry)
        images.append(entries)
    addresses = cluster_registers(parameters.cluster).addresses
    design = dict(
        zip(DESIGN_WORDS, (DESIGN_IDENTITY, design_digest(parameters), parameters.memory_bytes), strict=True)
    )
    document: dict[str, Any] = {
        "format": 1,
        "kind": "board",
        **facts,
        "line": {
            "baud": round(baud),
            "read": Ask.READ,
            "write": Ask.WRITE,
            "done": Told.DONE,
            "registers": Room.REGISTERS.base,
            "design": Room.DESIGN.base,
        },
        "design": design,
        "registers": {name: addresses[name] for name in REGISTERS},
        "control": {"start": Control.START, "clear": Control.CLEAR},
        "status": {"done": Status.DONE, "failed": Status.FAILED},
        "load": [
            {"file": f"data/{name}.load.bin", "base": region.base, "bytes": region.size} for name, region, _ in load
        ],
        "programs": [
            {
                "name": one.name,
                "settings": [[addresses[name], value] for name, value in one.program.settings.items()],
                "words": len(one.program.words),
                "address": one.program.address,
                "end": one.program.address + WORD_BYTES * len(one.program.words),
                "cycles": one.cycles,
                "inputs": [
                    {**each.as_data(), "places": None if each.places is None else _places(one, number)}
                    for number, each in enumerate(one.inputs)
                ],
                "outputs": [each.as_data() for each in one.outputs],
            }
            for one in programs
        ],
        "images": images,
    }
    return files | {FACTS: json_text(document, indent=2)}


def _places(program: BoardProgram, number: int) -> str:
    """The file that says how an input is laid out: 32 bits with a sign for each byte."""
    return f"data/{program.name}.places.{number}.bin"
