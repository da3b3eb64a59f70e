"""The status of a block against what is said of it: done and an error are never set together, whatever happens."""

from random import Random
from typing import Any

from hwgen.arch.registers.errors import HwcError
from hwgen.gateware.lib.run_status import RunStatus
from tests.gateware.simulate import simulate

EVENTS = ("begins", "clear", "refused", "ended", "gives_up")


def test_done_and_an_error_are_never_set_together() -> None:
    run, random, seen = RunStatus(HwcError), Random(5), set()

    async def bench(ctx: Any) -> None:
        busy = False
        for _ in range(3000):
            happens = {name: random.random() < 0.15 for name in EVENTS}
            happens["begins"] &= not busy and not ctx.get(run.blocked)
            happens["refused"] &= not happens["clear"]  # one access a cycle
            happens["ended"] &= busy
            happens["gives_up"] &= busy
            error = random.choice([HwcError.NONE, HwcError.NONE, HwcError.INPUT_BUS])
            if happens["gives_up"]:
                error = HwcError.INPUT_BUS
            for name, value in happens.items():
                ctx.set(getattr(run, name), value)
            ctx.set(run.busy, busy)
            ctx.set(run.refusal, HwcError.EXTENT)
            ctx.set(run.error, error)
            await ctx.tick()
            busy = (busy or happens["begins"]) and not happens["ended"]
            status = run.status
            done, failed, code = (ctx.get(getattr(status, name)) for name in ("done", "failed", "error"))
            assert not (done and (failed or code))
            assert not failed or code
            assert ctx.get(run.blocked) == (code != HwcError.NONE)
            assert ctx.get(run.irq) == (done or failed)
            if happens["ended"] and error:
                assert (failed, code) == (1, HwcError.INPUT_BUS), "that of a run replaces that of a refused access"
            seen.add((done, failed, code))

    simulate(run, bench)
    assert len(seen) >= 5
