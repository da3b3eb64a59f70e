"""CONFIGURE commands that write only the HWC registers whose values change."""

from collections.abc import Iterator, Mapping

from hwgen.arch.commands import Command, configure
from hwgen.arch.registers.bank import Register

__all__ = ["Configuration"]

MOST_VALUES = 24
"""Most values of one command, so that it fits the queue beside others."""
GAP = 2
"""Gaps of up to this many unchanged registers are written again instead of starting a new command."""


class Configuration:
    """The current register values of every HWC.

    Parameters
    ----------
    registers
        The writable registers, by address.
    """

    def __init__(self, registers: tuple[Register, ...]) -> None:
        self._registers = {register.name: register for register in registers}
        self._order = {register.name: number for number, register in enumerate(registers)}
        self._names = list(self._order)
        self._all = set(self._names)
        self._held: dict[int, dict[str, int]] = {}

    def shared(self, wanted: Mapping[int, Mapping[str, int]]) -> Iterator[Command]:
        """Write the values that are the same for all of these HWCs and that some of them do not hold yet."""
        hwcs = list(wanted)
        first, others = wanted[hwcs[0]], [wanted[hwc] for hwc in hwcs[1:]]
        alike = {name: first[name] for name in self._names if all(other[name] == first[name] for other in others)}
        changed: set[str] = set()
        for held in map(self._of, hwcs):
            changed.update(name for name, value in alike.items() if held.get(name) != value)
            held.update(alike)
        yield from self._write(sum(1 << hwc for hwc in hwcs), changed, first, set(alike))

    def own(self, hwc: int, wanted: Mapping[str, int]) -> Iterator[Command]:
        """Write the values that one HWC does not hold yet."""
        held = self._of(hwc)
        changed = {name for name in self._names if held.get(name) != wanted[name]}
        held.update(wanted)
        yield from self._write(1 << hwc, changed, wanted, self._all)

    def _of(self, hwc: int) -> dict[str, int]:
        return self._held.setdefault(hwc, {})

    def _write(self, mask: int, changed: set[str], values: Mapping[str, int], known: set[str]) -> Iterator[Command]:
        numbers = sorted(self._order[name] for name in changed)
        run: list[int] = []
        for number in numbers:
            between = range(run[-1] + 1, number) if run else range(0)
            joins = not between or (len(between) <= GAP and all(self._names[i] in known for i in between))
            if run and (not joins or len(run) + len(between) + 1 > MOST_VALUES):
                yield self._command(mask, run, values)
                run, between = [], range(0)
            run += [*between, number]
        if run:
            yield self._command(mask, run, values)

    def _command(self, mask: int, numbers: list[int], values: Mapping[str, int]) -> Command:
        names = [self._names[number] for number in numbers]
        return configure(mask, self._registers[names[0]].address, [values[name] for name in names])
