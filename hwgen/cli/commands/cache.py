"""``hwgen cache``: where simulators, Verilog and plans are kept, how much space they take, and how to free it."""

import time
from typing import Annotated, Any

import typer

from hwgen.api.arguments import size_text
from hwgen.cli.console import Json, print_json, print_table
from hwgen.tools.kept import ROOMS, Entry, cache_limit, clear, entries, trim
from hwgen.tools.toolchain import cache_folder

__all__ = ["cache"]

Clear = Annotated[bool, typer.Option("--clear", help="Remove all that no other process is using.")]
DAY = 24 * 3600.0


def cache(*, empty: Clear = False, as_json: Json = False) -> None:
    """Show the cache: its place, what is in it, and its limit; --clear empties it.

    Beyond the limit (1 GiB, or HWGEN_CACHE_LIMIT) what was not used for the longest time is removed.
    """
    removed = clear() if empty else None
    if removed is None:
        trim()
    kept = entries()
    document: dict[str, Any] = {
        "folder": str(cache_folder()),
        "limit_bytes": cache_limit(),
        "bytes": sum(entry.size for entry in kept),
        "rooms": {room: _of([entry for entry in kept if entry.room == room]) for room in ROOMS},
    }
    if removed is not None:
        document["removed"] = {"entries": removed[0], "bytes": removed[1]}
    if as_json:
        print_json(document)
        return
    if removed is not None:
        typer.echo(f"removed {removed[0]} entries, {removed[1]:,} bytes")
    rows: list[list[object]] = []
    for room, meaning in ROOMS.items():
        found = document["rooms"][room]
        if found["entries"]:
            days = (time.time() - found["oldest_use"]) / DAY
            rows.append([room, meaning, found["entries"], found["bytes"], f"{days:.1f}"])
    if rows:
        print_table("Cache", ["folder", "what", "entries", "bytes", "oldest, days"], rows)
    typer.echo(f"{document['folder']}: {document['bytes']:,} bytes of {size_text(document['limit_bytes'])}")


def _of(kept: list[Entry]) -> dict[str, object]:
    oldest = min((entry.used for entry in kept), default=None)
    return {"entries": len(kept), "bytes": sum(entry.size for entry in kept), "oldest_use": oldest}
