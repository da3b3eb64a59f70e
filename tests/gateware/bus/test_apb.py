"""A cluster's registers through APB: two cycles a transfer, errors for what is refused."""

from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import connect

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.registers.cluster import CLUSTER_IDENTITY, cluster_registers
from hwgen.arch.registers.control import Control
from hwgen.arch.registers.errors import ClusterError
from hwgen.gateware.bus.apb import ApbBridge
from hwgen.gateware.cluster.registers import ClusterRegisters
from tests.export.test_cluster import PARAMETERS
from tests.gateware.simulate import simulate

FAILED = 4
"""Of the status: the bit of that name."""
ADDRESSES = cluster_registers(PARAMETERS).addresses


def run(
    transfers: list[tuple[str | int, int | None]], parameters: ClusterParameters = PARAMETERS
) -> list[tuple[int, int]]:
    """Reads (no value) and writes, one behind the other: data and error of each."""
    bridge, registers = ApbBridge(), ClusterRegisters(parameters)
    m = Module()
    m.submodules.bridge, m.submodules.registers = bridge, registers
    connect(m, bridge.cfg, registers.port)
    answers = []

    async def bench(ctx: Any) -> None:
        ctx.set(bridge.apb.pstrb, 0xF)
        for where, value in transfers:
            ctx.set(bridge.apb.paddr, ADDRESSES[where] if isinstance(where, str) else where)
            ctx.set(bridge.apb.pwrite, value is not None)
            ctx.set(bridge.apb.pwdata, value or 0)
            ctx.set(bridge.apb.psel, 1)
            ctx.set(bridge.apb.penable, 0)
            assert not ctx.get(bridge.apb.pready)
            await ctx.tick()
            ctx.set(bridge.apb.penable, 1)
            assert not ctx.get(bridge.apb.pready)
            await ctx.tick()
            assert ctx.get(bridge.apb.pready), "one wait state: the bank's register behind its decoder"
            answers.append((ctx.get(bridge.apb.prdata), ctx.get(bridge.apb.pslverr)))
            await ctx.tick()
        ctx.set(bridge.apb.psel, 0)
        ctx.set(bridge.apb.penable, 0)
        await ctx.tick()
        assert not ctx.get(bridge.apb.pready)

    simulate(m, bench)
    return answers


def test_reads_writes_and_reads_back() -> None:
    answers = run([("identity", None), ("program_words", 123), ("program_words", None), ("status", None)])
    assert [answers[0], answers[2], answers[3]] == [(CLUSTER_IDENTITY, 0), (123, 0), (0, 0)]
    assert answers[1][1] == 0


def test_a_read_that_is_refused_leaves_the_status() -> None:
    answers = run([(0xFFC, None), ("status", None)])
    assert answers == [(0, 1), (0, 0)]


@pytest.mark.parametrize(
    ("transfer", "error"),
    [(("cycles", 1), ClusterError.READ_ONLY_REGISTER), (("ring_i_end", 1 << 31), ClusterError.VALUE_TOO_WIDE)],
)
def test_what_is_refused_is_an_error_and_leaves_its_address(
    transfer: tuple[str | int, int | None], error: ClusterError
) -> None:
    answers = run([transfer, ("status", None), ("fault_address", None), ("control", Control.CLEAR), ("status", None)])
    address = ADDRESSES[transfer[0]] if isinstance(transfer[0], str) else transfer[0]
    assert answers[0][1] == 1
    assert [data for data, _ in answers[1:3]] == [error.value << 8 | FAILED, address]
    assert answers[4] == (0, 0)
