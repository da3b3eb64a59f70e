"""The published models and engines that schedules are compared with.

CACHE (Wolf and Lam 1991) and PEEMEN (Peemen et al. 2013) as Stoutchinin et al. 2019 state them in Appendix A,
Eq. 5-10: plain figures, not nests, for a tile of ``m`` by ``c`` by ``y`` by ``x`` (their mss, css, iss, jss) that
must fit the buffer as a whole. CACHE moves the whole tile for each of its executions (Eq. 6). PEEMEN keeps what two
consecutive executions share; the traffic is that of Eq. 6 "as if the innermost controlling loop were not tiled"
(Eq. 7-10).

Readings. The appendix leaves two things open; `Reading` says which one is taken.

- *Partial sums*: Eq. 5-10 count elements. Here (``sums="acc"``) an element of O takes the accumulator's width in the
  buffer and wherever the equations count it twice (one read, one write of a partial sum), and the output's width
  where they count it once (Eq. 8): the widths that our own schedules are charged. ``sums="output"`` takes the
  output's width throughout, which is the equations with every element one byte; it lets the baselines keep four
  times as many sums as hardware with 32-bit sums could.
- *Halos*: as printed, a tile touches ``(y - 1) * stride + kernel`` rows, also where that is more than the image has
  (padding). ``halo="clipped"`` takes at most the image.

Eq. 9 and 10 are printed with iss and jss exchanged in the number of tiles and in B(O): with LTSY innermost it is the
column tiles that remain. The rule in the text, quoted above, is what is implemented; square tiles give the printed
figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import Bits

__all__ = ["TILED", "Baseline", "Reading", "Tile", "baseline", "best_baselines", "candidate_steps"]

Model = Literal["CACHE", "PEEMEN"]
Ints = NDArray[np.int64]
TILED: tuple[Dim, ...] = ("m", "c", "y", "x")
EIGHT_BITS = Bits()


@dataclass(frozen=True, slots=True)
class Reading:
    """How the open points of Appendix A are read; see the module's text."""

    sums: Literal["acc", "output"] = "acc"
    halo: Literal["printed", "clipped"] = "printed"


@dataclass(frozen=True, slots=True)
class Tile:
    """Sizes of the innermost tile: output channels, input channels, output rows, output columns."""

    m: int
    c: int
    y: int
    x: int


@dataclass(frozen=True, slots=True)
class Baseline:
    """A published model's figure for one tile: bytes moved, bytes of buffer, PEEMEN's innermost controlling loop."""

    model: Model
    tile: Tile
    innermost: Dim | None
    need_bytes: int
    input_bytes: int
    weight_bytes: int
    output_bytes: int

    @property
    def total_bytes(self) -> int:
        """Traffic of I, W and O."""
        return self.input_bytes + self.weight_bytes + self.output_bytes


# --- the equations, on single tiles or on whole grids of them ---


