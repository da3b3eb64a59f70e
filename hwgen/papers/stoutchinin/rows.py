"""The figures of Stoutchinin, Conti, Benini 2019 computed anew: rows of plain values for tables and plots.

Fig. 4 and 5: traffic against buffer size of our schedules and of the models CACHE and PEEMEN, at their own best
tiles. The paper leaves open how wide a partial sum is in its comparison, so both readings are computed, each with
the same widths for all three models: ``bytes`` (8-bit data, 32-bit sums: what hardware moves) and ``elements`` (a
sum counts like any other element, as Appendix A writes it; halos clipped to the image, which is kinder to the
baselines). Which tiles are tried is open, too: section IV-C samples them (powers of two and what layers have), IV-D
says all; each width has both, for all three models. Fig. 10: HWCE against the HWC with each layer's best loops; with
the loops of Fig. 8 it is in `hwgen.papers.stoutchinin.published_nest`. Fig. 7 is in
`hwgen.papers.stoutchinin.loop_orders`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

from hwgen.arch.hwc import ALONG_X
from hwgen.ir.hardware import Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits
from hwgen.model.nest.bounds import bounds
from hwgen.model.nest.one_level import predict
from hwgen.papers.stoutchinin.model import TILED, Reading, best_baselines
from hwgen.papers.stoutchinin.sampling import powers_of_two, sampled
from hwgen.search.core.batch import Request, search_layers
from hwgen.studies.regress.published_nests import hwce, hwce_stripe

__all__ = [
    "HWC_BYTES",
    "NETWORKS",
    "READINGS",
    "SIZES",
    "TABLE",
    "Engines",
    "Search",
    "Traffic",
    "engines",
    "exceptions",
    "median_ratios",
    "network_of",
    "totals",
    "traffic",
]

TABLE = "stoutchinin_2019"
NETWORKS = ("alexnet", "zfnet", "vgg", "inception", "resnet")
SIZES = tuple(1024 << power for power in range(10))
HWC_BYTES = 1024

Kind = Literal["bytes", "elements", "bytes, sampled", "elements, sampled"]
READINGS: dict[Kind, tuple[Bits, Reading]] = {
    "bytes": (Bits(), Reading("acc", "printed")),
    "elements": (Bits(acc=8), Reading("output", "clipped")),
    "bytes, sampled": (Bits(), Reading("acc", "printed")),
    "elements, sampled": (Bits(acc=8), Reading("output", "clipped")),
}
"""Element widths of all models, and the reading of the baselines' equations; *sampled*: powers of two and the whole
extent, in place of all integer tiles."""
SAMPLED = frozenset[Kind](("bytes, sampled", "elements, sampled"))


@dataclass(frozen=True)
class Search:
    """How to search: parallel processes, a folder that keeps finished layers, and a call after each layer."""

    jobs: int = 1
    store: Path | None = None
    progress: Callable[[Layer], None] | None = None


@dataclass(frozen=True)
class Traffic:
    """One layer, or the sum of a network's, at one buffer size: bytes by our schedules and by the published models.

    Members
    -------
    reading : widths, a key of `READINGS`.
    peemen, cache : None where no tile of the model fits.
    essential : every element once.
    inputs, outputs : bytes of all inputs, and of all outputs as sums, of one layer.
    keeps_sums : whether our schedule keeps every sum on chip until it is complete; None where it is not known.
    bound : the larger of ``essential`` and the communication bound (`hwgen.model.nest.bounds`); of a sum of rows, the
        sum of theirs.
    """

    network: str
    layer: str
    reading: Kind
    buffer_bytes: int
    ours: int
    peemen: int | None
    cache: int | None
    essential: int
    bound: int
    inputs: int = 0
    outputs: int = 0
    keeps_sums: bool | None = None

    @property
    def peemen_overhead(self) -> float | None:
        """Percent that PEEMEN moves more than ours (Fig. 5)."""
        return None if self.peemen is None else 100 * (self.peemen / self.ours - 1)

    @property
    def saving(self) -> float | None:
        """Percent that ours moves less than PEEMEN."""
        return None if self.peemen is None else 100 * (1 - self.ours / self.peemen)

    @property
    def cache_factor(self) -> float | None:
        """CACHE over ours."""
        return None if self.cache is None else self.cache / self.ours

    @property
    def ratio(self) -> float:
        """Ours over the bound."""
        return self.ours / self.bound

    @property
    def ordered(self) -> bool:
        """Ours <= PEEMEN <= CACHE; a model without a fitting tile counts as infinitely much."""
        peemen = float("inf") if self.peemen is None else self.peemen
        return self.ours <= peemen <= (float("inf") if self.cache is None else self.cache)


def network_of(layer: Layer) -> str:
    """The network that a row of the layer table belongs to."""
    return layer.name.partition("_")[0]


def traffic(layers: Sequence[Layer], sizes: Sequence[int], reading: Kind, how: Search) -> list[Traffic]:
    """Each layer at each buffer size."""
    bits, equations = READINGS[reading]
    ours = _sampled(layers, sizes, bits, how) if reading in SAMPLED else _searched(layers, sizes, bits, how)
    rows = []
    for layer, by_size in zip(layers, ours, strict=True):
        tiles = None
        if reading in SAMPLED:
            extents = {**layer.extents, "m": layer.outputs_per_group}
            tiles = {dim: tuple(map(int, powers_of_two(extents[dim]).nonzero()[0])) for dim in TILED}
        peemen, cache = (
            best_baselines(layer, model, sizes, reading=equations, bits=bits, tiles=tiles)
            for model in ("PEEMEN", "CACHE")
        )
        for size, (least, keeps), better, worse in zip(sizes, by_size, peemen, cache, strict=True):
            marks = bounds(layer, size, bits)
            rows.append(
                Traffic(
                    network_of(layer),
                    layer.name,
                    reading,
                    size,
                    least,
                    None if better is None else better.total_bytes,
                    None if worse is None else worse.total_bytes,
                    marks.compulsory,
                    marks.largest,
                    layer.input_elements * bits.I // 8,
                    layer.output_elements * bits.acc // 8,
                    keeps,
                )
            )
    return rows


Least = list[tuple[int, bool | None]]
"""The least bytes at each size, and whether that schedule keeps its sums on chip."""


def _searched(layers: Sequence[Layer], sizes: Sequence[int], bits: Bits, how: Search) -> list[Least]:
    """The best of all schedules of each layer."""
    request = Request(tuple(sizes), bits=bits)
    searched = search_layers(layers, request, jobs=how.jobs, store=how.store, progress=how.progress)
    return [
        [(one.total_bytes, predict(one.schedule).counts["tcdm", "O", "read_partial"].bytes == 0) for one in results]
        for results in searched
    ]


def _sampled(layers: Sequence[Layer], sizes: Sequence[int], bits: Bits, how: Search) -> list[Least]:
    """The best schedule of the published sampling of each layer; layers alike but for their names once."""
    known: dict[str, Least] = {}
    rows = []
    for layer in layers:
        key = layer.model_dump_json(exclude={"name", "requantisation"})
        if key not in known:
            known[key] = [(least, None) for least in sampled(layer, sizes, bits) if least is not None]
        rows.append(known[key])
        if how.progress is not None:
            how.progress(layer)
    return rows


def totals(rows: Iterable[Traffic]) -> list[Traffic]:
    """Sums over the layers of each network, reading and size; None where a model has no tile for one of them."""
    groups: dict[tuple[str, Kind, int], list[Traffic]] = {}
    for row in rows:
        groups.setdefault((row.network, row.reading, row.buffer_bytes), []).append(row)
    return [
        Traffic(
            network,
            f"{len(group)} layers",
            reading,
            size,
            sum(row.ours for row in group),
            _sum(row.peemen for row in group),
            _sum(row.cache for row in group),
            sum(row.essential for row in group),
            sum(row.bound for row in group),
        )
        for (network, reading, size), group in groups.items()
    ]


def _sum(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def exceptions(rows: Iterable[Traffic]) -> list[Traffic]:
    """Rows where ours <= PEEMEN <= CACHE does not hold."""
    return [row for row in rows if not row.ordered]


def median_ratios(rows: Iterable[Traffic]) -> dict[int, float]:
    """The median, for each buffer size, of the layers' ratios to the bound, sums of four bytes."""
    ratios: dict[int, list[float]] = {}
    for row in rows:
        if row.reading == "bytes":
            ratios.setdefault(row.buffer_bytes, []).append(row.ratio)
    return {size: median(values) for size, values in ratios.items()}


