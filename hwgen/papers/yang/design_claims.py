"""What Yang et al. 2016 state of memories chosen together with schedules (Fig. 6 to 9), beside what was found."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from hwgen.papers.claims import Claim, verdict_of
from hwgen.papers.yang.designs import CORES, LARGE, MEDIUM, NARROW, WIDE, CoreRow, DesignRow
from hwgen.papers.yang.rows import OnDianNao

__all__ = ["core_claims", "design_claims"]

GAIN_LARGE, GAIN_MEDIUM = 13, 10
"""How many times less energy than DianNao with its best schedule, with 8 MB and with 1 MB."""
ABOUT = 0.2
"""Parts of a figure that is printed as "about" within which one counts as reproduced."""
MOST_OF_MACS = 0.8
LARGE_IMAGES = ("Conv1", "Conv2")
SMALL_SHUFFLE = 0.1
"""Parts of the energy on chip below which the shuffle counts as small."""


def design_claims(rows: Sequence[DesignRow], diannao: Sequence[OnDianNao]) -> list[Claim]:
    """Fig. 6 to 8; ``diannao``: the best schedules of Fig. 5, at the narrow width."""
    return [
        _gain(rows),
        _saved(rows, diannao),
        _medium(rows),
        _kept(rows),
        _area(rows),
        _below_macs(rows),
        _batch(rows),
    ]


def _at(rows: Iterable[DesignRow], budget: int, width: int) -> list[DesignRow]:
    """The rows of convolutions."""
    return [row for row in rows if (row.budget, row.width) == (budget, width) and row.diannao is not None]


def _gains(rows: Iterable[DesignRow]) -> dict[str, float]:
    return {row.layer: row.gain for row in rows if row.gain is not None}


def _gain(rows: Sequence[DesignRow]) -> Claim:
    wide, narrow = _at(rows, LARGE, WIDE), _at(rows, LARGE, NARROW)
    most = {row.layer: (row.diannao or 0) / (row.mac + row.dram) for row in wide}
    alone = {row.layer: ((row.diannao or 0) - row.mac) / row.memory for row in wide}
    return Claim(
        "5.2, Fig. 6",
        "memories and schedule designed together within 8 MB: at least 13 times less energy than DianNao with its "
        "best schedule",
        _times(_gains(wide)),
        f"Accesses of {WIDE} bits on both sides; of {NARROW} bits: {_times(_gains(narrow))}. The energy of a "
        "multiply-accumulate is not printed; 0.9 pJ is ours, and it is in both sums: were the memories on chip for "
        f"nothing, it would be {_times(most)}. The memories alone take {_times(alone)} times less. "
        "Each layer has memories of its own.",
        verdict_of(gain >= GAIN_LARGE for gain in _gains(wide).values()),
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
        f"the two take {_times(saved)} times less energy",
        "Verdict: at least halved.",
        verdict_of(ratio >= 2 for ratio in saved.values()),
    )


def _medium(rows: Sequence[DesignRow]) -> Claim:
    wide, narrow = _gains(_at(rows, MEDIUM, WIDE)), _gains(_at(rows, MEDIUM, NARROW))
    return Claim(
        "5.2, Fig. 7",
        "with 1 MB about 10 times less energy",
        _times(wide),
        f"Of {NARROW} bits: {_times(narrow)}. Verdict: within a fifth; the reason is that of 8 MB.",
        verdict_of(abs(gain / GAIN_MEDIUM - 1) <= ABOUT for gain in wide.values()),
    )


def _kept(rows: Sequence[DesignRow]) -> Claim:
    large, medium = _gains(_at(rows, LARGE, WIDE)), _gains(_at(rows, MEDIUM, WIDE))
    kept = {layer: medium[layer] / gain for layer, gain in large.items()}
    return Claim(
        "5.2, Fig. 7",
        "1 MB has most of the gain of 8 MB: 10 of 13 times",
        ", ".join(f"{layer} {100 * part:.0f} %" for layer, part in kept.items()),
        "The gain with 1 MB in parts of that with 8 MB. It hangs less on the energy of a multiply-accumulate. "
        "Verdict: at least 10 / 13.",
        verdict_of(part >= GAIN_MEDIUM / GAIN_LARGE for part in kept.values()),
    )


def _area(rows: Sequence[DesignRow]) -> Claim:
    used = {row.layer: row.area for row in _at(rows, LARGE, WIDE)}
    return Claim(
        "5.2, Fig. 7",
        "8 MB take 45 mm2, 45 times DianNao, and 1 MB six times",
        "8 MB allowed, used: " + ", ".join(f"{layer} {area:.1f} mm2" for layer, area in used.items()),
        "The area of a byte and that of the datapath are taken from these two figures, so they are no evidence.",
        "not judged",
    )


def _below_macs(rows: Sequence[DesignRow]) -> Claim:
    wide = {_called(row): row for row in rows if (row.budget, row.width) == (LARGE, WIDE) and _counts(row, rows)}
    narrow = {_called(row): row for row in rows if (row.budget, row.width) == (LARGE, NARROW) and _counts(row, rows)}
    return Claim(
        "Fig. 8",
        "with 8 MB the memories take less than 80 % of the energy of the multiply-accumulates, in all convolutions "
        "and fully connected layers",
        _shares({name: row.share for name, row in wide.items()}),
        f"The DRAM alone: {_shares({name: row.dram / row.mac for name, row in wide.items()})}; most of it moves "
        "every operand once, which no schedule of one image avoids. "
        f"Of {NARROW} bits: {_shares({name: row.share for name, row in narrow.items()})}. "
        "Verdict: layers below 80 %.",
        verdict_of(row.share < MOST_OF_MACS for row in wide.values()),
    )


def _counts(row: DesignRow, rows: Sequence[DesignRow]) -> bool:
    """Whether a row is a convolution, or its layer with the most images."""
    return row.images == max(other.images for other in rows if other.layer == row.layer)


def _batch(rows: Sequence[DesignRow]) -> Claim:
    shares: dict[str, list[str]] = {}
    below = []
    for row in rows:
        if row.diannao is None and (row.budget, row.width) == (LARGE, WIDE):
            shares.setdefault(row.layer, []).append(f"{row.share:.2f} with {row.images}")
            below.append(row.images == 1 and row.share < MOST_OF_MACS)
    return Claim(
        "3.1, Fig. 8",
        "one sometimes wants to block over images as well, especially in fully connected layers",
        "; ".join(f"{layer} {', '.join(found)}" for layer, found in shares.items()),
        "Memories in parts of the multiply-accumulates, by images. The paper does not print how many its Fig. 8 has. "
        "Verdict: whether none is below 0.8 with one image.",
        verdict_of([not any(below)]),
    )


def core_claims(rows: Sequence[CoreRow]) -> list[Claim]:
    """Fig. 9."""
    return [_largest(rows), _sharing(rows), _more_cores(rows), _shuffle(rows)] if rows else []


def _schedules(rows: Sequence[CoreRow]) -> dict[int, CoreRow]:
    return {row.schedule: row for row in rows if row.cores == 1}


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
        "Bytes of the last levels within 8 MB. Verdict: schedules in which that of weights is the largest.",
        verdict_of(sizes["W"] > max(sizes["I"], sizes["O"]) for sizes in found.values()),
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
        "Energy on chip with the larger one of inputs and weights split, in parts of that with it shared, by cores. "
        "Verdict: where it is above 1.",
        verdict_of(ratio > 1 for ratio in ratios.values()),
    )


def _more_cores(rows: Sequence[CoreRow]) -> Claim:
    falls = []
    for number, one in _schedules(rows).items():
        energies = [one.on_chip, *(_pairs(rows)[number, cores][0].on_chip for cores in CORES[1:])]
        falls.append([later / energies[0] for later in energies])
    return Claim(
        "5.3, Fig. 9",
        "with the large buffer shared, more cores always take less energy",
        "; ".join(
            f"schedule {number}: {', '.join(f'{part:.2f}' for part in parts)}"
            for number, parts in enumerate(falls, 1)
        ),
        f"Energy on chip on {', '.join(map(str, CORES))} cores, in parts of that on one. Verdict: schedules in which "
        "every step falls.",
        verdict_of(all(later < before for before, later in pairwise(parts)) for parts in falls),
    )


def _shuffle(rows: Sequence[CoreRow]) -> Claim:
    shares = [row.shuffle / row.on_chip for row in rows if row.shuffle]
    return Claim(
        "5.3, Fig. 9",
        "the energy of the shuffle between layers is small",
        f"at most {100 * max(shares):.2f} % of the energy on chip",
        f"Every output is read once and sent across the chip. Verdict: below {100 * SMALL_SHUFFLE:.0f} %.",
        verdict_of([max(shares) < SMALL_SHUFFLE]),
    )


def _called(row: DesignRow) -> str:
    return row.layer if row.images == 1 else f"{row.layer} ({row.images} images)"


def _times(ratios: Mapping[str, float]) -> str:
    return ", ".join(f"{layer} {ratio:.1f}" for layer, ratio in ratios.items())


def _shares(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{layer} {100 * share:.0f} %" for layer, share in shares.items())
