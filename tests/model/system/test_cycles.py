"""When the programs of clusters on one DRAM end: small ones worked out by hand, and what holds of all."""

from collections.abc import Sequence
from random import Random

import pytest

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import Command, Opcode, Queue, configure, encode, end, join, load, settle, start, store, sync
from hwgen.arch.descriptor import Descriptor, OperandTag, RingSelect
from hwgen.arch.dram import Dram
from hwgen.arch.hwc import HwcParameters
from hwgen.model.cluster.steps import ClusterTimes
from hwgen.model.dma.cycles import load_times, store_times
from hwgen.model.system.cycles import PlayedProgram, play_together

SLOW = Dram(latency=20, miss_cycles=30, block_cycles=18.0)
HWC = HwcParameters(
    loops=tuple("myxcykml"),
    input_marker=4,
    weight_marker=4,
    output_marker=3,
    input_bytes=128,
    weight_bytes=108,
    output_bytes=768,
    cluster=True,
)
HARDWARE = ClusterParameters(HWC, 2)
PROGRAM = 1 << 24
# From a cluster's start: the fetcher knows the program, offers its burst, which is in the register of the DMA and in
# that of the interconnect, is accepted, comes out of the DRAM, of the queue of beats and of that of words.
FIRST_WORD = 2 + 1 + 1 + 1 + 1 + 1 + 2 + 1
HEADER = 1


def played(*programs: Sequence[Command], timing: Dram | None = None, works: Sequence[int] = ()) -> list[ClusterTimes]:
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
    )


def move(address: int, length: int = 64, **more: int) -> Descriptor:
    return Descriptor(length, OperandTag.I, RingSelect.FIXED, address, 0, **more)


def test_programs_that_do_nothing() -> None:
    """The second cluster starts a burst's time later, so that neither waits for the other."""
    one, other = played([], [])
    assert one.total == other.total == FIRST_WORD + HEADER
    late, _ = played([], [], timing=Dram(latency=20))
    assert late.total == one.total + 20 - 1  # a cycle is in a burst's way to the head of the DRAM's queue in any case


def test_one_cluster_has_no_interconnect() -> None:
    """Without it a burst is a cycle earlier at the DRAM, and its beats are two earlier back."""
    (alone,) = played([])
    assert alone.total == FIRST_WORD + HEADER - 3


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
    # Between the two waits: SETTLED, two values with their address, two headers, the work.
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
    """One after the other, so that each is there before the one before it ends; two models that share no line."""
    rng = Random(f"{queue} {timing}")
    for _ in range(12):
        moves = [
            move(
                rng.randrange(1 << 14),
                rng.choice([4, 7, 64, 129, 640]),
                count_1=rng.randint(1, 5),
                dram_stride_1=rng.choice([7, 64, 700, 4096]),
                tcdm_stride_1=640,
            )
            for _ in range(3)
        ]
        make, times = (load, load_times) if queue is Queue.LOAD else (store, store_times)
        waits = [start(1), join(1, posts=[queue])]
        commands = [make(one.encode(), takes=[Queue.COMPUTE] if not k else []) for k, one in enumerate(moves)]
        (found,) = played([*waits, *commands], works=[2000], timing=timing)
        expected = times(moves, timing=timing)
        name = "load" if queue is Queue.LOAD else "store"
        assert found.busy[name] == pytest.approx(expected.ends[-1] - expected.begins[0], abs=1), moves


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