# --- Fig. 10: two engines ---


@dataclass(frozen=True)
class Engines:
    """One layer at 1 KiB: the HWCE's nest and the HWC.

    Members
    -------
    pointwise : whether the kernel is 1x1.
    hwce : bytes of the HWCE with whole rows in its line buffer.
    hwce_need : bytes of that line buffer, its weights and its sum.
    stripe : widest stripe that fits; None if none does.
    hwce_striped : bytes of the HWCE in such stripes.
    best : bytes of the HWC with the layer's best loops.
    """

    network: str
    layer: str
    pointwise: bool
    hwce: int
    hwce_need: int
    stripe: int | None
    hwce_striped: int | None
    best: int

    @property
    def fits(self) -> bool:
        """Whether the line buffer holds whole rows: the paper has a bar only then."""
        return self.hwce_need <= HWC_BYTES

    @property
    def over_best(self) -> float | None:
        """HWCE over the HWC with the layer's best loops."""
        return self.hwce / self.best if self.fits else None


def engines(layers: Sequence[Layer], how: Search) -> list[Engines]:
    """HWCE and HWC of each layer, by the model: 16 lanes, allocated memories, what the hardware can run."""
    hwc = Hardware(name="hwc", lanes=ALONG_X, budget=HWC_BYTES)
    request = Request((HWC_BYTES,), hwc)
    best = search_layers(layers, request, jobs=how.jobs, store=how.store, progress=how.progress)
    rows = []
    for layer, (found,) in zip(layers, best, strict=True):
        whole, stripe = predict(hwce(layer)), hwce_stripe(layer, HWC_BYTES)
        rows.append(
            Engines(
                network_of(layer),
                layer.name,
                layer.kernel == (1, 1),
                whole.total_bytes,
                whole.need_bytes.total,
                stripe,
                None if stripe is None else predict(hwce(layer, stripe)).total_bytes,
                found.total_bytes,
            )
        )
    return rows
