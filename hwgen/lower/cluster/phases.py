"""Phases of a cluster's program, and the tokens that make a phase wait for others."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from hwgen.arch.commands import Command, Opcode, Queue

__all__ = ["Phase", "interleaved", "with_tokens"]

Item = TypeVar("Item")
SETS_UP = (Opcode.CONFIGURE, Opcode.MULTICAST)


@dataclass(eq=False)
class Phase:
    """Consecutive commands of one queue, and the phases of other queues that must have ended before.

    The first command that is not there to set up the HWCs waits, so that they are set up meanwhile.
    """

    queue: Queue
    commands: list[Command]
    after: "list[Phase]" = field(default_factory=list)


def with_tokens(phases: Sequence[Phase]) -> None:
    """Add the tokens that enforce ``after`` to the commands.

    ``phases`` are in program order; each is after those that it waits for. A queue works in order, so waiting for the
    last of another queue's phases is enough, and nothing is needed if that phase was waited for before.
    """
    numbers = {id(phase): number for number, phase in enumerate(phases)}
    known: dict[tuple[Queue, Queue], int] = {}
    for number, phase in enumerate(phases):
        for queue in {before.queue for before in phase.after} - {phase.queue}:
            last = max(numbers[id(before)] for before in phase.after if before.queue is queue)
            if last >= number:
                raise ValueError("a phase waits for one that comes later")
            if last <= known.get((queue, phase.queue), -1):
                continue
            known[queue, phase.queue] = last
            _take(phase, queue)
            _post(phases[last], phase.queue)


def _take(phase: Phase, queue: Queue) -> None:
    at = next(i for i, command in enumerate(phase.commands) if command.opcode not in SETS_UP)
    phase.commands[at] = replace(phase.commands[at], takes=phase.commands[at].takes | {queue})


def _post(phase: Phase, queue: Queue) -> None:
    phase.commands[-1] = replace(phase.commands[-1], posts=phase.commands[-1].posts | {queue})


def interleaved(sequences: Iterable[Sequence[Item]]) -> Iterator[Item]:
    """Interleave several sequences, of commands or of phases, as evenly as possible, each in its own order."""
    keyed = [
        ((i + 0.5) / len(sequence), number, i, item)
        for number, sequence in enumerate(sequences)
        for i, item in enumerate(sequence)
    ]
    for *_, item in sorted(keyed, key=lambda entry: entry[:3]):
        yield item
