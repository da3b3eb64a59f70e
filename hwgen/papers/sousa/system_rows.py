"""What both mappings of each layer took on several clusters: rows, their sums, claims, and the table as Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hwgen.arch.dram import BLOCK_BYTES
from hwgen.ir.document import csv_lines
from hwgen.papers.claims import Claim, cases, share_of_cases
from hwgen.papers.sousa.claims import CLOSE, MOST, gain_within
from hwgen.papers.sousa.model import Npu
from hwgen.papers.sousa.rows import MODELS, PUBLISHED

__all__ = ["Cost", "SystemRow", "premise_text", "system_claims", "system_csv", "system_lines"]

TOLERANCE = 0.01
"""The part by which the burst-aware mapping may be slower."""
MODEL_WITHIN = 0.02
"""The part by which the cycle model may differ from what was measured."""
BANDWIDTH = 0.8
"""The part of the lower roof from which on a layer has reached it."""


@dataclass(frozen=True)
class Cost:
    """One mapping of a layer, in cycles.

    Members
    -------
    mapping : slicing, schedule, and a tile's rows, columns and channels.
    transfers, macs : by the paper's model (Eq. 9, Eq. 8); it adds them up.
    moving, computing : by the cycle model, of the busiest cluster.
    predicted : all of it by the cycle model.
    measured : in the RTL; None where that would have taken too long.
    dram_bytes : loaded and stored, by the paper's model.
    instead_of : the mapping that the objective prefers, and why it has no program; empty if this is it.
    """

    mapping: str
    transfers: float
    macs: float
    moving: float
    computing: float
    predicted: float
    measured: int | None
    dram_bytes: int
    instead_of: str = ""

    @property
    def cycles(self) -> float:
        """Cycles as measured, else by the cycle model."""
        return self.predicted if self.measured is None else self.measured

    @property
    def error(self) -> float | None:
        """Predicted cycles over measured ones, less 1."""
        return None if self.measured is None else self.predicted / self.measured - 1


@dataclass(frozen=True)
class SystemRow:
    """One layer in both mappings; ``networks``: how often each network has it; ``macs``: of the layer."""

    layer: str
    networks: dict[str, int]
    macs: int
    burst_aware: Cost
    byte_counting: Cost

    @property
    def is_measured(self) -> bool:
        """Whether both mappings ran in the RTL."""
        return self.burst_aware.measured is not None and self.byte_counting.measured is not None

    @property
    def gain(self) -> float:
        """Cycles of the byte-counting mapping over those of the burst-aware one, less 1."""
        return self.byte_counting.cycles / self.burst_aware.cycles - 1

    @property
    def is_slower(self) -> bool:
        """Whether the burst-aware mapping is slower by more than the tolerance."""
        return self.burst_aware.cycles > (1 + TOLERANCE) * self.byte_counting.cycles

    @property
    def reason(self) -> str:
        """Where the paper's model misjudges the difference of the two mappings the most."""
        aware, other = self.burst_aware, self.byte_counting
        parts = (
            ("transfers take", (aware.transfers, other.transfers), (aware.moving, other.moving)),
            ("MACs take", (aware.macs, other.macs), (aware.computing, other.computing)),
        )

        def misjudged(part: tuple[str, tuple[float, float], tuple[float, float]]) -> float:
            _, model, found = part
            return (found[0] - found[1]) - (model[0] - model[1])

        what, model, found = max(parts, key=misjudged)
        return (
            f"{what} {found[0]:,.0f} cycles, counting bytes {found[1]:,.0f}; "
            f"the paper's model says {model[0]:,.0f} and {model[1]:,.0f}"
            + "".join(f"; {line}" for line in self.next_best)
        )

    @property
    def next_best(self) -> list[str]:
        """Which objective's mapping is its next best one, since what it prefers has no program."""
        pairs = (("bursts in view", self.burst_aware), ("counting bytes", self.byte_counting))
        return [f"{name}, {one.mapping} in place of {one.instead_of}" for name, one in pairs if one.instead_of]


_WHICH_PREMISE = {
    True: "The DRAM charges as Eq. 6 does; the clusters are ours, with one DRAM that all of them wait for.",
    False: "The premise is another one than Eq. 6's, which charges CAS for every 128 bytes, so that a layer in which "
    "it is slower does not refute the paper.",
}


