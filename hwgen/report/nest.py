"""A nest as text."""

from hwgen.ir.level import LOCAL
from hwgen.ir.schedule import Loop, Schedule

__all__ = ["nest_text"]


def nest_text(schedule: Schedule) -> str:
    """A schedule as pseudocode: loops, and above a loop a comment that names the operands buffered there."""
    lines, depth = [], 0
    covers = dict(schedule.layer.extents)
    inside: set[str] = set()
    for item in schedule.nest:
        indent = "  " * depth
        if isinstance(item, Loop):
            begin = item.dim if item.dim in inside else "0"
            end = f"{item.dim} + {covers[item.dim]}" if item.dim in inside else str(covers[item.dim])
            spread = f"  # over {item.over}s" if item.over else ""
            lines.append(f"{indent}for {item.dim} in range({begin}, {end}, {item.step}):{spread}")
            covers[item.dim] = min(item.step, covers[item.dim])
            inside.add(item.dim)
            depth += 1
        else:
            level = "" if item.level == LOCAL else f" in the {item.level}"
            lines.append(f"{indent}# buffered{level} at the loop below: {', '.join(item.arrays)}")
    lanes = " x ".join(f"{number} along {dim}" for dim, number in schedule.lanes.as_data().items()) or "one"
    lines.append(f"{'  ' * depth}multiply and accumulate  # lanes: {lanes}")
    return "\n".join(lines)
