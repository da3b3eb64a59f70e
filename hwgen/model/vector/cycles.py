"""Cycles of a job of the vector unit, alone at the TCDM: a step in every cycle, in closed form."""

from math import prod

from hwgen.arch.vector.job import TABLE_WORDS, VECTOR_END, VECTOR_START, VectorJob

__all__ = ["vector_cycles", "vector_steps"]


def vector_steps(job: VectorJob) -> int:
    """Elements that are visited, padding among them; of an addition one more in each row, for the first word of the
    second operand; and the words of a table that is read first."""
    rows = job.channels * job.rows
    table = TABLE_WORDS if job.table_from is not None else 0
    return table + rows * (job.columns * prod(job.kernel) + (job.mode == "add"))


def vector_cycles(job: VectorJob) -> int:
    """From the start to where the unit rests."""
    return VECTOR_START + vector_steps(job) + VECTOR_END
