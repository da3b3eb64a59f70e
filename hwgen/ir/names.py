"""Names of files, folders and constants in C, made of names that files have; none of them is another one's.

What is cut, or has characters that are replaced, gets a digest of the whole name. A name that needs neither stays as
it is, so a name that looks as if it had such a digest gets one of its own.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence

__all__ = ["LONGEST_NAME", "c_name", "file_names", "plain_name", "safe_name"]

LONGEST_NAME = 99
"""Characters of a name that is made here: as many as a row of a table may have, less one."""
MARK = r"_x[0-9a-f]{8}"
HARDWARE_BESIDE = ".hardware"
"""A file that ends so before its suffix is the hardware beside schedules."""
_PARTS_OF_PROGRAMS = r"_(writes|words|inputs|outputs|cluster[0-9]+)"
"""What is added to the name of a program in C, for what belongs to it."""


def plain_name(wanted: str, content: str = "") -> str:
    """A text in the characters that a name may have: `hwgen.ir.document.Name`; empty for an empty one.

    ``content`` : what the name is of, where others may have the same name; then there always is a digest.
    """
    plain = re.sub(r"[^A-Za-z0-9_.+-]+", "_", wanted)
    plain = plain.strip("_.+-") if plain != wanted else plain.lstrip(".+-")
    kept = plain == wanted and len(plain) <= LONGEST_NAME and not re.search(f"{MARK}$", plain)
    return plain if kept and not content else _marked(plain, wanted + content)


def file_names(names: Sequence[str], taken: Iterable[str] = ()) -> list[str]:
    """What the files of layers that are written into one folder are called, in their order; without suffix.

    A layer's name stays, unless it differs from another layer's, or one in ``taken``, in capitals alone: not every
    file system tells them apart. Where a name comes again it is numbered.
    """
    apart = Counter(name.casefold() for name in {*names, *taken})
    own = {}
    for name in names:
        met = (
            apart[name.casefold()] > 1 or name in taken or re.search(f"({MARK}|{re.escape(HARDWARE_BESIDE)})$", name)
        )
        own[name] = _marked(name) if met else name
    used = {one.casefold() for one in own.values()}
    found: list[str] = []
    last = dict.fromkeys(names, 1)
    seen: set[str] = set()
    for name in names:
        file = own[name]
        if name in seen:
            while file.casefold() in used:
                last[name] += 1
                file = f"{own[name]}-{last[name]}"
            used.add(file.casefold())
        seen.add(name)
        found.append(file)
    return found


def c_name(name: str) -> str:
    """The part of an identifier in C that stands for a name."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return _marked(plain, name) if plain != name or re.search(f"({MARK}|{_PARTS_OF_PROGRAMS})$", name) else plain


def safe_name(wanted: str, taken: set[str]) -> str:
    """A name that a row may have, numbered where it is not once in ``taken``, to which it is added.

    Names that differ in capitals alone are one.
    """
    base = re.sub(r"[^A-Za-z0-9_.+-]", "_", wanted).lstrip(".+-")[:90] or "node"
    name, count = base, 1
    while name.casefold() in taken:
        count += 1
        name = f"{base}_{count}"
    taken.add(name.casefold())
    return name


def _marked(name: str, of: str | None = None) -> str:
    """A name with a digest of itself, or of ``of``, at its end; cut where it would be too long."""
    digest = hashlib.sha256((name if of is None else of).encode()).hexdigest()[:8]
    return f"{name[: LONGEST_NAME - 10]}_x{digest}"
