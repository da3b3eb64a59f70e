#!/usr/bin/env python3
"""Runs the network on the board: loads it over the serial line, gives it images, compares what it answers.

    python run.py /dev/ttyUSB0                 # the images that the design was built with
    python run.py /dev/ttyUSB0 --input map.bin # another one: the elements of the input map (int8), channel by channel

Needs nothing but Python and pyserial (``pip install pyserial``), and the files beside it. Exit status 0: every output
is the expected one; 1: one is not; 2: the board, or a file, is not as it should be.
"""

import argparse
import json
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

__all__ = ["Board", "BoardError", "Outcome", "Port", "load", "main", "runs"]

CHUNK_WORDS = 1024
"""Words of a request, at most: 4 KiB, well below what a host's driver holds."""
BREAK_SECONDS = 0.05
PATIENCE = 10.0
"""Seconds that a byte may take to come."""
RUN_SECONDS = 600.0
"""Seconds that a program may take."""


class BoardError(RuntimeError):
    """The board does not answer, or not as it should; in one line."""


class Port(Protocol):
    """What is used of a serial port: of pyserial's, or of a simulated one."""

    def write(self, data: bytes) -> object: ...

    def read(self, size: int) -> bytes:
        """Bytes that have come, of this number; fewer where the time is up."""
        ...

    def send_break(self, duration: float) -> None: ...

    def reset_input_buffer(self) -> None: ...


