"""Block diagrams as SVG in the colours of the page: boxes, ports, memories, and the wires between them.

A drawing is 400 units wide, so that its text is read on a phone. Every block names the class that it stands for.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["WIDTH", "Box", "Drawing", "Point"]

WIDTH = 400
TITLE, LINE = 16, 14
"""Units of a title's and of a note's line."""
RADIUS = 5

Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A rectangle with text: a block, a memory, a port, a file, or a frame around others."""

    x: float
    y: float
    width: float
    height: float

    def top(self, part: float = 0.5) -> Point:
        """A point of the upper edge, from 0 (left) to 1 (right)."""
        return self.x + part * self.width, self.y

    def bottom(self, part: float = 0.5) -> Point:
        """A point of the lower edge."""
        return self.x + part * self.width, self.y + self.height

    def left(self, part: float = 0.5) -> Point:
        """A point of the left edge, from 0 (top) to 1 (bottom)."""
        return self.x, self.y + part * self.height

    def right(self, part: float = 0.5) -> Point:
        """A point of the right edge."""
        return self.x + self.width, self.y + part * self.height


@dataclass
class Drawing:
    """What has been drawn so far: frames, then wires, then boxes, then labels, whatever the order of the calls."""

    title: str
    height: int
    frames: list[str] = field(default_factory=list)
    wires: list[str] = field(default_factory=list)
    boxes: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    placed: list[Box] = field(default_factory=list)
    """Every box; a frame is one of `frame_boxes` too."""
    frame_boxes: list[Box] = field(default_factory=list)

    def box(
        self,
        place: tuple[float, float, float, float],
        title: str,
        *notes: str,
        kind: str = "block",
        of: type | None = None,
    ) -> Box:
        """A block (x, y, width, height) with its title and notes in the middle; ``of`` is what it stands for."""
        box = Box(*place)
        self.placed.append(box)
        radius = box.height / 2 if kind == "port" else RADIUS
        shape = f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="{radius}"/>'
        middle, used = box.x + box.width / 2, TITLE + LINE * len(notes)
        first = box.y + (box.height - used) / 2 + 12.5
        text = [f'<text class="title" x="{middle}" y="{first:.1f}">{html.escape(title)}</text>']
        text += [
            f'<text class="note" x="{middle}" y="{first + LINE * (number + 1):.1f}">{html.escape(note)}</text>'
            for number, note in enumerate(notes)
        ]
        self.boxes.append(f'<g class="{kind}">{_hint(of)}{shape}{"".join(text)}</g>')
        return box

    def frame(self, place: tuple[float, float, float, float], title: str, *, of: type | None = None) -> Box:
        """A frame around other boxes, its title in the upper left corner."""
        box = Box(*place)
        self.placed.append(box)
        self.frame_boxes.append(box)
        shape = f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="8"/>'
        self.frames.append(
            f'<g class="frame">{_hint(of)}{shape}'
            f'<text class="note" x="{box.x + 8}" y="{box.y + 15}">{html.escape(title)}</text></g>'
        )
        return box

    def wire(self, points: Sequence[Point], *, both: bool = False, control: bool = False) -> None:
        """A line with an arrow at its end, or at both; ``control``: dashed, for tokens and settings."""
        path = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
        ends = 'marker-end="url(#arrow)"' + (' marker-start="url(#arrow)"' if both else "")
        self.wires.append(f'<path class="{"control" if control else "wire"}" d="{path}" {ends}/>')

    def label(self, at: Point, text: str, anchor: str = "start") -> None:
        """A text beside a wire, ``at`` being where its first line begins (or ends, or has its middle)."""
        x, y = at
        for number, line in enumerate(text.split("\n")):
            place = f'x="{x:.1f}" y="{y + 13 * number:.1f}" text-anchor="{anchor}"'
            self.labels.append(f'<text class="label" {place}>{html.escape(line)}</text>')

    def svg(self) -> str:
        """The drawing on one line of text."""
        for box in self.placed:
            inside = box.x >= 0 and box.y >= 0 and box.x + box.width <= WIDTH and box.y + box.height <= self.height
            assert inside, f"{self.title}: {box} leaves the drawing"
        marker = (
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6.5" markerHeight="6.5" '
            'orient="auto-start-reverse"><path d="M0,0.5L8,4L0,7.5Z"/></marker></defs>'
        )
        parts = "".join([marker, *self.frames, *self.wires, *self.boxes, *self.labels])
        shape = f'viewBox="0 0 {WIDTH} {self.height}"'
        return f'<svg class="drawing" role="img" aria-label="{html.escape(self.title)}" {shape}>{parts}</svg>'


def _hint(of: type | None) -> str:
    """What a reader sees who points at a block: the class."""
    return f"<title>{of.__module__}.{of.__qualname__}</title>" if of else ""
