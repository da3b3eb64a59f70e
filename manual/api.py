"""The API pages: one for each room, with every public name of its modules."""

from manual.designs import ROOT

__all__ = ["api_pages", "rooms"]


def rooms() -> dict[str, list[str]]:
    """The modules of each room, by the room's dotted name."""
    found: dict[str, list[str]] = {}
    for package in ("hwgen", "cosim"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            room = ".".join(parts[:2]) if package == "hwgen" and len(parts) > 2 else package
            found.setdefault(room, []).append(module)
    return dict(sorted(found.items(), key=lambda entry: (entry[0] != "hwgen", entry[0] == "cosim", entry[0])))


def api_pages() -> dict[str, str]:
    """The pages by file name: one directive of mkdocstrings for each module."""
    pages = {}
    for room, modules in rooms().items():
        lines = [f"# {room}", ""]
        for module in modules:
            lines += [f"::: {module}", ""]
        pages[f"api/{room}.md"] = "\n".join(lines)
    return pages
