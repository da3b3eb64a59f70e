"""``-j``: no more worker processes than the machine has processors and memory for."""

from typing import Any

import typer

from hwgen.tools.machine import free_memory, processors

__all__ = ["MEMORY_OF_A_BUILD", "MEMORY_OF_A_SEARCH", "fitting_jobs", "jobs_option"]

MEMORY_OF_A_SEARCH = 512 << 20
MEMORY_OF_A_BUILD = 1 << 30
"""Bytes that a worker takes, about: one that searches, and one that builds a simulator or synthesises."""


def jobs_option(text: str, memory: int = MEMORY_OF_A_BUILD) -> Any:
    """The option, cut to what the machine has."""
    return typer.Option("--jobs", "-j", min=1, max=4096, help=text, callback=lambda jobs: fitting_jobs(jobs, memory))


def fitting_jobs(jobs: int, memory: int = MEMORY_OF_A_BUILD) -> int:
    """The jobs asked for, at most as many as the machine has processors and memory for; the difference is told."""
    limits = {f"{processors()} processors": processors()}
    free = free_memory()
    if free is not None:
        limits[f"{free / (1 << 30):.1f} GiB of free memory"] = max(1, free // memory)
    what, most = min(limits.items(), key=lambda item: item[1])
    if jobs > most:
        typer.echo(f"-j {jobs}: this machine has {what}: {most} at a time", err=True)
    return min(jobs, most)
