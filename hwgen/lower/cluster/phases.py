"""Phases of a cluster's program, and the tokens that hold one back until others have ended."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from hwgen.arch.commands import Command, Opcode, Queue

__all__ = ["Phase", "interleaved", "with_tokens"]


@dataclass(eq=False)
class Phase:
    """Commands of one queue that follow each other, and the phases of other queues that must have ended before.

    What waits is the first command that is not a CONFIGURE: registers may be written meanwhile.
    """

    queue: Queue
    commands: list[Command]
    after: "list[Phase]" = field(default_factory=list)


def with_tokens(phases: Sequence[Phase]) -> None:
    """Give commands the tokens that enforce ``after``.

    ``phases`` is the program's order; each comes behind those that it waits for. As a queue works in order, the last
    one of another queue is enough, and nothing is needed if that one was waited for before.
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
    at = next(i for i, command in enumerate(phase.commands) if command.opcode is not Opcode.CONFIGURE)
    phase.commands[at] = replace(phase.commands[at], takes=phase.commands[at].takes | {queue})


def _post(phase: Phase, queue: Queue) -> None:
    phase.commands[-1] = replace(phase.commands[-1], posts=phase.commands[-1].posts | {queue})


def interleaved(sequences: Iterable[Sequence[Command]]) -> Iterator[Command]:
    """The commands of several sequences, each in its order, all of them as evenly as possible."""
    keyed = [
        ((i + 0.5) / len(sequence), number, i, command)
        for number, sequence in enumerate(sequences)
        for i, command in enumerate(sequence)
    ]
    for *_, command in sorted(keyed, key=lambda entry: entry[:3]):
        yield command
