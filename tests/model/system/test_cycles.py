"""When the programs of clusters on one DRAM end: small ones worked out by hand, and what holds of all."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import Command, Opcode, Queue, configure, encode, end, join, load, settle, start, store, sync
from hwgen.arch.descriptor import Descriptor, OperandTag, RingSelect
from hwgen.arch.dram import Dram
from hwgen.model.dma.cycles import load_times, store_times
from hwgen.model.system.cycles import PlayedProgram, play_together
from hwgen.model.system.times import Beside, ClusterTimes, Late, Moves, QueueName, Work
from tests.arch.test_hwc import SOUND
from tests.random.descriptors import random_descriptors

SLOW = Dram(latency=20, miss_cycles=30, block_cycles=18.0)
HWC = replace(SOUND, weight_bytes=108, cluster=True)
HARDWARE = ClusterParameters(HWC, 2)
PROGRAM = 1 << 24
# From a cluster's start: the fetcher knows the program, offers its burst, which is in the register of the DMA and in
# that of the interconnect, is accepted, comes out of the DRAM, of the queue of beats and of that of words.
FIRST_WORD = 2 + 1 + 1 + 1 + 1 + 1 + 2 + 1
HEADER = 1


def played(
    *programs: Sequence[Command], timing: Dram | None = None, works: Sequence[Work | int] = (), restless: bool = False
) -> list[ClusterTimes]:
    """Each program with its END, in pages of its own."""
    whole = [[*commands, end()] for commands in programs]
    return play_together(
        [
            PlayedProgram(
                one, works[: sum(each.opcode is Opcode.START for each in one)], PROGRAM * k, len(encode(one))
            )
            for k, one in enumerate(whole)
        ],
        HARDWARE,
        timing or Dram(),
        restless=restless,
    )


def move(address: int, length: int = 64, **more: int) -> Descriptor:
    return Descriptor(length, OperandTag.I, RingSelect.FIXED, address, 0, **more)


def test_programs_that_do_nothing() -> None:
    """The second cluster starts a burst's time later, so that neither waits for the other."""
    one, other = played([], [])
    assert one.total == other.total == FIRST_WORD + HEADER
    late, _ = played([], [], timing=Dram(latency=20))
    assert late.total == one.total + 20 - 1  # a cycle is in a burst's way to the head of the DRAM's queue in any case


def test_commands_that_were_played_before_are_not_mistaken_for_others() -> None:
    """Those of a tuple are read once; a list may have changed, and works are those of each time."""
    commands = [start(1), join(1), end()]

    def total(given: Sequence[Command], work: int) -> float:
        return play_together([PlayedProgram(given, [work], 0, len(encode(given)))], HARDWARE, Dram())[0].total

    same, listed = tuple(commands), list(commands)
    assert [total(same, work) - total(same, 100) for work in (100, 300, 200)] == [0, 200, 100]
    assert total(listed, 1) == total(same, 1)
    listed[2:2] = [sync(Queue.LOAD), load(move(0).encode())]
    assert total(listed, 1) == total(tuple(listed), 1) > total(same, 1)


def test_one_cluster_has_no_interconnect() -> None:
    """Without it a burst is a cycle earlier at the DRAM, and its beats are two earlier back."""
    (alone,) = played([])
    assert alone.total == FIRST_WORD + HEADER - 3 + 1  # counted from the grant of the start


def test_work_and_tokens() -> None:
    """A load is taken, posts; the HWC works; the queue for stores takes the token of the last JOIN."""
    commands = [sync(Queue.LOAD, posts=[Queue.COMPUTE]), start(1, takes=[Queue.LOAD]), join(1, posts=[Queue.STORE]),
                sync(Queue.STORE, takes=[Queue.COMPUTE])]  # fmt: skip
    short, _ = played(commands, [], works=[100])
    long, _ = played(commands, [], works=[700])
    assert long.total == short.total + 600
    assert short.busy["compute"] == 100
    assert long.waits["store", "compute"] == short.waits["store", "compute"] + 600
    assert long.busy["load"] == 0


