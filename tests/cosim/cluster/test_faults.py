"""What goes wrong in a cluster is answered, nothing hangs, and the next program runs as if nothing had happened."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from cosim.cluster.model import SimulatedCluster, load_cluster
from cosim.cluster.run import run_clusters
from cosim.device.job import Job, Outcome, Unit
from cosim.hwc.layer_data import expected_output, random_data
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import (
    TOKENS,
    Command,
    Opcode,
    Queue,
    configure,
    encode,
    end,
    join,
    load,
    multicast,
    start,
    sync,
)
from hwgen.arch.descriptor import Descriptor, OperandTag, RingSelect
from hwgen.arch.dram import Dram
from hwgen.arch.registers.cluster import cluster_registers, ring_registers
from hwgen.arch.registers.control import Control, Status, error_of
from hwgen.arch.registers.errors import ClusterError, DmaError, HwcError
from hwgen.arch.registers.hwc import hwc_registers
from hwgen.ir.hardware import Cluster
from hwgen.lower.cluster.program import compile_cluster
from tests.random.clusters import cluster_schedules
from tests.random.layers import hwc

CLUSTER = Cluster(hwcs=2, tcdm=1 << 13, banks=4)
HARDWARE = hwc("two_tiles").model_copy(update={"cluster": CLUSTER})
SCHEDULE = next(
    schedule
    for schedule in cluster_schedules(HARDWARE, Random("faults"), 12, most_macs=6000, forms=False)
    if compile_cluster(schedule, HARDWARE).layout.partial.size
    and schedule.layer.output_width > 4
    and any(loop.over for loop in schedule.loops)
)
"""Both HWCs work; partial sums go to the DRAM and come back."""

DATA = random_data(SCHEDULE.layer, np.random.default_rng(5))
PROGRAM = compile_cluster(SCHEDULE, HARDWARE)
PARAMETERS = ClusterParameters(
    hwc=replace(PROGRAM.parameters, cluster=True),
    hwcs=CLUSTER.hwcs,
    tcdm_bytes=CLUSTER.tcdm,
    tcdm_banks=CLUSTER.banks,
)
EXPECTED = expected_output(SCHEDULE.layer, DATA)
REGISTERS = hwc_registers(PARAMETERS.hwc).addresses
RINGS = ring_registers(PARAMETERS)
WATCHDOG = 2000
DRAM_SIZE = (PROGRAM.dram_size // 4096 + 2) * 4096


def model() -> SimulatedCluster:
    return load_cluster(PARAMETERS, dram_log2=18)


def registers(commands: Iterable[Command] = PROGRAM.commands) -> dict[str, int]:
    rings = {
        f"ring_{name.lower()}_{what}": getattr(ring, what)
        for name, ring in PROGRAM.rings.items()
        for what in ("end", "size")
    }
    return {
        "program_address": PROGRAM.layout.program,
        "program_words": len(encode(commands)),
        "dram_base": 0,
        "dram_end": DRAM_SIZE,
        "tcdm_base": 0,
        "tcdm_end": CLUSTER.tcdm,
        "watchdog": WATCHDOG,
        **rings,
    }


def job(name: str, commands: Iterable[Command] | None = None, words: list[int] | None = None) -> Job:
    """The layer's program, or another one in its place."""
    image = np.zeros(DRAM_SIZE // 4, np.uint32)
    given = PROGRAM.image(DATA.inputs, DATA.weights, DATA.bias)
    image[: len(given)] = given
    if words is None:
        words = encode(commands if commands is not None else PROGRAM.commands)
    first = PROGRAM.layout.program // 4
    image[first:] = 0
    image[first : first + len(words)] = words
    return Job(name, image, (Unit({**registers(), "program_words": len(words)}),), cycle_limit=200_000, reset=False)


def run(given: Job) -> Outcome:
    """Run a job; then the layer, without a reset in between."""
    result = run_clusters(model(), given)
    assert not result.timed_out, given.name
    assert not result.violations, (given.name, result.violations)
    after = run_clusters(model(), job(f"after {given.name}"))
    assert after.done, (after.name, hex(after.only.registers["status"]))
    assert np.array_equal(PROGRAM.output(after.memory), EXPECTED), after.name
    return result


def fails(result: Outcome, error: ClusterError, detail: int = 0) -> None:
    assert result.irq == (1, 0), result.name
    assert result.only.registers["status"] & 0xFF == Status.FAILED, (
        result.name,
        hex(result.only.registers["status"]),
    )
    assert ClusterError(result.only.error) is error, (result.name, result.only.error)
    assert result.only.registers["fault_detail"] == detail, (result.name, hex(result.only.registers["fault_detail"]))


def place(commands: list[Command], index: int) -> int:
    """DRAM byte address of a command."""
    return PROGRAM.layout.program + 4 * len(encode(commands[:index]))


@pytest.fixture(scope="module", autouse=True)
def _reset() -> None:
    """A reset, and the layer: what every test begins after."""
    assert run_clusters(model(), replace(job("first"), reset=True)).done


def test_the_layer_passes_again_without_a_reset() -> None:
    assert run(job("again")).done


def test_at_an_interrupt_nothing_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every access to the DRAM has been answered, and no other one comes: with the program done, failed, aborted."""
    dut, harness = model(), model().harness
    clock = harness.run
    seen = 0

    def watched(cycles: int, *, until_finished: bool = False) -> int:
        nonlocal seen
        passed = clock(cycles, until_finished=True) if until_finished else 0
        for _ in range(0 if until_finished else cycles):
            passed += clock(1)
            assert not (harness.get("irq") and harness.get("under_way", "harness.dram"))
        seen += harness.get("irq")
        return passed

    monkeypatch.setattr(harness, "run", watched)
    partial = PROGRAM.layout.partial
    slow = replace(job("slow"), axi_stalls=(60,) * 5, timing=Dram(latency=40))
    cases = [replace(slow, abort_after=after) for after in range(200, 2000, 300)]
    cases += [replace(slow, axi_error=(kind, 2, partial.base + partial.size // 2)) for kind in ("read", "write")]
    assert run_clusters(dut, slow).done
    for case in cases:
        assert run_clusters(dut, case).only.status & 0xFF == Status.FAILED, case
    assert seen > len(cases)


def test_nothing_is_offered_in_a_reset_in_the_middle_of_a_run_nor_right_after_it() -> None:
    """The monitor of the DRAM's port finds no breach; the next program runs as if nothing had happened."""
    dut, harness, rng = model(), model().harness, Random("resets")
    for cycles in sorted(rng.sample(range(20, 1500), 10)):
        stalls = tuple(rng.choice((0, 150, 250)) for _ in range(5))
        given = replace(job(f"reset after {cycles}"), cycle_limit=cycles, axi_stalls=stalls)
        assert run_clusters(dut, given).timed_out
        while not harness.get("offered", "harness.dram"):
            assert harness.run(1)
            assert not harness.get("irq"), given.name
        harness.set(rst=1)
        harness.run(20)
        harness.set(rst=0)
        harness.run(20)
        assert harness.get("violations", "harness.dram") == 0, given.name
        after = run_clusters(dut, job(f"after {given.name}"))
        assert after.done
        assert np.array_equal(PROGRAM.output(after.memory), EXPECTED), after.name


@pytest.mark.parametrize("code", [2, 3])
def test_a_bus_error_on_any_beat_of_the_dram_stops_the_program_and_leaves_its_address(code: int) -> None:
    layout, beat = PROGRAM.layout, PARAMETERS.axi_bits // 8
    detail = (DmaError.AXI_SLAVE if code == 2 else DmaError.AXI_DECODE).value
    places = {
        ClusterError.LOAD: [
            ("read", region.base + offset)
            for region in (layout.inputs, layout.weights, layout.bias, layout.partial)
            for offset in (0, region.size // 2, region.size - 1)
        ],
        ClusterError.STORE: [
            ("write", region.base + offset)
            for region in (layout.output, layout.partial)
            for offset in (0, region.size - 1)
        ],
        ClusterError.PROGRAM: [("read", layout.program + 4 * word) for word in (0, len(PROGRAM.words) - 1)],
    }
    for error, where in places.items():
        for kind, address in where:
            for stalls in (0, 90):
                given = replace(
                    job(f"{kind} {address} {stalls}"),
                    axi_error=(kind, code, address),
                    axi_stalls=(stalls,) * 5,
                    tcdm_stalls=stalls,
                )
                result = run(given)
                fails(result, error, detail)
                found = result.only.registers["fault_address"]
                if kind == "read":
                    assert found // beat == address // beat, result.name
                else:  # a burst is answered as a whole
                    assert found <= address < found + 4096, result.name
                command = result.only.registers["fault_command"]
                assert layout.program <= command < layout.program + 4 * len(PROGRAM.words), result.name


def test_an_error_on_any_port_of_the_shared_memory_stops_the_program() -> None:
    calm = run(job("calm"))
    assert {master for master, _, _ in calm.only.tcdm} == set(PARAMETERS.masters), "every port is used"
    for master in PARAMETERS.masters:
        ring = PROGRAM.rings[
            {"i": "I", "w": "W", "o": "O"}.get(master[-1], "I" if master.startswith("load") else "O")
        ]
        # Which of the words each port meets depends on the schedule: the first one that fails will do.
        addresses = range(ring.start, ring.end, 4)
        failing = (replace(job(f"{master} {at}"), tcdm_error=(master, at)) for at in addresses)
        given = next(each for each in failing if not run_clusters(model(), each).done)
        result = run(given)
        assert given.tcdm_error is not None
        assert result.only.registers["fault_address"] == given.tcdm_error[1], result.name
        if master.startswith("hwc"):
            code = {"i": HwcError.INPUT_BUS, "w": HwcError.WEIGHT_BUS, "o": HwcError.OUTPUT_BUS}[master[-1]]
            fails(result, ClusterError.HWC, code.value | int(master[3]) << 8)
        else:
            error = ClusterError.LOAD if master.startswith("load") else ClusterError.STORE
            fails(result, error, DmaError.TCDM_BUS.value)


def moves(
    queue: Queue, dram: int, tcdm: int, ring: RingSelect = RingSelect.O, *, runs: int = 1, stride: int = 0
) -> Command:
    """A descriptor of runs of 16 bytes."""
    tag = OperandTag.I if queue is Queue.LOAD else OperandTag.O
    moved = Descriptor(16, tag, ring, dram, tcdm, runs, 1, stride, 0, 32 if runs > 1 else 0)
    return Command(queue, Opcode.MOVE, payload=tuple(moved.encode()))


def test_a_descriptor_that_leaves_its_window_is_refused_and_nothing_is_written_outside() -> None:
    """The program lies at the window's beginning; before the descriptor that is refused another one is moved."""
    base, end_, inside = 0x80, 0x2000, 0x1000
    ring = {"ring_o_end": 1024, "ring_o_size": 512, "tcdm_base": 256, "tcdm_end": 2048}
    narrow = {**ring, "tcdm_base": 768}
    cases: list[tuple[str, Command, dict[str, int], DmaError]] = []
    for queue in (Queue.LOAD, Queue.STORE):
        dram, tcdm = DmaError.DRAM_WINDOW, DmaError.TCDM_WINDOW
        cases += [
            (f"{queue.name} across the end", moves(queue, end_ - 8, 768), ring, dram),
            (f"{queue.name} behind it", moves(queue, end_ + 4096, 768), ring, dram),
            (f"{queue.name} across the beginning", moves(queue, base - 4, 768), ring, dram),
            (f"{queue.name} last run", moves(queue, inside, 768, runs=9, stride=512), ring, dram),
            (f"{queue.name} around 2**32", moves(queue, inside, 768, runs=3, stride=(1 << 32) - 8192), ring, dram),
            (f"{queue.name} ring before the window", moves(queue, inside, 768), narrow, tcdm),
            (f"{queue.name} before the window", moves(queue, inside, 248, RingSelect.FIXED), ring, tcdm),
            (f"{queue.name} across its end", moves(queue, inside, 2040, RingSelect.FIXED), ring, tcdm),
            (f"{queue.name} ring behind the window", moves(queue, inside, 768), {**ring, "tcdm_end": 1020}, tcdm),
        ]
    for name, wrong, changed, detail in cases:
        image = np.arange(0x4000, dtype=np.uint32)
        commands = [moves(wrong.queue, inside + 64, 800, RingSelect.FIXED), wrong, end()]
        words = encode(commands)
        image[base // 4 : base // 4 + len(words)] = words
        place = {"program_address": base, "program_words": len(words), "dram_base": base, "dram_end": end_}
        given = replace(job(name).with_registers({**place, **changed}), image=image)
        result = run(given)
        fails(result, ClusterError[wrong.queue.name], detail.value)
        assert result.only.registers["fault_command"] == base + 4 * len(commands[0].words), name
        moved = sum(
            octets for (master, _, _), (_, octets) in result.only.tcdm.items() if not master.startswith("hwc")
        )
        assert moved == 16, "of the first descriptor"
        changed_words = np.flatnonzero(result.memory != image) * 4
        assert all(inside + 64 <= at < inside + 80 for at in changed_words), name


def test_a_program_that_waits_for_a_token_that_never_comes_ends_with_its_address() -> None:
    programs = {
        "load": [sync(Queue.COMPUTE), sync(Queue.LOAD, takes=[Queue.STORE]), end()],
        "store": [sync(Queue.LOAD, posts=[Queue.COMPUTE]), sync(Queue.STORE, takes=[Queue.LOAD]), end()],
        "compute": [sync(Queue.LOAD, posts=[Queue.STORE]), join(3, takes=[Queue.LOAD, Queue.STORE]), end()],
        "last of the layer": [
            *PROGRAM.commands[:-1],
            sync(Queue.STORE, takes=[Queue.LOAD, Queue.COMPUTE]),
            PROGRAM.commands[-1],
        ],
    }
    for name, commands in programs.items():
        result = run(job(name, commands))
        fails(result, ClusterError.WATCHDOG)
        assert result.only.registers["fault_command"] == place(commands, len(commands) - 2), name
        assert result.cycles >= WATCHDOG


def test_a_token_that_waits_for_a_full_queue_ends_too() -> None:
    """What the first load waits for lies behind more loads than the queue holds."""
    moved = Descriptor(4, OperandTag.I, RingSelect.I, 0, PROGRAM.rings["I"].start)
    waiting = load(moved.encode(), takes=[Queue.COMPUTE])
    commands = [waiting, *[load(moved.encode())] * 40, sync(Queue.COMPUTE, posts=[Queue.LOAD]), end()]
    result = run(job("full queue", commands))
    fails(result, ClusterError.WATCHDOG)
    assert result.only.registers["fault_command"] == place(commands, 0)
    assert result.only.registers["wait_queue"] > WATCHDOG // 2
    assert result.only.registers["wait_load_for_compute"] > WATCHDOG // 2


def test_what_is_no_command_is_refused_with_its_address() -> None:
    good = [sync(Queue.LOAD), sync(Queue.STORE)]
    moved = Descriptor(4, OperandTag.I, RingSelect.I, 0, PROGRAM.rings["I"].start).encode()
    wrong = {
        "zero": [0],
        "MULTICAST in a cluster without it": multicast(3, [0, 0], [0, 1]).words,
        "reserved": [Queue.LOAD | Opcode.SYNC << 2 | 1 << 11],
        "own token": [Queue.LOAD | Opcode.SYNC << 2 | 1 << 5],
        "END with tokens": [Queue.PROGRAM | Opcode.END << 2 | 1 << 8],
        "MOVE in compute": [Queue.COMPUTE | Opcode.MOVE << 2 | 8 << 16, *moved],
        "MOVE too short": [Queue.LOAD | Opcode.MOVE << 2 | 7 << 16, *moved[:7]],
        "MOVE too long": [Queue.LOAD | Opcode.MOVE << 2 | 10 << 16, *moved, 0, 0],
        "START of none": [Queue.COMPUTE | Opcode.START << 2],
        "START of the third of two": [Queue.COMPUTE | Opcode.START << 2 | 4 << 24],
        "SYNC with a mask": [Queue.LOAD | Opcode.SYNC << 2 | 1 << 24],
        "CONFIGURE of another setting than rings": [Queue.PROGRAM | Opcode.CONFIGURE << 2 | 2 << 16, 0x80, 0],
        "CONFIGURE behind the rings": [Queue.PROGRAM | Opcode.CONFIGURE << 2 | 3 << 16, RINGS[-1], 0, 0],
        "CONFIGURE of rings with a mask": [Queue.PROGRAM | Opcode.CONFIGURE << 2 | 2 << 16 | 1 << 24, RINGS[0], 0],
        "CONFIGURE without values": [Queue.COMPUTE | Opcode.CONFIGURE << 2 | 1 << 16 | 1 << 24, 0x40],
    }
    for name, words in wrong.items():
        result = run(job(name, words=[*encode(good), *words, *encode([end()])]))
        fails(result, ClusterError.ILLEGAL_COMMAND)
        assert result.only.registers["fault_command"] == place(good, 2), name


def test_a_program_without_end_and_more_tokens_than_a_counter_holds() -> None:
    endless = run(job("endless", [sync(Queue.LOAD), sync(Queue.STORE)]))
    fails(endless, ClusterError.PROGRAM_WITHOUT_END)
    cut = run(job("cut off", words=encode([load(Descriptor(4, OperandTag.I, RingSelect.I, 0, 0).encode())])[:4]))
    fails(cut, ClusterError.PROGRAM_WITHOUT_END)
    posts = [sync(Queue.LOAD, posts=[Queue.STORE])] * TOKENS
    takes = [sync(Queue.STORE, takes=[Queue.LOAD])] * TOKENS
    assert run(job("as many as fit", [*posts, *takes, end()])).done
    over = run(job("one more", [*posts, posts[0], end()]))
    fails(over, ClusterError.TOO_MANY_TOKENS)
    assert over.only.registers["fault_command"] == place(posts, TOKENS)


def test_what_an_hwc_refuses_is_reported_with_its_number() -> None:
    wide = configure(2, REGISTERS["stride_y"], [8])
    unknown = configure(1, 0xFF0, [1])
    started = [start(2), join(2), end()]
    unsound = [configure(3, REGISTERS["program_digest"], [PARAMETERS.hwc.digest, 0]), *started]
    other = [configure(3, REGISTERS["program_digest"], [PARAMETERS.hwc.digest ^ 1]), *started]
    assert REGISTERS["extent_m"] == REGISTERS["program_digest"] + 4
    cases: list[tuple[list[Command], int, HwcError, int, int]] = [
        ([wide, end()], 1, HwcError.VALUE_TOO_WIDE, 0, REGISTERS["stride_y"]),
        ([unknown, end()], 0, HwcError.UNKNOWN_REGISTER, 0, 0xFF0),
        (unsound, 1, HwcError.EXTENT, 1, 0),
        (other, 1, HwcError.OTHER_HWC, 1, 0),
    ]
    for commands, number, code, index, address in cases:
        result = run(job(f"{code.name}", commands))
        fails(result, ClusterError.HWC, code.value | number << 8)
        assert result.only.registers["fault_command"] == place(commands, index)
        assert result.only.registers["fault_address"] == address


def test_a_start_that_makes_no_sense_is_refused() -> None:
    for name, changed, error in (
        ("no words", {"program_words": 0}, ClusterError.PROGRAM_PLACE),
        ("between chunks", {"program_address": PROGRAM.layout.program + 64}, ClusterError.PROGRAM_PLACE),
    ):
        given = job(name)
        result = run(given.with_registers(changed))
        fails(result, error)
        assert np.array_equal(result.memory, given.image)


def test_registers_that_do_not_exist_or_are_written_while_busy_are_refused() -> None:
    dut = model()
    given = replace(job("busy"), reset=True)
    run_clusters(dut, given)
    registers = cluster_registers(PARAMETERS).addresses
    control, status = registers["control"], registers["status"]
    assert dut.transfer(0xF00) == (0, True)
    assert dut.transfer(status)[0] == 0, "a refused read is no error of the next start"
    assert dut.transfer(status, 1)[1], "status is read only"
    assert error_of(dut.transfer(status)[0]) == ClusterError.READ_ONLY_REGISTER
    assert dut.transfer(0xF00, 1)[1]
    assert error_of(dut.transfer(status)[0]) == ClusterError.READ_ONLY_REGISTER, "the first one stays"
    dut.transfer(control, Control.CLEAR)
    assert dut.transfer(status)[0] == 0
    dut.transfer(control, Control.START)
    dut.harness.run(100)
    assert dut.transfer(status)[0] & Status.BUSY
    assert dut.transfer(registers["program_address"], 0)[1]
    assert dut.transfer(control, Control.START)[1]
    dut.harness.run(100_000)
    assert dut.transfer(status)[0] == ClusterError.WRITTEN_WHILE_BUSY << 8 | Status.FAILED
    assert np.array_equal(PROGRAM.output(dut.harness.read(len(given.image))), EXPECTED)
    dut.transfer(control, Control.CLEAR)


def test_software_aborts_a_program_at_any_time() -> None:
    """All accesses are completed; only the output and partial sums may have been written; the next program runs."""
    whole = run_clusters(model(), replace(job("whole"), reset=True))
    layout = PROGRAM.layout
    untouched = np.ones(len(whole.memory), bool)
    for region in (layout.output, layout.partial):
        untouched[region.base // 4 : -(-(region.base + region.size) // 4)] = False
    rng = Random("aborts")
    for after_cycles in sorted(rng.sample(range(1, whole.cycles - 100), 24)):
        stalls = tuple(rng.choice((0, 0, 60)) for _ in range(5))
        slow = Dram(latency=rng.choice((0, 40)))
        given = replace(job(f"{after_cycles} {stalls}"), abort_after=after_cycles, axi_stalls=stalls, timing=slow)
        result = run(given)
        fails(result, ClusterError.ABORTED)
        assert after_cycles < result.cycles < after_cycles + 2 * WATCHDOG, given.name
        assert np.array_equal(result.memory[untouched], given.image[untouched]), given.name


def test_an_abort_that_the_dram_does_not_answer_ends_with_the_watchdog() -> None:
    hung = replace(job("hung abort"), timing=Dram(latency=60_000), abort_after=300)
    result = run_clusters(model(), hung)
    fails(result, ClusterError.ABORTED)
    assert WATCHDOG <= result.cycles < 2 * WATCHDOG
    assert run_clusters(model(), replace(job("after"), reset=True)).done


def test_a_dram_that_is_very_slow_is_no_fault() -> None:
    slow = replace(job("slow"), timing=Dram(latency=WATCHDOG // 2, miss_cycles=30, block_cycles=20.0))
    slow = replace(slow, cycle_limit=3_000_000)
    assert run(slow).done


def test_a_dram_that_does_not_answer_ends_the_program_all_the_same() -> None:
    """The watchdog runs out, and once more while the cluster waits for the bus to come to rest."""
    hung = replace(job("hung"), timing=Dram(latency=60_000))
    result = run_clusters(model(), hung)
    assert not result.timed_out
    fails(result, ClusterError.WATCHDOG)
    assert 2 * WATCHDOG <= result.cycles < 3 * WATCHDOG
    assert np.array_equal(result.memory[: PROGRAM.layout.program // 4], hung.image[: PROGRAM.layout.program // 4])
    reset = run_clusters(model(), replace(job("after hung"), reset=True))
    assert reset.done
