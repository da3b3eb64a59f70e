"""The reader of programs against `decode` in Python, word for word; and the queues' tokens, one by one."""

from collections.abc import Iterator
from random import Random
from typing import Any

from amaranth.hdl import ResetInserter, Signal

from hwgen.arch.commands import (
    MAX_HWCS,
    QUEUES_OF,
    WITH_MASK,
    Command,
    CommandError,
    Opcode,
    Queue,
    configure,
    decode,
    encode,
    end,
    join,
    load,
    multicast,
    start,
    sync,
)
from hwgen.gateware.cluster.command_queues import CommandReader, MoveQueue
from hwgen.gateware.cluster.compute_queue import ComputeQueue
from tests.gateware.simulate import simulate

BASE = 0x1000


def headers(rng: Random) -> Iterator[int]:
    """Headers that are nearly right: any of opcode, queue, tokens, mask and length may be wrong."""
    while True:
        opcode = rng.choice((*Opcode, *(2 * [Opcode.CONFIGURE])))
        queue = rng.choice(QUEUES_OF[opcode]) if rng.random() < 0.8 else rng.choice(list(Queue))
        own = 1 << queue if queue is not Queue.PROGRAM else 0b111
        others = 0b111 & ~own if rng.random() < 0.8 else 0b111
        tokens = (rng.getrandbits(3) & others) if rng.random() < 0.6 else 0
        posts = (rng.getrandbits(3) & others) if rng.random() < 0.6 else 0
        masked = opcode in WITH_MASK and queue is Queue.COMPUTE
        mask = rng.getrandbits(8) if masked == (rng.random() < 0.9) else 0
        length = {Opcode.MOVE: 8, Opcode.CONFIGURE: rng.randint(2, 5), Opcode.MULTICAST: 2}.get(opcode, 0)
        if rng.random() < 0.15:
            length = rng.choice((0, 1, 8))
        value = rng.choice((*(4 * [opcode]), 0, *Opcode))
        extra = rng.choice((0, 0, 0, 0, 1 << rng.randrange(11, 16)))
        yield queue | value << 2 | tokens << 5 | posts << 8 | length << 16 | mask << 24 | extra


def as_decoded(words: list[int]) -> tuple[list[list[int]], int | None]:
    """What each queue must get, and the address of what is no command."""
    queues: list[list[int]] = [[], [], []]
    try:
        for at, command in decode(words):
            if command.opcode is Opcode.MOVE and len(command.payload) != (10 if command.payload[0] >> 26 & 1 else 8):
                return queues, BASE + 4 * at
            if command.queue is not Queue.PROGRAM:
                queues[command.queue] += [BASE + 4 * at, *command.words]
    except CommandError as error:
        return queues, BASE + 4 * int(str(error).split()[1].rstrip(":"))
    return queues, None


def test_the_reader_agrees_with_the_decoder() -> None:
    rng, reset = Random(3), Signal()
    reader = CommandReader(hwcs=MAX_HWCS, settings=range(0, 1 << 12, 4), multicast=True)
    dut = ResetInserter(reset)(reader)
    drawn = headers(rng)
    seen, settles = {True: 0, False: 0}, 0

    async def bench(ctx: Any) -> None:
        nonlocal settles
        for _ in range(300):
            header = next(drawn)
            payload = [4 * rng.randrange(1024), *(rng.getrandbits(26) for _ in range(header >> 16 & 0xFF))]
            words = [*sync(Queue.LOAD).words, header, *payload[: header >> 16 & 0xFF], *end().words]
            expected, wrong = as_decoded(words)
            got: list[list[int]] = [[], [], []]
            ctx.set(reset, 1)
            await ctx.tick()
            ctx.set(reset, 0)
            ctx.set(reader.program_address, BASE)
            ctx.set(reader.program_words, len(words))
            ctx.set(reader.start, 1)
            await ctx.tick()
            ctx.set(reader.start, 0)
            left, written = list(words), []
            for _ in range(200):
                if ctx.get(reader.ended) or ctx.get(reader.illegal) or ctx.get(reader.endless):
                    break
                ctx.set(reader.i_word.valid, bool(left) and rng.random() < 0.7)
                ctx.set(reader.i_word.payload, left[0] if left else 0)
                for output in reader.o_words:
                    ctx.set(output.ready, rng.random() < 0.7)
                for queue, output in enumerate(reader.o_words):
                    if ctx.get(output.valid) and ctx.get(output.ready):
                        got[queue].append(ctx.get(output.payload))
                ctx.set(reader.drained, rng.random() < 0.3)
                target = reader.o_settings
                if ctx.get(target.write):
                    written.append((ctx.get(target.address), ctx.get(target.data)))
                if ctx.get(reader.i_word.valid) and ctx.get(reader.i_word.ready):
                    del left[0]
                await ctx.tick()
            assert (ctx.get(reader.illegal) == 1) == (wrong is not None), hex(header)
            if wrong is None:
                settled = header & 3 == Queue.PROGRAM and payload[1 : header >> 16 & 0xFF]
                assert written == [(payload[0] + 4 * i, value) for i, value in enumerate(settled or [])]
                settles += bool(settled)
                assert ctx.get(reader.ended)
                assert got == expected, hex(header)
            else:
                assert ctx.get(reader.address) == wrong, hex(header)
                # A payload that is wrong in itself shows when the header has gone.
                assert [words[: len(part)] for words, part in zip(got, expected, strict=True)] == expected
            seen[wrong is None] += 1

    simulate(dut, bench)
    assert min(seen.values()) > 40, seen
    assert settles > 2


