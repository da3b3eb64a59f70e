"""A cluster's registers through AXI4-Lite: channels in any order, stalls at both ends, errors for what is refused."""

from functools import partial
from random import Random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import connect
from amaranth.sim import Simulator

from hwgen.arch.registers.cluster import CLUSTER_IDENTITY, cluster_registers
from hwgen.gateware.bus.axi_lite import AxiLiteBridge
from hwgen.gateware.cluster.registers import ClusterRegisters
from tests.export.test_cluster import PARAMETERS

OKAY, SLVERR = 0, 2
ADDRESSES = cluster_registers(PARAMETERS).addresses
WORDS, FIRST = ADDRESSES["program_words"], ADDRESSES["dram_base"]
LIMIT = 2000
"""Cycles that no run of this file takes."""


def run(writes: list[tuple[int, int, int]], reads: list[int], seed: int) -> tuple[list[int], list[tuple[int, int]]]:
    """Writes (address, data, strobe) and reads side by side, each channel with stalls of its own.

    Returns the responses of the writes, and data and response of the reads.
    """
    bridge, registers = AxiLiteBridge(), ClusterRegisters(PARAMETERS)
    m = Module()
    m.submodules.bridge, m.submodules.registers = bridge, registers
    connect(m, bridge.cfg, registers.port)
    axi = bridge.axi_lite
    written: list[int] = []
    found: list[tuple[int, int]] = []

    async def send(ctx: Any, channel: str, payloads: list[dict[str, int]]) -> None:
        random = Random(f"{seed} {channel}")
        for payload in payloads:
            for _ in range(random.choice([0, 0, 1, 5])):
                await ctx.tick()
            for name, value in payload.items():
                ctx.set(getattr(axi, channel + name), value)
            ctx.set(getattr(axi, f"{channel}valid"), 1)
            await ctx.tick().until(getattr(axi, f"{channel}ready"))
            ctx.set(getattr(axi, f"{channel}valid"), 0)

    async def take(ctx: Any, channel: str, count: int) -> None:
        random = Random(f"{seed} {channel}")
        valid, ready = getattr(axi, f"{channel}valid"), getattr(axi, f"{channel}ready")
        for _ in range(count):
            held = None
            while True:
                accept = random.randrange(3) == 0
                ctx.set(ready, accept)
                _, _, there, response, data = await ctx.tick().sample(
                    valid, getattr(axi, f"{channel}resp"), axi.rdata if channel == "r" else valid
                )
                if there:
                    assert held in (None, (response, data)), "a response stays until it is taken"
                    held = (response, data)
                    if accept:
                        break
            assert held is not None
            if channel == "b":
                written.append(held[0])
            else:
                found.append((held[1], held[0]))
        ctx.set(ready, 0)

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    addresses = [{"addr": address} for address, _, _ in writes]
    data = [{"data": value, "strb": strobe} for _, value, strobe in writes]
    for channel, payloads in (("aw", addresses), ("w", data), ("ar", [{"addr": address} for address in reads])):
        simulator.add_testbench(partial(send, channel=channel, payloads=payloads))
    for channel, count in (("b", len(writes)), ("r", len(reads))):
        simulator.add_testbench(partial(take, channel=channel, count=count))
    simulator.run_until(LIMIT * 1e-6)
    assert (len(written), len(found)) == (len(writes), len(reads)), "the bridge hangs"
    return written, found


def test_what_was_written_is_read() -> None:
    assert run([(WORDS, 123, 0xF), (FIRST, 0xCAFE0000, 0xF)], [], 0)[0] == [OKAY, OKAY]
    written, found = run([(WORDS, 7, 0xF)], [ADDRESSES["identity"]] * 3, 1)
    assert (written, found) == ([OKAY], [(CLUSTER_IDENTITY, OKAY)] * 3)


@pytest.mark.parametrize("seed", range(6))
def test_reads_and_writes_side_by_side_are_each_answered_once(seed: int) -> None:
    random = Random(seed)
    writes = [(FIRST, random.getrandbits(32), 0xF) for _ in range(20)]
    written, found = run(writes, [FIRST] * 20, seed)
    assert written == [OKAY] * 20
    assert all(response == OKAY for _, response in found)
    order = [0, *(value for _, value, _ in writes)]
    positions = [order.index(value) for value, _ in found]
    assert positions == sorted(positions), "a read shows the newest value, never an older one than the read before"
    assert 0 < positions[9] < 20, "reads and writes take turns"


def test_what_is_refused_is_an_error_and_changes_nothing() -> None:
    read_only, part_of_a_word = (ADDRESSES["cycles"], 1, 0xF), (FIRST, 1, 0x3)
    assert run([read_only, part_of_a_word], [], 0) == ([SLVERR, SLVERR], [])
    assert run([], [0xFFC, FIRST], 0) == ([], [(0, SLVERR), (0, OKAY)])
