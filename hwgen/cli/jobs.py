"""Options of many commands: ``-j``, no more processes than there is room for; names of what is built in."""

from typing import Any

import typer

from hwgen.ir.builtin import builtin_names
from hwgen.tools.machine import free_memory, processors

__all__ = ["MEMORY_OF_A_SEARCH", "fitting_jobs", "hardware_names", "hierarchy_names", "jobs_option", "set_names"]


MEMORY_OF_A_SEARCH = 512 << 20
MEMORY_OF_A_BUILD = 1 << 30
"""Bytes that a worker takes, about: one that searches, and one that builds a simulator or synthesises."""


def jobs_option(text: str, memory: int = MEMORY_OF_A_BUILD, *, all_by_default: bool = False) -> Any:
    """The option, cut to what the machine has; ``all_by_default``: 0 is allowed and means all of that."""
    least = 0 if all_by_default else 1

    def fitting(jobs: int) -> int:
        return fitting_jobs(jobs, memory) if jobs else most_jobs(memory)[1]

    return typer.Option("--jobs", "-j", min=least, max=4096, help=text, callback=fitting)


def most_jobs(memory: int = MEMORY_OF_A_BUILD) -> tuple[str, int]:
    """The number of jobs that the machine has processors and memory for, after the one of the two that limits it."""
    limits = {f"{processors()} processors": processors()}
    free = free_memory()
    if free is not None:
        limits[f"{free / (1 << 30):.1f} GiB of free memory"] = max(1, free // memory)
    return min(limits.items(), key=lambda item: item[1])


def fitting_jobs(jobs: int, memory: int = MEMORY_OF_A_BUILD) -> int:
    """The jobs asked for, at most as many as the machine has processors and memory for; the difference is told."""
    what, most = most_jobs(memory)
    if jobs > most:
        typer.echo(f"-j {jobs}: this machine has {what}: {most} at a time", err=True)
    return min(jobs, most)


# --- names ---


def set_names(incomplete: str) -> list[str]:
    """Built-in layer sets that begin so."""
    return [name for name in builtin_names("layersets") if name.startswith(incomplete)]


def hardware_names(incomplete: str) -> list[str]:
    """Built-in hardware that begins so."""
    return [name for name in builtin_names("hardware") if name.startswith(incomplete)]


def hierarchy_names(incomplete: str) -> list[str]:
    """Built-in hierarchies that begin so."""
    return [name for name in builtin_names("hierarchies") if name.startswith(incomplete)]
