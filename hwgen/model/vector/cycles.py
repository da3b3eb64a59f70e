"""Cycles of a job of the vector unit, alone at the TCDM: a step in every cycle, in closed form."""

from math import prod

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.latency import REQUEST_TO_ANSWER, VECTOR_END, VECTOR_START
from hwgen.arch.vector.job import TABLE_WORDS, VectorJob
from hwgen.model.vector.access import lanes_of, vector_access

__all__ = ["vector_cycles", "vector_steps"]


def vector_steps(job: VectorJob) -> int:
    """Elements that are visited, padding among them, and the words of a table that is read first.

    Of an addition one more in each row, for the first word of the second operand, and another one where the first
    element is the last one of its word: then both operands need another word at once.
    """
    rows = job.channels * job.rows
    steps = rows * job.columns * prod(job.kernel)
    if job.mode == "add":
        lanes = lanes_of(job.input, job.input_plane, job.input_pitch, job.channels, range(job.rows))
        steps += rows + sum(number for lane, number in lanes if lane == WORD_BYTES - 1 and job.columns > 1)
    return steps + (TABLE_WORDS if job.table_from is not None else 0)


def vector_cycles(job: VectorJob) -> int:
    """Cycles from the start to where the unit rests. Steps that need no word do not wait for one."""
    access = vector_access(job)
    waits = REQUEST_TO_ANSWER if access.inputs.words + access.table.words else 0
    return VECTOR_START + vector_steps(job) + waits + VECTOR_END
