"""Words of 32 bits on a wide port: what is joined, what is split, and how many accesses that takes."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from hwgen.arch.hwc import HwcParameters
from hwgen.gateware.hwc.output.wide_words import WideWords
from hwgen.ir.lanes import Lanes, Ports
from tests.gateware.simulate import simulate

LINES = 4


@dataclass(frozen=True)
class Word:
    """A word of 32 bits, and its place in the row."""

    address: int
    line: int
    left: int
    begins: bool
    ends: bool


def rows(rng: Random) -> Iterator[list[Word]]:
    """Rows of four lines, moved in pieces of up to four words: a piece of each line after the other."""
    for _ in range(12):
        begin, sizes = rng.randrange(12), [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
        words = []
        for piece, size in enumerate(sizes):
            for line in range(LINES):
                for i in range(size):
                    ends = piece == len(sizes) - 1 and i == size - 1
                    words.append(Word(128 * line + 4 * (begin + i), line, size - i, i == 0, ends))
            begin += size
        yield words


def accesses(words: list[Word], port: int, *, write: bool) -> int:
    """Words of the port: of a whole row of a line if it is written, else of each piece of it."""
    pieces, number = set(), 0
    for word in words:
        number += word.begins and not write
        pieces.add((number, word.address // port))
    return len(pieces)


@pytest.mark.parametrize("write", [False, True], ids=["reads", "writes"])
@pytest.mark.parametrize("width", [64, 512])
def test_words_are_joined_and_split(width: int, write: bool) -> None:
    parameters = HwcParameters(
        loops=("m", "y", "x", "c", "k", "l"), input_marker=3, weight_marker=3, output_marker=3, input_bytes=128,
        weight_bytes=128, output_bytes=1024, lanes=Lanes(m=2, y=2, x=4), ports=Ports(O=width),
    )  # fmt: skip
    dut, rng, port = WideWords(parameters), Random(width), width // 8
    memory = bytearray(rng.randbytes(1024))
    expected, found, counted = bytearray(memory), [], 0
    all_rows = list(rows(rng))
    words = [word for row in all_rows for word in row]
    values = [rng.getrandbits(32) for _ in words]

    async def bench(ctx: Any) -> None:
        nonlocal counted
        given, asked, at, idle = dut.i_request, dut.o_request, 0, 0
        answers: deque[tuple[int, int]] = deque()
        while idle < 20:
            offers = at < len(words) and rng.random() < 0.8
            if offers:
                word = words[at]
                payload = {"address": word.address, "write": write, "enable": 15, "data": values[at]}
                ctx.set(given.payload, payload)
                for name in ("line", "left", "begins", "ends"):
                    ctx.set(getattr(dut.place, name), getattr(word, name))
            ctx.set(given.valid, offers)
            ctx.set(asked.ready, rng.random() < 0.7)
            answered = bool(answers) and answers[0][0] < 0
            ctx.set(dut.i_response.valid, answered)
            ctx.set(dut.i_response.data, answers.popleft()[1] if answered else rng.getrandbits(width))
            answers = deque((wait - 1, value) for wait, value in answers)
            if ctx.get(dut.o_response.valid):
                found.append(ctx.get(dut.o_response.data))
            if ctx.get(asked.valid) and ctx.get(asked.ready):
                counted += 1
                first, enable = ctx.get(asked.payload.address), ctx.get(asked.payload.enable)
                assert first % port == 0
                bytes_ = ctx.get(asked.payload.data).to_bytes(port, "little")
                for byte in range(port):
                    if write and enable >> byte & 1:
                        memory[first + byte] = bytes_[byte]
                marked = bytes(
                    memory[first + i] if enable >> i & 1 else rng.randrange(256) for i in range(port)
                )  # what is not marked may be anything
                if not write:
                    answers.append((rng.randrange(4), int.from_bytes(marked, "little")))
            at += bool(offers and ctx.get(given.ready))
            idle = 0 if at < len(words) or answers else idle + 1
            await ctx.tick()

    simulate(dut, bench)
    if write:
        for word, value in zip(words, values, strict=True):
            expected[word.address : word.address + 4] = value.to_bytes(4, "little")
        assert memory == expected
    else:
        assert found == [int.from_bytes(memory[word.address : word.address + 4], "little") for word in words]
    assert counted == sum(accesses(row, port, write=write) for row in all_rows)