def run_queue(dut: Any, words: list[int], cycle: Any, cycles: int) -> None:
    """Feed a queue, and call ``cycle`` in each."""

    async def bench(ctx: Any) -> None:
        left = list(words)
        for now in range(cycles):
            ctx.set(dut.i_word.valid, bool(left))
            ctx.set(dut.i_word.payload, left[0] if left else 0)
            cycle(ctx, now)
            if left and ctx.get(dut.i_word.ready):
                del left[0]
            await ctx.tick()
        assert not left

    simulate(dut, bench)


def placed(commands: list[Command]) -> list[int]:
    """The words that a queue holds for some commands."""
    at, words = BASE, []
    for command in commands:
        words += [at, *command.words]
        at += 4 * len(command.words)
    return words


def test_moves_begin_with_their_tokens_and_post_in_order_when_they_are_done() -> None:
    payload = list(range(1, 9))
    commands = [
        load(payload, posts=[Queue.COMPUTE]),
        load(payload, takes=[Queue.COMPUTE], posts=[Queue.STORE]),
        sync(Queue.LOAD, posts=[Queue.COMPUTE, Queue.STORE]),
    ]
    dut = MoveQueue()
    moved: list[tuple[int, int]] = []
    posts: list[tuple[int, int]] = []
    addresses: dict[int, int] = {}

    def cycle(ctx: Any, now: int) -> None:
        ctx.set(dut.state.available, 0b010 if now >= 30 else 0)
        ctx.set(dut.o_word.ready, 1)
        ctx.set(dut.done, now in (50, 60))
        if ctx.get(dut.o_word.valid):
            moved.append((now, ctx.get(dut.o_word.payload)))
        if ctx.get(dut.state.posts):
            posts.append((now, ctx.get(dut.state.posts)))
        addresses[now] = ctx.get(dut.state.address)
        assert ctx.get(dut.state.idle) == (now > 62 or (now == 0 and False))

    run_queue(dut, placed(commands), cycle, 70)
    assert [word for _, word in moved] == payload * 2
    assert [now < 30 for now, _ in moved] == [True] * 8 + [False] * 8
    assert [value for _, value in posts] == [0b010, 0b100, 0b110]
    assert [now for now, _ in posts] == [51, 61, 62]
    assert addresses[40] == BASE
    assert addresses[55] == BASE + 36


def test_the_compute_queue_writes_starts_and_joins() -> None:
    commands = [
        configure(0b01, 0x40, [7, 8]),
        start(0b01),
        configure(0b10, 0x44, [9], takes=[Queue.LOAD]),
        start(0b10),
        join(0b11, posts=[Queue.LOAD]),
        sync(Queue.COMPUTE, posts=[Queue.STORE]),
    ]
    dut = ComputeQueue(hwcs=2)
    writes: list[tuple[int, int, int]] = []
    posts: list[tuple[int, int]] = []
    busy = {0: range(0), 1: range(0)}

    def cycle(ctx: Any, now: int) -> None:
        ctx.set(dut.state.available, 1)
        ctx.set(dut.hwc_busy, sum((now in busy[i]) << i for i in busy))
        if ctx.get(dut.write):
            writes.append((ctx.get(dut.write), ctx.get(dut.register), ctx.get(dut.data)))
            if writes[-1][1:] == (4, 1):
                busy[writes[-1][0] >> 1] = range(now + 1, now + 40)
        if ctx.get(dut.state.posts):
            posts.append((now, ctx.get(dut.state.posts)))

    run_queue(dut, placed(commands), cycle, 100)
    assert writes == [(3, 4, 2), (1, 0x40, 7), (1, 0x44, 8), (1, 4, 1), (2, 0x44, 9), (2, 4, 1)]
    ends = max(max(span) for span in busy.values())
    assert [value for _, value in posts] == [0b001, 0b100]
    assert posts[0][0] == ends + 1


def test_the_compute_queue_sets_leaders_when_the_hwcs_of_the_mask_rest() -> None:
    commands = [
        multicast(0b0111, [0, 0, 0, 1], [0, 1, 1, 0]),
        start(0b0001),
        multicast(0b1100, [3, 3, 1, 2], [0] * 4),
    ]
    dut = ComputeQueue(hwcs=4, multicast=True)
    found: list[tuple[int, list[list[int]]]] = []

    def cycle(ctx: Any, now: int) -> None:
        ctx.set(dut.hwc_busy, 0b1000 if now < 40 else 0)
        leaders = [[ctx.get(one) for one in of_operand] for of_operand in dut.leaders]
        if not found or leaders != found[-1][1]:
            found.append((now, leaders))

    run_queue(dut, placed(commands), cycle, 60)
    own, first = [0, 1, 2, 3], [0, 0, 0, 3]
    # The fourth one is not in the mask of the first command; the second command waits for it.
    assert [leaders for _, leaders in found] == [
        [own, own], [first, own], [first, [0, 1, 1, 3]], [[0, 0, 1, 2], [0, 1, 1, 3]], [[0, 0, 1, 2], [0, 1, 0, 0]],
    ]  # fmt: skip
    assert found[2][0] < 20
    assert found[3][0] > 40


def test_programs_by_hand() -> None:
    words = encode([load(list(range(8))), end()])
    assert as_decoded(words) == ([[BASE, *words[:9]], [], []], None)
