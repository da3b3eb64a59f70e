"""The check of derived settings at the start: finds what contradicts, in time, and nothing else."""

from random import Random
from typing import Any

from hwgen.gateware.hwc.setting_checks import SettingChecks
from tests.gateware.hwc.test_registers import PARAMETERS
from tests.gateware.simulate import simulate

CYCLES = 20
"""Cycles from the start in which a contradiction is found."""
MEMORY = PARAMETERS.input_elements


def settings_of(random: Random) -> dict[str, int]:
    """Settings that are often just right, or just wrong."""
    slab = random.randint(1, MEMORY)
    line = min(random.choice([slab, slab + 1, slab // 2]), MEMORY)
    phases = sorted(random.randint(0, line) for _ in range(3))
    if random.random() < 0.2:
        random.shuffle(phases)
    return {
        "input_slab": slab,
        "input_slabs": MEMORY // slab + random.choice([0, 0, 0, 1]),
        "input_line": line,
        **{f"input_phase_{i}": phase for i, phase in enumerate(phases, start=1)},
        "input_phase_step_7": random.choice([0, 0, 0, 1, 2]),
        "stride_x": random.choice([1, 2, 3]),
    }


def contradict(values: dict[str, int]) -> bool:
    inside = [*(values[f"input_phase_{i}"] for i in (1, 2, 3)), values["input_line"], values["input_slab"]]
    return (
        inside != sorted(inside)
        or values["input_slab"] * values["input_slabs"] > MEMORY
        or values["input_phase_step_7"] >= values["stride_x"]
    )


def test_contradictions_are_found_within_some_cycles_and_nothing_else_is() -> None:
    checks, random, found = SettingChecks(PARAMETERS), Random(3), [0, 0]

    async def bench(ctx: Any) -> None:
        for _ in range(300):
            values = settings_of(random)
            for name, value in values.items():
                ctx.set(getattr(checks.settings, name), value)
            await ctx.tick()  # software writes the start after the settings
            ctx.set(checks.start, 1)
            await ctx.tick()
            ctx.set(checks.start, 0)
            told = False
            for _ in range(CYCLES):
                told |= bool(ctx.get(checks.contradicts))
                await ctx.tick()
            assert told == contradict(values), values
            found[told] += 1

    simulate(checks, bench)
    assert min(found) > 50