class Board:
    """The memory and the registers of the design, word by word, over a serial port.

    ``facts`` : the document ``board.json``.
    """

    def __init__(self, port: Port, facts: dict[str, Any]) -> None:
        self._port, self._facts = port, facts
        self._line = facts["line"]

    def connect(self) -> None:
        """Have the design forget what another program has begun, and see that it is the one of this folder."""
        self._port.send_break(BREAK_SECONDS)
        self._port.reset_input_buffer()
        wanted = self._facts["design"]
        found = self._read(self._line["design"], len(wanted))
        for (name, value), other in zip(wanted.items(), found, strict=True):
            if value != other:
                what = "another design is on the board" if name != "identity" else "no design of hwgen answers"
                raise BoardError(f"{what}: {name}: expected {value:#x}, got {other:#x}: load the bitstream first")

    def store(self, address: int, content: bytes) -> None:
        """Write bytes to the memory, from any address on."""
        begin, end = address & ~3, -(-(address + len(content)) // 4) * 4
        if begin != address or end != address + len(content):
            whole = bytearray(self.fetch(begin, end - begin))
            whole[address - begin : address - begin + len(content)] = content
            content = bytes(whole)
        for at in range(0, len(content), 4 * CHUNK_WORDS):
            self._write(begin + at, content[at : at + 4 * CHUNK_WORDS])

    def fetch(self, address: int, size: int) -> bytes:
        """Read bytes of the memory, from any address on."""
        begin, end = address & ~3, -(-(address + size) // 4) * 4
        found = bytearray()
        for at in range(begin, end, 4 * CHUNK_WORDS):
            words = self._read(at, min(CHUNK_WORDS, (end - at) // 4))
            found += struct.pack(f"<{len(words)}I", *words)
        return bytes(found[address - begin : address - begin + size])

    def set(self, address: int, value: int) -> None:
        """Write a register."""
        self._write(self._line["registers"] + address, struct.pack("<I", value))

    def get(self, address: int) -> int:
        """Read a register."""
        return self._read(self._line["registers"] + address, 1)[0]

    def _write(self, address: int, words: bytes) -> None:
        self._port.write(struct.pack("<BIH", self._line["write"], address, len(words) // 4) + words)
        self._ended(address, words, self._exactly(2))

    def _read(self, address: int, count: int) -> Sequence[int]:
        self._port.write(struct.pack("<BIH", self._line["read"], address, count))
        answer = self._exactly(4 * count + 2)
        self._ended(address, answer[:-2], answer[-2:])
        return struct.unpack(f"<{count}I", answer[:-2])

    def _exactly(self, size: int) -> bytes:
        found = self._port.read(size)
        if len(found) != size:
            raise BoardError(f"the board does not answer: expected {size} bytes, got {len(found)}")
        return found

    def _ended(self, address: int, words: bytes, answer: bytes) -> None:
        if answer[0] != self._line["done"]:
            raise BoardError(f"address {address:#x}: the board refuses it (answer {answer[0]:#x})")
        if answer[1] != sum(words) & 0xFF:
            raise BoardError(f"address {address:#x}: bytes were lost or changed on the line")


class Outcome:
    """What came of one program and one image.

    Members
    -------
    image, program : their numbers.
    cycles : of the clock, from the start to the end of the program.
    outputs : its bytes, by name.
    different : bytes that are not the expected ones, by name; none where nothing was expected.
    """

    def __init__(self, image: int, program: int, cycles: int, outputs: dict[str, bytes], different: dict[str, int]):
        self.image, self.program, self.cycles = image, program, cycles
        self.outputs, self.different = outputs, different


def load(board: Board, folder: Path, facts: dict[str, Any]) -> int:
    """Store weights and programs; returns their bytes."""
    total = 0
    for one in facts["load"]:
        content = (folder / one["file"]).read_bytes()
        board.store(one["base"], content)
        total += len(content)
    return total


def runs(board: Board, folder: Path, facts: dict[str, Any], given: bytes | None = None) -> Iterator[Outcome]:
    """Run every program on every image, one after the other; ``given``: the one input of the one program instead."""
    images = facts["images"] if given is None else [[{"inputs": [], "outputs": []}]]
    for number, image in enumerate(images):
        for at, (program, files) in enumerate(zip(facts["programs"], image, strict=True)):
            for place, file in zip(program["inputs"], files["inputs"], strict=given is None):
                board.store(place["base"], (folder / file).read_bytes())
            if given is not None:
                board.store(program["inputs"][0]["base"], given)
            cycles = _run(board, facts, program)
            outputs = {one["name"]: board.fetch(one["base"], one["bytes"]) for one in program["outputs"]}
            expected = dict(zip(outputs, [(folder / file).read_bytes() for file in files["outputs"]], strict=False))
            different = {
                name: sum(a != b for a, b in zip(outputs[name], wanted, strict=True))
                for name, wanted in expected.items()
            }
            yield Outcome(number, at, cycles, outputs, different)


def _run(board: Board, facts: dict[str, Any], program: dict[str, Any]) -> int:
    """Start a program and wait for its end; the cycles that it took."""
    registers, control, status = facts["registers"], facts["control"], facts["status"]
    board.set(registers["control"], control["clear"])
    for address, value in program["settings"]:
        board.set(address, value)
    board.set(registers["control"], control["start"])
    began = time.monotonic()
    while True:
        found = board.get(registers["status"])
        if found & (status["done"] | status["failed"]):
            break
        if time.monotonic() - began > RUN_SECONDS:
            raise BoardError(f"{program['name']}: the program does not end")
    cycles = board.get(registers["cycles"])
    if found & status["failed"]:
        at = board.get(registers["fault_address"])
        raise BoardError(f"{program['name']}: the program failed: status {found:#x}, address {at:#x}")
    board.set(registers["control"], control["clear"])
    return cycles


def _answer(program: dict[str, Any], outcome: Outcome) -> str:
    """What the outputs say: the class of an output that is a row of numbers, and its value."""
    found = []
    for one in program["outputs"]:
        values = struct.unpack(f"<{one['bytes']}b", outcome.outputs[one["name"]])
        if one["classes"]:
            best = max(range(len(values)), key=values.__getitem__)
            number = one["scale"] * (values[best] - one["zero_point"])
            found.append(f"{one['name']}: class {best} ({number:.4g})")
    return "; ".join(found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for on a board; the exit status."""
    folder = Path(__file__).resolve().parent
    facts = json.loads((folder / "board.json").read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(description=f"Runs {facts['network']} on {facts['board']}.")
    parser.add_argument("port", help="serial port of the board, such as /dev/ttyUSB0 or COM3")
    parser.add_argument("--input", type=Path, help="elements of the input map: int8, channel by channel")
    chosen = parser.parse_args(arguments)
    try:
        given = None if chosen.input is None else _given(chosen.input, folder, facts)
        with _serial(chosen.port, facts["line"]["baud"]) as port:
            return _all(Board(port, facts), folder, facts, given)
    except (BoardError, OSError) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2


def _given(file: Path, folder: Path, facts: dict[str, Any]) -> bytes:
    """The input of a file, as it is stored: where the map is laid out for its layer, copies of its elements."""
    inputs = [one for program in facts["programs"] for one in program["inputs"]]
    if len(facts["programs"]) != 1 or len(inputs) != 1:
        raise BoardError("--input: this network takes more than one map: use hwgen build --input instead")
    content, place = file.read_bytes(), inputs[0]
    if len(content) != place["elements"]:
        raise BoardError(f"{file}: expected {place['elements']} bytes, got {len(content)}")
    if place["places"] is None:
        return content
    places = struct.unpack(f"<{place['bytes']}i", (folder / place["places"]).read_bytes())
    padding = place["padding"] & 0xFF
    return bytes(padding if at < 0 else content[at] for at in places)


def _serial(name: str, baud: int) -> Any:
    try:
        serial = import_module("serial")
    except ImportError:
        raise BoardError("pyserial is missing (pip install pyserial)") from None
    return serial.Serial(name, baud, timeout=PATIENCE)


def _all(board: Board, folder: Path, facts: dict[str, Any], given: bytes | None) -> int:
    board.connect()
    began = time.monotonic()
    size = load(board, folder, facts)
    print(f"{facts['network']}: {size:,} bytes of weights and program loaded in {time.monotonic() - began:.1f} s")
    wrong = compared = 0
    for one in runs(board, folder, facts, given):
        program = facts["programs"][one.program]
        different = sum(one.different.values())
        wrong, compared = wrong + different, compared + len(one.different)
        said = "as expected" if one.different else "no expected output"
        said = f"{different} bytes differ" if different else said
        took = one.cycles / facts["clock_mhz"] / 1e3
        answer = _answer(program, one)
        print(
            f"image {one.image}, {program['name']}: {one.cycles:,} cycles ({program['cycles']:,} predicted), "
            f"{took:.2f} ms; {answer + '; ' if answer else ''}{said}"
        )
    if compared:
        print("every output is the expected one" if not wrong else f"NOT EQUAL: {wrong} bytes differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
