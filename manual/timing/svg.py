"""WaveDrom's JSON as SVG in the colours of the page: the part of the format that the manual uses."""

import html
from collections.abc import Iterator
from typing import Any

__all__ = ["timing_svg"]

CYCLE = 46
"""Pixels of a cycle."""
LANE = 28
HEIGHT = 18
"""Pixels of a lane, and of a signal in it."""
SLOPE = 3
CHARACTER = 7.3


def timing_svg(diagram: dict[str, Any], title: str) -> str:
    """One diagram on one line of text. Known are ``p``, ``0``, ``1``, ``x``, ``=``, ``.`` and ``|``."""
    signals = diagram["signal"]
    left = 10 + CHARACTER * max(len(signal["name"]) for signal in signals)
    cycles = len(signals[0]["wave"])
    width, height = left + CYCLE * cycles + 6, LANE * len(signals) + 10
    parts = [
        f'<path class="grid" d="M{left + CYCLE * cycle:.1f},0V{height}"/>'
        for cycle in range(cycles)
        if signals[0]["wave"][cycle] != "|"
    ]
    for number, signal in enumerate(signals):
        y = LANE * number + 8
        parts.append(f'<text class="name" x="{left - 8:.1f}" y="{y + 14}">{html.escape(signal["name"])}</text>')
        parts += _lane(signal["wave"], list(signal.get("data", [])), left, y)
    shape = f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
    return f'<svg class="timing" role="img" aria-label="{html.escape(title)}" {shape}>{"".join(parts)}</svg>'


def _lane(wave: str, labels: list[str], left: float, y: int) -> Iterator[str]:
    """The shapes of one signal."""
    if wave[0] == "p":
        for cycle, symbol in enumerate(wave):
            x = left + CYCLE * cycle
            yield _gap(x, y) if symbol == "|" else _clock(x, y)
        return
    before = ""
    for first, length, symbol in _runs(wave):
        x, end = left + CYCLE * first, left + CYCLE * (first + length)
        if symbol == "|":
            yield _gap(x, y)
        elif symbol in "01":
            yield _level(x, end, y, symbol, before)
        else:
            yield _value(x, end, y, labels.pop(0) if symbol == "=" else None)
        before = symbol
    assert not labels


def _runs(wave: str) -> Iterator[tuple[int, int, str]]:
    """Where each value begins, for how many cycles it lasts, and its symbol."""
    starts = [place for place, symbol in enumerate(wave) if symbol != "."]
    for place, after in zip(starts, [*starts[1:], len(wave)], strict=True):
        if wave[place] == "|":
            assert after == place + 1, "after a gap every value is said anew"
        yield place, after - place, wave[place]


def _clock(x: float, y: int) -> str:
    half = CYCLE / 2
    return f'<path class="line" d="M{x:.1f},{y + HEIGHT}V{y}h{half}v{HEIGHT}h{half}"/>'


def _level(x: float, end: float, y: int, symbol: str, before: str) -> str:
    height = y if symbol == "1" else y + HEIGHT
    start = y if before == "1" else y + HEIGHT if before == "0" else height
    return f'<path class="line" d="M{x:.1f},{start}L{x + SLOPE:.1f},{height}H{end:.1f}"/>'


def _value(x: float, end: float, y: int, label: str | None) -> str:
    """A value with its text, or a band where no value counts."""
    middle = y + HEIGHT / 2
    shape = (
        f"M{x:.1f},{middle}L{x + SLOPE:.1f},{y}H{end - SLOPE:.1f}L{end:.1f},{middle}"
        f"L{end - SLOPE:.1f},{y + HEIGHT}H{x + SLOPE:.1f}Z"
    )
    if label is None:
        return f'<path class="idle" d="{shape}"/>'
    text = f'<text class="value" x="{(x + end) / 2:.1f}" y="{y + 13}">{html.escape(label)}</text>'
    return f'<path class="value" d="{shape}"/>{text}'


def _gap(x: float, y: int) -> str:
    middle = x + CYCLE / 2
    return f'<text class="gap" x="{middle:.1f}" y="{y + 13}">…</text>'