def premise_text(npu: Npu) -> str:
    """What a burst is and costs: the paper's premise, or that of DRAMs like DDR3."""
    if npu.burst == BLOCK_BYTES:
        return f"each burst of {npu.burst} bytes with its CAS latency, as Eq. 6 has it"
    return f"with bursts of up to {npu.burst} bytes, first accesses that overlap, and open rows"


def system_claims(rows: Sequence[SystemRow], npu: Npu) -> list[Claim]:
    """The paper's claims that the rows speak for or against."""
    networks = [network for network in MODELS if any(network in row.networks for row in rows)]
    sums = {net: [_cycles(rows, net, aware) for aware in (False, True)] for net in networks}
    gains = {net: 100 * (blind / aware - 1) for net, (blind, aware) in sums.items()}
    published = {net: 100 * (PUBLISHED[net].volume / PUBLISHED[net].burst - 1) for net in networks}
    slower = [row for row in rows if row.is_slower]
    faster = sum(row.gain > TOLERANCE for row in rows)
    own = "four clusters" if npu.clusters == 4 else f"{npu.clusters} clusters"
    own += f" of {npu.cores} HWCs"
    measured = sum(row.is_measured for row in rows)
    roofs = [_of_roof(row, npu) for row in rows]
    near, half = [part >= BANDWIDTH for part in roofs], sum(part >= 0.5 for part in roofs)
    scope = f"{len(rows)} different layers, {measured} of them in the RTL, the others by the cycle model"
    reading = f"{own}, {premise_text(npu)}"
    return [
        Claim(
            "Fig. 5",
            "counting bursts is 7.4 (YOLO) to 21.7 % (InceptionV3) faster than counting bytes: "
            + ", ".join(f"{MODELS[net]} {published[net]:.1f}" for net in networks)
            + " %",
            "; ".join(f"{MODELS[net]} {gains[net]:.1f}" for net in networks) + " %",
            f"Cycles. Each network, to {CLOSE:.0f} points.",
            scope=scope,
            parts=tuple(gain_within(net, gains[net]) for net in networks),
            reading=reading,
        ),
        Claim(
            "VI",
            "the burst-aware mapping is the better one",
            f"by more than {TOLERANCE:.0%} faster in {faster}, slower in {len(slower)}, else alike, of {len(rows)} "
            f"layers; {min(row.gain for row in rows):+.1%} to {max(row.gain for row in rows):+.1%}; "
            f"{sum(row.is_measured and row.is_slower for row in rows)} of the slower ones were measured",
            f"Neither objective knows these cycles. {_WHICH_PREMISE[npu.burst == BLOCK_BYTES]} Slower layers are "
            "listed with the reason.",
            scope=scope,
            parts=cases("layers", (not row.is_slower for row in rows)),
            reading=reading,
        ),
        Claim(
            "VI, Fig. 7",
            "most convolutions reach the measured bandwidth or approach the measured MAC throughput",
            f"{sum(near)} of {len(rows)} reach 80 % of the lower roof, {half} half of it",
            "The roofs: all MACs in every cycle, and the DRAM with whole blocks one after the other. Most: more than "
            "half of them.",
            scope=scope,
            parts=share_of_cases("layers at 80 %", near, *MOST),
            reading=reading,
        ),
        *_model_claim(rows, own),
    ]


def _model_claim(rows: Sequence[SystemRow], own: str) -> list[Claim]:
    """Whether the cycle model, by which the longer layers are judged, is right where it was measured."""
    errors = _errors(rows)
    if not errors:
        return []
    off = [f"{layer} {100 * error:+.1f}" for error, layer in errors if abs(error) > MODEL_WITHIN]
    return [
        Claim(
            f"the cycle model, on {own}",
            f"cycles within {MODEL_WITHIN:.0%} of what is measured (our own, not the paper's)",
            f"not within {MODEL_WITHIN:.0%}: {', '.join(off)} %" if off else f"all {len(errors)} runs are",
            f"{100 * _mean_error(errors):.2f} % off in the mean. Layers that are too long for the RTL are judged by "
            "this model.",
            scope=f"{len(errors)} runs",
            parts=cases("runs", (abs(error) <= MODEL_WITHIN for error, _ in errors)),
        )
    ]