def test_a_program_of_several_layers_tells_when_each_was_done() -> None:
    layer = [start(1), join(1)]
    (times,) = played([*layer, settle(0x100, [1, 2]), *layer, settle(0x100, [3])], works=[50, 70])
    assert [one["compute"] for one in times.busy_before] == [50, 120]
    # Between the two waits: the end, two values with their address, two headers, the work.
    first, second = times.settled
    assert 70 < second - first < 70 + 30
    assert second < times.total < second + 10


def test_who_comes_first_is_served_first() -> None:
    """Two clusters load as much as the DRAM can move in their time: the second one ends a burst later at least."""
    loads = [[load(move(k << 20, 4096).encode())] for k in range(2)]
    one, other = played(*loads, timing=SLOW)
    (alone,) = played(loads[0], timing=SLOW)
    blocks = 2048 // 128 * 18
    assert one.busy["load"] >= alone.busy["load"] + blocks - 30
    assert 4 + other.total - one.total == pytest.approx(blocks + 2 * 30, abs=40)


@pytest.mark.parametrize("timing", [Dram(), SLOW])
@pytest.mark.parametrize("queue", [Queue.LOAD, Queue.STORE])
def test_moves_take_as_long_as_in_the_model_of_the_dma(queue: Queue, timing: Dram) -> None:
    """Descriptors of all kinds that wait together, on a cluster alone: two models that share no line.

    In the program each of them comes after the two words of a command. In the cluster bytes that are written together
    are written one after the other where they are in one bank.
    """
    rng = Random(f"{queue.name} {timing}")
    loads = queue is Queue.LOAD
    for _ in range(20):
        moves = random_descriptors(rng, 4, loads=loads)
        commands = [(load if loads else store)(one.encode()) for one in moves]
        commands[0] = replace(commands[0], takes=frozenset({Queue.COMPUTE}))
        (found,) = played([start(1), join(1, posts=[queue]), *commands], works=[2000], timing=timing)
        expected = (load_times if loads else store_times)(moves, timing=timing)
        name: QueueName = "load" if loads else "store"
        later = found.busy[name] - (expected.ends[-1] - expected.begins[0])
        assert -1 <= later <= 1 + 2 * (len(moves) - 1) + sum(map(in_one_bank, moves)), moves


def in_one_bank(one: Descriptor) -> int:
    """How often a byte that is written alone is in the bank of the one before it."""
    if not one.apart:
        return 0
    return sum(
        (address + there) // 4 % HARDWARE.tcdm_banks == (address + before) // 4 % HARDWARE.tcdm_banks
        for _, address in one.runs()
        for before, there in pairwise(one.offsets())
    )


@pytest.mark.parametrize(("late", "more"), [(Late(), 0), (Late(words=0.25), 128), (Late(words=2), 1024)])
def test_words_wait_for_hwcs_as_long_as_these_compute(late: Late, more: int) -> None:
    """4 KiB are 512 lines of 8 bytes; others wait for nothing."""
    loads = [load(move(0, 4096).encode(), takes=[Queue.COMPUTE])]
    busy, moved = [], []
    for works in ([Work(9000, late)], [Work(9000)], [Work(9000, Late(bytes=3, stored=3))]):
        (found,) = played([start(1, posts=[Queue.LOAD]), *loads, join(1)], works=works)
        busy.append(found.busy["load"])
        assert found.beside == (Beside(Moves(found.beside[0].load.cycles, 512, 512), Moves()),)
        moved.append(found.beside[0].load.cycles)
    assert busy[0] - busy[1] == pytest.approx(more, abs=2)
    assert busy[1] == busy[2]
    assert moved[1] == moved[2] == pytest.approx(512, abs=10)  # a line in a cycle, and a few where bursts meet
    (rests,) = played([*loads, start(1), join(1, posts=[Queue.LOAD])], works=[Work(9000, late)])
    assert rests.busy["load"] == busy[1]
    assert rests.beside == (Beside(Moves(), Moves()),)


