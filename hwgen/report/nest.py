"""A nest as text, and as a drawing."""

from collections.abc import Iterator
from html import escape

from hwgen.ir.level import LOCAL
from hwgen.ir.schedule import ArrayName, Loop, Schedule
from hwgen.model.nest.one_level import PerOperand

__all__ = ["nest_drawing", "nest_text"]

COLOURS = {"I": "#0072b2", "W": "#d55e00", "O": "#009e73"}
"""Colours of the operands, on light and dark pages alike."""


def nest_text(schedule: Schedule) -> str:
    """A schedule as pseudocode: loops, and above a loop a comment that names the operands buffered there."""
    lines, depth = [], 0
    for line, arrays in _lines(schedule):
        text = f"# buffered{line} at the loop below: {', '.join(arrays)}" if arrays else line
        lines.append(f"{'  ' * depth}{text}")
        depth += not arrays
    return "\n".join(lines)


def nest_drawing(schedule: Schedule, need: PerOperand | None = None) -> str:
    """A schedule as HTML without a script: a frame for each loop within that around it, and what is held across it.

    ``need`` : bytes that the operands take in the local buffers, where that is known.
    """
    opened, parts, held = 0, list[str](), list[str]()
    for line, arrays in _lines(schedule):
        if arrays:
            held += [_held(array, line, None if need is None or line else need[array]) for array in arrays]
            continue
        frame = "border-left:3px solid #8a8880;padding:.1em 0 .1em .7em;margin-left:.3em"
        parts.append(f'<div style="{frame}">{escape(line)}{"".join(held)}')
        opened, held = opened + 1, []
    return f'<div style="font:13px/1.7 ui-monospace,monospace">{"".join(parts)}{"</div>" * opened}</div>'


def _held(array: str, level: str, size: int | None) -> str:
    text = f"{array}{level}" if size is None else f"{array} {size:,} B"
    style = f"background:{COLOURS[array]};color:#fff;border-radius:3px;padding:.1em .5em;margin-left:.6em"
    return f'<span style="{style}" title="{array} is held across this loop">{text}</span>'


def _lines(schedule: Schedule) -> Iterator[tuple[str, tuple[ArrayName, ...]]]:
    """Loops as text, each with no operands, and markers, as their level and operands; the lanes come last."""
    covers = dict(schedule.layer.extents)
    inside: set[str] = set()
    for item in schedule.nest:
        if not isinstance(item, Loop):
            yield "" if item.level == LOCAL else f" in the {item.level}", item.arrays
            continue
        begin = item.dim if item.dim in inside else "0"
        end = f"{item.dim} + {covers[item.dim]}" if item.dim in inside else str(covers[item.dim])
        spread = f"  # over {item.over}s" if item.over else ""
        yield f"for {item.dim} in range({begin}, {end}, {item.step}):{spread}", ()
        covers[item.dim] = min(item.step, covers[item.dim])
        inside.add(item.dim)
    lanes = " x ".join(f"{number} along {dim}" for dim, number in schedule.lanes.as_data().items()) or "one"
    yield f"multiply and accumulate  # lanes: {lanes}", ()
