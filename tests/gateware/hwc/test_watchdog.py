"""The watchdog: when it expires, what resets it, and when it gives up on a block that stops."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hwgen.arch.registers.hwc import WATCHDOG_PERIOD
from hwgen.gateware.hwc.watchdog import Watchdog
from tests.gateware.simulate import simulate


def run(scenario: Callable[[Any, Watchdog], Awaitable[None]]) -> None:
    watchdog = Watchdog()

    async def bench(ctx: Any) -> None:
        ctx.set(watchdog.runs, 1)
        await scenario(ctx, watchdog)

    simulate(watchdog, bench)


async def cycles_until(ctx: Any, signal: Any, limit: int) -> int:
    """Cycles until a signal is 1; ``limit`` if it does not become so."""
    for cycle in range(limit):
        if ctx.get(signal):
            return cycle
        await ctx.tick()
    return limit


@pytest.mark.parametrize("periods", [1, 3])
def test_it_expires_after_its_periods_without_progress(periods: int) -> None:
    async def scenario(ctx: Any, watchdog: Watchdog) -> None:
        ctx.set(watchdog.periods, periods)
        ctx.set(watchdog.moved, 1)
        await ctx.tick().repeat(5)
        ctx.set(watchdog.moved, 0)
        assert await cycles_until(ctx, watchdog.expired, 5000) == periods * WATCHDOG_PERIOD

    run(scenario)


@pytest.mark.parametrize("signal", ["moved", "runs"])
def test_progress_and_rest_begin_anew(signal: str) -> None:
    async def scenario(ctx: Any, watchdog: Watchdog) -> None:
        ctx.set(watchdog.periods, 1)
        for _ in range(4):
            assert await cycles_until(ctx, watchdog.expired, WATCHDOG_PERIOD - 1) == WATCHDOG_PERIOD - 1
            ctx.set(getattr(watchdog, signal), signal == "moved")
            await ctx.tick()
            ctx.set(getattr(watchdog, signal), signal != "moved")

    run(scenario)


def test_without_periods_it_never_expires_but_gives_up_once_on_a_block_that_stops() -> None:
    async def scenario(ctx: Any, watchdog: Watchdog) -> None:
        assert await cycles_until(ctx, watchdog.expired, 3 * WATCHDOG_PERIOD) == 3 * WATCHDOG_PERIOD
        ctx.set(watchdog.stops, 1)
        await ctx.tick()
        ctx.set(watchdog.stops, 0)
        ctx.set(watchdog.stopping, 1)
        assert await cycles_until(ctx, watchdog.gives_up, 5000) == WATCHDOG_PERIOD
        await ctx.tick()
        assert await cycles_until(ctx, watchdog.gives_up, 5 * WATCHDOG_PERIOD) == 5 * WATCHDOG_PERIOD
        ctx.set(watchdog.moved, 1)
        await ctx.tick()
        ctx.set(watchdog.moved, 0)
        assert await cycles_until(ctx, watchdog.gives_up, 5000) == WATCHDOG_PERIOD

    run(scenario)