def test_what_lasts_longest_says_what_the_dma_waits() -> None:
    """A job of the vector unit that begins while HWCs compute, and ends before them, changes nothing."""
    loads = [load(move(0, 4096).encode(), takes=[Queue.COMPUTE])]
    works = [Work(9000, Late(words=1)), Work(1000)]
    beside, alone = (
        played([start(1), *[start(2)] * more, sync(Queue.COMPUTE, posts=[Queue.LOAD]), *loads, join(3)], works=works)
        for more in (1, 0)
    )
    assert beside[0].busy["load"] == alone[0].busy["load"] > 1000
    assert [one.load.lines for one in beside[0].beside] == [512, 0]


def test_bytes_and_words_that_are_stored_wait_for_hwcs() -> None:
    one = Descriptor(200, OperandTag.W, RingSelect.W, 0, 0, scattered=True, fold=9999, fast_stride=60)
    for queue, command, late in (
        (Queue.LOAD, load(one.encode(), takes=[Queue.COMPUTE]), Late(bytes=1.5)),
        (Queue.STORE, store(move(0, 800).encode(), takes=[Queue.COMPUTE]), Late(stored=1.5)),
    ):
        commands = [start(1, posts=[queue]), command, join(1)]
        name: QueueName = "load" if queue is Queue.LOAD else "store"
        late_one, in_time = (played(commands, works=[work])[0].busy[name] for work in (Work(9000, late), Work(9000)))
        assert late_one - in_time == pytest.approx(150, abs=5)  # of 100 lines


@pytest.mark.parametrize("clusters", [1, 2, 3])
def test_that_clusters_which_rest_are_not_played_changes_nothing(clusters: int) -> None:
    rng = Random(clusters)
    for _ in range(6):
        timing = rng.choice([Dram(), SLOW])
        programs = [random_program(rng) for _ in range(clusters)]
        works = [Work(rng.randint(1, 900), random_late(rng)) for _ in range(40)]
        found, slow = (played(*programs, timing=timing, works=works, restless=restless) for restless in (False, True))
        assert found == slow


def random_late(rng: Random) -> Late:
    return Late(*(rng.choice((0, rng.random(), 3 * rng.random())) for _ in Late._fields))


def random_program(rng: Random) -> list[Command]:
    """Tiles: their loads, work, stores, some of which wait for each other."""
    found: list[Command] = []
    for _ in range(rng.randint(1, 6)):
        serial = [Queue.STORE] if found and rng.random() < 0.5 else []
        if serial:
            found[-1] = replace(found[-1], posts=frozenset({Queue.LOAD}))
        loads = [load(one.encode()) for one in random_descriptors(rng, rng.randint(1, 4), loads=True)]
        loads[0] = replace(loads[0], takes=frozenset(serial))
        loads[-1] = replace(loads[-1], posts=frozenset({Queue.COMPUTE}))
        stores = [store(one.encode()) for one in random_descriptors(rng, rng.randint(1, 3), loads=False)]
        stores[0] = replace(stores[0], takes=frozenset({Queue.COMPUTE}))
        settings = [configure(rng.randint(1, 3), 0x100, [0] * rng.randint(1, 30)) for _ in range(rng.randint(0, 3))]
        work = [start(1, takes=[Queue.LOAD]), start(2), join(3, posts=[Queue.STORE])]
        found += [*loads, *settings, *work, *stores]
    return found


def test_a_token_that_never_comes() -> None:
    with pytest.raises(ValueError, match="waits for a token that never comes"):
        played([start(1, takes=[Queue.STORE])], [], works=[3])


def test_a_full_queue_holds_up_the_reader() -> None:
    def total(values: int) -> float:
        (times,) = played([start(1), *[configure(1, 0x100, [0] * 60)] * values, load(move(0).encode())], works=[3000])
        return times.busy["load"], times.total

    (early, short), (late, long) = total(2), total(6)
    assert early == late
    assert short < long