@dataclass(frozen=True)
class _Equations:
    """Appendix A for one group of a layer. Tile sizes may be arrays that broadcast against each other."""

    layer: Layer
    bits: Bits
    reading: Reading

    @property
    def extents(self) -> dict[Dim, int]:
        return {**self.layer.extents, "m": self.layer.outputs_per_group}

    @property
    def sum_bytes(self) -> int:
        return (self.bits.acc if self.reading.sums == "acc" else self.bits.O) // 8

    def touched(self, outputs: Ints, axis: int) -> Ints:
        """Rows (axis 0) or columns of the input that ``outputs`` rows or columns of a tile read."""
        touched: Ints = (outputs - 1) * self.layer.stride[axis] + self.layer.kernel[axis]
        return np.minimum(touched, self._image(axis)) if self.reading.halo == "clipped" else touched

    def _image(self, axis: int) -> int:
        return (self.layer.input_height, self.layer.input_width)[axis]

    def need(self, tile: Mapping[Dim, Ints]) -> Ints:
        """Eq. 5, in bytes."""
        inputs = tile["c"] * self.touched(tile["y"], 0) * self.touched(tile["x"], 1)
        weights = tile["m"] * tile["c"] * self.layer.kernel[0] * self.layer.kernel[1]
        sums = tile["m"] * tile["y"] * tile["x"]
        need: Ints = inputs * (self.bits.I // 8) + weights * (self.bits.W // 8) + sums * self.sum_bytes
        return need

    def traffic(self, tile: Mapping[Dim, Ints], innermost: Dim | None) -> tuple[Ints, Ints, Ints]:
        """Bytes of I, W and O: Eq. 6 without an innermost controlling loop, else Eq. 7-10."""
        size = dict(tile)
        if innermost is not None:
            size[innermost] = np.full_like(tile[innermost], self.extents[innermost])
        tiles: Ints = np.ones(1, np.int64)
        for dim in TILED:
            tiles = tiles * -(-self.extents[dim] // size[dim])
        lines = [self.touched(size["y"], 0), self.touched(size["x"], 1)]
        if innermost in ("y", "x"):
            axis = ("y", "x").index(innermost)
            whole = self._image(axis)
            lines[axis] = np.minimum(lines[axis], whole) if self.reading.halo == "clipped" else np.full_like(
                lines[axis], whole
            )  # fmt: skip
        area = self.layer.kernel[0] * self.layer.kernel[1]
        per_output = self.bits.O // 8 if innermost == "c" else 2 * self.sum_bytes
        moved = tiles * self.layer.groups
        return (
            moved * size["c"] * lines[0] * lines[1] * (self.bits.I // 8),
            moved * size["m"] * size["c"] * area * (self.bits.W // 8),
            moved * size["m"] * size["y"] * size["x"] * per_output,
        )


def baseline(
    layer: Layer, tile: Tile, innermost: Dim | None = None, *, reading: Reading = Reading(), bits: Bits = EIGHT_BITS
) -> Baseline:
    """One tile's figures: CACHE (Eq. 6) without ``innermost``, PEEMEN with one of m, c, y, x (Eq. 7-10).

    In a grouped layer the equations hold for one group, and the traffic is that of all groups.
    """
    equations = _Equations(layer, bits, reading)
    sizes: dict[Dim, Ints] = {dim: np.array([getattr(tile, dim)], np.int64) for dim in TILED}
    for dim, size in sizes.items():
        if not 1 <= size[0] <= equations.extents[dim]:
            raise ValueError(f"tile: {dim}: expected 1 to {equations.extents[dim]}, got {size[0]}")
    moved = equations.traffic(sizes, innermost)
    return Baseline(
        "CACHE" if innermost is None else "PEEMEN",
        tile,
        innermost,
        int(equations.need(sizes)[0]),
        *(int(np.broadcast_to(part, (1,))[0]) for part in moved),
    )


# --- their best tiles ---


def candidate_steps(extent: int) -> tuple[int, ...]:
    """Candidates of steps: of all tile sizes that cut an extent into equally many tiles, the smallest.

    The others move and hold no less in Eq. 5-10, each of whose terms grows with a tile's size while the number of
    tiles stays. (Our own model is not like that: see `hwgen.search`.)
    """
    return tuple(sorted({-(-extent // pieces) for pieces in range(1, extent + 1)}))


def best_baselines(
    layer: Layer,
    model: Model,
    budgets: Sequence[int],
    *,
    reading: Reading = Reading(),
    bits: Bits = EIGHT_BITS,
    tiles: Mapping[Dim, Sequence[int]] | None = None,
) -> tuple[Baseline | None, ...]:
    """The least traffic that a model finds within each budget of bytes; None where no tile fits.

    Over all integer tiles by default, or over the given sizes of m, c, y and x. Ties go to the smaller buffer, then
    to the earlier innermost loop (m, c, y, x), then to the smaller tile in that order.
    """
    equations = _Equations(layer, bits, reading)
    steps = {dim: tuple((tiles or {}).get(dim) or candidate_steps(equations.extents[dim])) for dim in TILED}
    axes = np.meshgrid(*(np.array(steps[dim], np.int64) for dim in TILED), indexing="ij", sparse=True)
    grid: dict[Dim, Ints] = dict(zip(TILED, axes, strict=True))
    shape = tuple(len(steps[dim]) for dim in TILED)
    need = np.broadcast_to(equations.need(grid), shape).ravel()
    best: list[tuple[int, int, int, int] | None] = [None] * len(budgets)
    loops: tuple[Dim | None, ...] = TILED if model == "PEEMEN" else (None,)
    for order, innermost in enumerate(loops):
        inputs, weights, outputs = equations.traffic(grid, innermost)
        total = np.broadcast_to(inputs + weights + outputs, shape).ravel()
        for which, budget in enumerate(budgets):
            found = _least(total, need, budget)
            if found is not None:
                key = (int(total[found]), int(need[found]), order, found)
                previous = best[which]
                best[which] = key if previous is None else min(previous, key)
    return tuple(
        None
        if key is None
        else baseline(layer, _tile(steps, shape, key[3]), loops[key[2]], reading=reading, bits=bits)
        for key in best
    )


def _least(total: Ints, need: Ints, budget: int) -> int | None:
    """Index of the least traffic that fits, then of the least need, then the first."""
    fitting = np.flatnonzero(need <= budget)
    if not len(fitting):
        return None
    least = fitting[total[fitting] == total[fitting].min()]
    return int(least[need[least].argmin()])


def _tile(steps: Mapping[Dim, Sequence[int]], shape: tuple[int, ...], flat: int) -> Tile:
    index = np.unravel_index(flat, shape)
    return Tile(*(steps[dim][int(i)] for dim, i in zip(TILED, index, strict=True)))
