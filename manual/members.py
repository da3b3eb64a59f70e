"""The section *Members* of a docstring: the ports of a component, the fields of a value."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["HEADING", "Member", "members_of"]

HEADING = re.compile(r"(?m)^Members\n-------\n")


@dataclass(frozen=True)
class Member:
    """One entry: the names and the kind as they are written, and what is said about them."""

    names: str
    kind: str
    meaning: str

    def covers(self, name: str) -> bool:
        """Whether one of the names is this one: ``{a,b}_c`` are two names, ``o_map{m}`` has a number."""
        for entry in re.split(r",\s+", self.names):
            for spelled in _choices(entry):
                if re.fullmatch(re.sub(r"\\{\w+\\}", r"\\d+", re.escape(spelled)), name):
                    return True
        return False


def members_of(docstring: str | None) -> tuple[Member, ...]:
    """The entries of the section, which is the last one; none if there is no such section."""
    parts = HEADING.split(inspect.cleandoc(docstring or ""), maxsplit=1)
    return tuple(_entries(parts[1])) if len(parts) == 2 else ()


def _entries(section: str) -> Iterator[Member]:
    """An entry begins in the first column; what follows it is indented."""
    for entry in re.split(r"\n(?=\S)", section.strip()):
        first, _, text = entry.partition("\n")
        names, _, kind = first.partition(" : ")
        yield Member(names.strip(), kind.strip(), " ".join(text.split()))


def _choices(entry: str) -> Iterator[str]:
    if choice := re.search(r"\{(\w+(?:,\w+)+)\}", entry):
        for word in choice[1].split(","):
            yield entry.replace(choice[0], word)
    else:
        yield entry