def _errors(rows: Sequence[SystemRow]) -> list[tuple[float, str]]:
    """The part by which the model differs from each run, and of which layer."""
    pairs = [(cost.error, row.layer) for row in rows for cost in (row.burst_aware, row.byte_counting)]
    return [(error, layer) for error, layer in pairs if error is not None]


def _mean_error(errors: Sequence[tuple[float, str]]) -> float:
    return sum(abs(error) for error, _ in errors) / len(errors)


def _cycles(rows: Sequence[SystemRow], network: str, aware: bool) -> float:
    """The sum of a network, layers as often as it has them."""
    return sum(
        row.networks.get(network, 0) * (row.burst_aware if aware else row.byte_counting).cycles for row in rows
    )


def _of_roof(row: SystemRow, npu: Npu) -> float:
    """The part of the lower roof that the burst-aware mapping reaches."""
    peak = npu.clusters * npu.cores * npu.macs
    cost = row.burst_aware
    return row.macs / cost.cycles / min(peak, row.macs / (cost.dram_bytes * npu.byte_time))


CSV_HEAD = (
    "hardware", "layer", "networks", "bursts_mapping", "bursts_predicted", "bursts_measured", "bytes_mapping",
    "bytes_predicted", "bytes_measured", "reason",
)  # fmt: skip


def system_csv(found: Mapping[str, Sequence[SystemRow]]) -> str:
    """The rows by hardware as CSV: cycles of both mappings; without measured ones where a layer did not run; the
    reason where bursts in view are slower.
    """
    lines: list[Sequence[object]] = [CSV_HEAD]
    for hardware, rows in found.items():
        for row in rows:
            networks = " ".join(f"{network}:{number}" for network, number in row.networks.items())
            cells: list[object] = [hardware, row.layer, networks]
            for one in (row.burst_aware, row.byte_counting):
                cells += [one.mapping, round(one.predicted), "" if one.measured is None else one.measured]
            lines.append([*cells, row.reason if row.is_slower else ""])
    return csv_lines(lines)


def system_lines(rows: Sequence[SystemRow], npu: Npu, refused: Sequence[str]) -> list[str]:
    """The layers as lines of Markdown; ``refused``: layers that are left out, with the reason."""
    errors = _errors(rows)
    lines = [
        f"{npu.clusters} clusters of {npu.cores} HWCs with {npu.macs} MACs of 16 bits a cycle, a DMA and a memory of",
        "their own, on one DRAM; tiles that fit the paper's three memories of 8 KB a core; loads, computation and",
        "stores of a cluster one after the other. Each layer once, whichever networks have it. Cycles in the RTL,",
        f"or in brackets by the cycle model. The DRAM: {premise_text(npu)}.",
        "",
        "| layer | of | bursts in view | counting bytes | cycles: bursts | bytes | faster by % | model off by % |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        pair = (row.burst_aware, row.byte_counting)
        cycles = " | ".join(
            f"({one.predicted:,.0f})" if one.measured is None else f"{one.measured:,}" for one in pair
        )
        off = ", ".join(f"{100 * one.error:+.2f}" for one in pair if one.error is not None)
        networks = ", ".join(
            MODELS[network] + (f" x {number}" if number > 1 else "") for network, number in row.networks.items()
        )
        mappings = " | ".join(one.mapping for one in pair)
        lines.append(f"| {row.layer} | {networks} | {mappings} | {cycles} | {100 * row.gain:.1f} | {off} |")
    lines.append("")
    if errors:
        worst, layer = max(errors, key=lambda one: abs(one[0]))
        lines.append(
            f"The cycle model against the RTL, in {len(errors)} runs: {100 * worst:+.2f} % at worst ({layer}), "
            f"{100 * _mean_error(errors):.2f} % in the mean."
        )
    slower = [row for row in rows if row.is_slower]
    if slower:
        lines += ["", "Slower with bursts in view by more than 1 %:", ""]
        lines += [f"- {row.layer} ({100 * row.gain:+.1f} %): {row.reason}" for row in slower]
    others = [f"- {row.layer}: {line}" for row in rows for line in row.next_best]
    if others:
        lines += ["", "Not what the objective prefers, since that has no program on our clusters:", "", *others]
    if refused:
        lines += ["", "Left out, since our clusters can run none of their mappings:", ""]
        lines += [f"- {line}" for line in refused]
    return lines
