"""What Yang et al. 2016 state of memories chosen together with schedules (Fig. 6 to 9), beside what was found."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hwgen.papers.claims import Claim, Largest, Least, Quantity, about, between, cases
from hwgen.papers.yang.claims import ABOUT, DOMINATES, of_benchmarks
from hwgen.papers.yang.designs import CORES, LARGE, MEDIUM, NARROW, WIDE, CoreRow, DesignRow
from hwgen.papers.yang.rows import OnDianNao

__all__ = ["core_claims", "design_claims"]

GAIN_LARGE, GAIN_MEDIUM = 13, 10
"""How many times less energy than DianNao with its best schedule, with 8 MB and with 1 MB."""
GAIN_OFF = 0.1
"""Parts of "at least 13 times" that the least gain may be off."""
MOST_OF_MACS = 0.8
LARGE_IMAGES, LARGEST = ("Conv1", "Conv2"), "Conv2"
SMALL_SHUFFLE = 0.1
"""Parts of the energy on chip below which the shuffle counts as small."""
SMALL_DECREASE = 0.8
"""Parts of the energy of one core down to which a decrease counts as small."""


@dataclass(frozen=True)
class _Reading:
    """How energies are compared.

    Members
    -------
    theirs, ours : bits of an access on DianNao's side, and on that of the design.
    alone : the memories alone, without multiply-accumulates on either side.
    """

    theirs: int
    ours: int
    alone: bool

    @property
    def text(self) -> str:
        """The reading in words."""
        widths = (
            f"accesses of {self.ours} bits on both sides"
            if self.theirs == self.ours
            else f"DianNao in accesses of {self.theirs} bits, the design of {self.ours}"
        )
        return f"{widths}, {'the memories alone' if self.alone else 'with the multiply-accumulates'}"


READINGS = [
    _Reading(theirs, ours, alone)
    for alone in (False, True)
    for theirs, ours in ((NARROW, WIDE), (WIDE, WIDE), (NARROW, NARROW))
]
"""The text asks for wide accesses of the memories that are designed (Section 4.2) and says nothing of DianNao's. Fig.
6 shows a total of core and memory; the energy of a multiply-accumulate, which is on both sides, is not printed."""


def design_claims(rows: Sequence[DesignRow], diannao: Sequence[OnDianNao]) -> list[Claim]:
    """Fig. 6 to 8; ``diannao``: the best schedules of Fig. 5, at the narrow width."""
    return [
        *(_gain(rows, reading) for reading in READINGS),
        *(_most(rows, reading) for reading in READINGS),
        _saved(rows, diannao),
        _still(rows),
        *(_medium(rows, reading) for reading in READINGS),
        *(_kept(rows, reading) for reading in READINGS),
        _area(rows),
        *(_below_macs(rows, width) for width in (WIDE, NARROW)),
        _batch(rows),
    ]


def _at(rows: Iterable[DesignRow], budget: int, width: int) -> list[DesignRow]:
    """The rows of convolutions."""
    return [row for row in rows if (row.budget, row.width) == (budget, width) and row.diannao is not None]


def _gains(rows: Sequence[DesignRow], budget: int, reading: _Reading) -> dict[str, float]:
    """How many times less energy each layer takes, read so."""
    before = {row.layer: (row.diannao or 0) for row in _at(rows, budget, reading.theirs)}
    return {
        row.layer: (before[row.layer] - row.mac) / row.memory
        if reading.alone
        else before[row.layer] / (row.memory + row.mac)
        for row in _at(rows, budget, reading.ours)
        if row.layer in before
    }


def _gain(rows: Sequence[DesignRow], reading: _Reading) -> Claim:
    gains = _gains(rows, LARGE, reading)
    before = {row.layer: row.diannao or 0 for row in _at(rows, LARGE, reading.theirs)}
    most = {
        row.layer: before[row.layer] / (row.mac + row.dram)
        for row in _at(rows, LARGE, reading.ours)
        if row.layer in before
    }
    remark = (
        ""
        if reading.alone
        else "The energy of a multiply-accumulate is not printed; ours, 0.9 pJ, is in both sums: were the memories "
        f"on chip for nothing, it would be {_times(most)}. "
    )
    return Claim(
        "5.2, Fig. 6",
        "memories and schedule designed together within 8 MB: at least 13 times less energy than DianNao with its "
        "best schedule",
        _times(gains) or "-",
        f"The least gain of the layers, to a tenth. {remark}Each layer has memories of its own.",
        scope=of_benchmarks([*gains]),
        parts=(Least.of(about("least", min(gains.values()), GAIN_LARGE, GAIN_OFF, gain="more")),) if gains else (),
        reading=reading.text,
    )


def _most(rows: Sequence[DesignRow], reading: _Reading) -> Claim:
    gains = _gains(rows, LARGE, reading)
    return Claim(
        "abstract",
        "optimized blockings improve the energy efficiency of custom hardware by up to an order of magnitude",
        _times(gains) or "-",
        "An order of magnitude: 10 times, to a fifth. Section 5.2 says at least 13.",
        scope=of_benchmarks([*gains]),
        parts=(Largest.of(about("most", max(gains.values()), 10, ABOUT, gain="more")),) if gains else (),
        reading=reading.text,
    )


def _saved(rows: Sequence[DesignRow], diannao: Sequence[OnDianNao]) -> Claim:
    before = {row.layer: row.dram_i + row.dram_o for row in diannao if row.schedule == "best"}
    saved = {
        row.layer: before[row.layer] / (row.dram_i + row.dram_o)
        for row in _at(rows, LARGE, WIDE)
        if row.layer in LARGE_IMAGES and row.layer in before
    }
    return Claim(
        "5.2, Fig. 6",
        "even of Conv1 and Conv2, whose images are largest, inputs and outputs from the DRAM are saved",
        f"the two take {_times(saved)} times less energy" if saved else "-",
        "Saved: at least half of them." if saved else "Neither of the two was computed.",
        scope=f"{len(saved)} of the two layers",
        parts=tuple(between(layer, 100 * (1 - 1 / ratio), 50, 100, "% saved") for layer, ratio in saved.items()),
    )


def _still(rows: Sequence[DesignRow]) -> Claim:
    found = [row for row in _at(rows, LARGE, WIDE) if row.layer == LARGEST]
    shares = [100 * (row.dram_i + row.dram_o) / row.memory for row in found]
    return Claim(
        "5.2, Fig. 6",
        "inputs and outputs of Conv2 still take a large energy of the DRAM",
        ", ".join(f"{share:.0f} % of the memories' energy" for share in shares) or "-",
        "Large: more than half." if shares else "The layer was not computed.",
        scope=LARGEST,
        parts=tuple(Quantity("share", share, *DOMINATES, "%") for share in shares),
    )


def _medium(rows: Sequence[DesignRow], reading: _Reading) -> Claim:
    gains = _gains(rows, MEDIUM, reading)
    return Claim(
        "5.2, Fig. 7",
        "with 1 MB about 10 times less energy",
        _times(gains) or "-",
        "Each layer, to a fifth; the reason is that of 8 MB.",
        scope=of_benchmarks([*gains]),
        parts=tuple(about(layer, gain, GAIN_MEDIUM, ABOUT, gain="more") for layer, gain in gains.items()),
        reading=reading.text,
    )


def _kept(rows: Sequence[DesignRow], reading: _Reading) -> Claim:
    large, medium = _gains(rows, LARGE, reading), _gains(rows, MEDIUM, reading)
    kept = {layer: 100 * medium[layer] / gain for layer, gain in large.items() if layer in medium}
    return Claim(
        "5.2, Fig. 7",
        "1 MB has most of the gain of 8 MB: 10 of 13 times",
        ", ".join(f"{layer} {part:.0f} %" for layer, part in kept.items()) or "-",
        "The gain with 1 MB in percent of that with 8 MB: 77, to a fifth. It hangs less on the energy of a "
        "multiply-accumulate.",
        scope=of_benchmarks([*kept]),
        parts=tuple(
            about(layer, part, 100 * GAIN_MEDIUM / GAIN_LARGE, ABOUT, "%", "more") for layer, part in kept.items()
        ),
        reading=reading.text,
    )


def _area(rows: Sequence[DesignRow]) -> Claim:
    used = {row.layer: row.area for row in _at(rows, LARGE, WIDE)}
    return Claim(
        "5.2, Fig. 7",
        "8 MB take 45 mm2, 45 times DianNao, and 1 MB six times",
        "8 MB allowed, used: " + ", ".join(f"{layer} {area:.1f} mm2" for layer, area in used.items()),
        "The area of a byte and that of the datapath are taken from these two figures, so they are no evidence.",
        scope=of_benchmarks([*used]),
    )


def _below_macs(rows: Sequence[DesignRow], width: int) -> Claim:
    found = {_called(row): row for row in rows if (row.budget, row.width) == (LARGE, width) and _counts(row, rows)}
    return Claim(
        "Fig. 8",
        "with 8 MB the memories take less than 80 % of the energy of the multiply-accumulates, in all convolutions "
        "and fully connected layers",
        _shares({name: row.share for name, row in found.items()}),
        f"The DRAM alone: {_shares({name: row.dram / row.mac for name, row in found.items()})}; most of it moves "
        "every operand once, which no schedule of one image avoids. Fully connected layers with the most images that "
        "were computed; the paper does not print how many it has.",
        scope=f"{len(found)} of the 7 layers of Table 4 with weights",
        parts=tuple(between(name, 100 * row.share, 0, 100 * MOST_OF_MACS, "%") for name, row in found.items()),
        reading="" if width == WIDE else f"accesses of {width} bits",
    )


def _counts(row: DesignRow, rows: Sequence[DesignRow]) -> bool:
    """Whether a row is a convolution, or its layer with the most images."""
    return row.images == max(other.images for other in rows if other.layer == row.layer)


def _batch(rows: Sequence[DesignRow]) -> Claim:
    shares: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        if row.diannao is None and (row.budget, row.width) == (LARGE, WIDE):
            shares.setdefault(row.layer, []).append((row.images, row.share))
    falls = [min(found)[1] > max(found)[1] for found in shares.values()]
    return Claim(
        "3.1",
        "one sometimes wants to block over images as well, especially in fully connected layers",
        "; ".join(
            f"{layer} {', '.join(f'{share:.2f} with {images}' for images, share in found)}"
            for layer, found in shares.items()
        )
        or "-",
        "Memories in parts of the multiply-accumulates, by images. Sometimes: in a layer at least."
        if falls
        else "No fully connected layer was computed.",
        scope=f"{len(falls)} fully connected layers of Table 4",
        parts=(between("layers in which it helps", sum(falls), 1, len(falls)),) if falls else (),
    )


def core_claims(rows: Sequence[CoreRow]) -> list[Claim]:
    """Fig. 9."""
    return [_largest(rows), _sharing(rows), _more_cores(rows), _small_fall(rows), _shuffle(rows)] if rows else []


def _schedules(rows: Sequence[CoreRow]) -> dict[int, CoreRow]:
    return {row.schedule: row for row in rows if row.cores == 1}


def _of_schedules(rows: Sequence[CoreRow]) -> str:
    return f"Conv1, the best {len(_schedules(rows))} of the schedules that were found here, not the paper's"


def _largest(rows: Sequence[CoreRow]) -> Claim:
    first = _schedules(rows)
    found = {
        number: {"I": row.last_bytes_i, "W": row.last_bytes_w, "O": row.last_bytes_o} for number, row in first.items()
    }
    return Claim(
        "5.3, Fig. 9",
        "in all four best schedules of Conv1 the last level of weights dominates the area",
        "; ".join(
            f"schedule {number}: {', '.join(f'{operand} {size >> 10:,} KiB' for operand, size in sizes.items())}"
            for number, sizes in found.items()
        ),
        "Bytes of the last levels within 8 MB: schedules in which that of weights is the largest.",
        scope=_of_schedules(rows),
        parts=cases("schedules", (sizes["W"] > max(sizes["I"], sizes["O"]) for sizes in found.values())),
    )


def _pairs(rows: Sequence[CoreRow]) -> dict[tuple[int, int], tuple[CoreRow, CoreRow]]:
    """Pairs by schedule and cores, above one: with the larger memory shared, and with it split."""
    found = {}
    for row in rows:
        if row.cores > 1 and row.shared == row.large:
            (other,) = (
                one for one in rows if (one.schedule, one.cores) == (row.schedule, row.cores) and one is not row
            )
            found[row.schedule, row.cores] = row, other
    return found


def _sharing(rows: Sequence[CoreRow]) -> Claim:
    ratios = {key: split.on_chip / shared.on_chip for key, (shared, split) in _pairs(rows).items()}
    large = {number: row.large for number, row in _schedules(rows).items()}
    return Claim(
        "5.3, Fig. 9",
        "sharing the large buffer takes less energy than splitting it and sharing the other one",
        "; ".join(
            f"schedule {number} ({large[number]} is large): "
            + ", ".join(f"{ratios[number, cores]:.2f} on {cores}" for cores in CORES[1:])
            for number in large
        ),
        "Energy on chip with the larger one of inputs and weights split, in parts of that with it shared, by cores: "
        "cases above 1.",
        scope=_of_schedules(rows),
        parts=cases("cases", (ratio > 1 for ratio in ratios.values())),
    )


def _falls(rows: Sequence[CoreRow]) -> list[list[float]]:
    """The energy on chip of each schedule on all numbers of cores, in parts of that on one, the larger shared."""
    found = []
    for number, one in _schedules(rows).items():
        energies = [one.on_chip, *(_pairs(rows)[number, cores][0].on_chip for cores in CORES[1:])]
        found.append([later / energies[0] for later in energies])
    return found


def _more_cores(rows: Sequence[CoreRow]) -> Claim:
    falls = _falls(rows)
    return Claim(
        "5.3, Fig. 9",
        "with the large buffer shared, more cores always take less energy",
        "; ".join(
            f"schedule {number}: {', '.join(f'{part:.2f}' for part in parts)}"
            for number, parts in enumerate(falls, 1)
        ),
        f"Energy on chip on {', '.join(map(str, CORES))} cores, in parts of that on one: schedules in which every "
        "step falls.",
        scope=_of_schedules(rows),
        parts=cases("schedules", (all(later < before for before, later in pairwise(parts)) for parts in falls)),
    )


def _small_fall(rows: Sequence[CoreRow]) -> Claim:
    falls = _falls(rows)
    return Claim(
        "5.3",
        "performance can be increased with a small decrease in the energy of an operation",
        f"on {CORES[-1]} cores {', '.join(f'{parts[-1]:.2f}' for parts in falls)} of that on one",
        "Energy on chip. Small: up to a fifth.",
        scope=_of_schedules(rows),
        parts=tuple(
            between(f"schedule {number}", parts[-1], SMALL_DECREASE, 1, gain="less")
            for number, parts in enumerate(falls, 1)
        ),
    )


def _shuffle(rows: Sequence[CoreRow]) -> Claim:
    most = max(row.shuffle / row.on_chip for row in rows if row.shuffle)
    return Claim(
        "5.3, Fig. 9",
        "the energy of the shuffle between layers is small",
        f"at most {100 * most:.2f} % of the energy on chip",
        f"Every output is read once and sent across the chip. Small: up to {100 * SMALL_SHUFFLE:.0f} %.",
        scope=_of_schedules(rows),
        parts=(between("most", 100 * most, 0, 100 * SMALL_SHUFFLE, "%"),),
    )


def _called(row: DesignRow) -> str:
    return row.layer if row.images == 1 else f"{row.layer} ({row.images} images)"


def _times(ratios: Mapping[str, float]) -> str:
    return ", ".join(f"{layer} {ratio:.1f}" for layer, ratio in ratios.items())


def _shares(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{layer} {100 * share:.0f} %" for layer, share in shares.items())
