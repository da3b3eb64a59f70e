"""What Sousa et al. 2022 state, beside what was computed, with a sentence on each difference."""

from collections.abc import Sequence

from hwgen.papers.claims import Claim, OverAll, Quantity, about, between, cases, of_a_part, share_of_cases
from hwgen.papers.sousa.model import Npu, Reading, burst_count
from hwgen.papers.sousa.own_hardware import JudgedLayer
from hwgen.papers.sousa.rows import MODELS, PUBLISHED, LayerRow, ModelRow, mapped_layers
from hwgen.papers.sousa.search import search_mappings

__all__ = ["CLOSE", "MOST", "OS_SLOWER", "gain_within", "mapping_claims"]


CLOSE = 5.0
"""Percentage points: a figure this near the published one counts as reproduced."""
TIME_OFF = 0.05
"""Parts of a printed time within which one counts as reproduced."""
MOST = (50.0, 100.0)
"""Percent of the layers that are most of them."""
SLICES = ((8, (1, 128, 16), 84), (4, (1, 128, 32), 58), (4, (1, 64, 64), 46))
"""Fig. 1: slices of a map of 128 x 128, channels, rows and columns of one, and microseconds on the board."""
MAP = 128
FIFTH, FIFTH_SAVED = "Conv2d_4a_3x3", 28
"""The fifth convolution of InceptionV3 in the layer table, and percent of its time that bursts in view save."""
FIFTH_TEXT = "for the 5th convolution of InceptionV3 bursts in view reduce the time by 28 %"
OS_SLOWER = tuple(network for network, times in PUBLISHED.items() if times.flows[1] > times.flows[0])
"""Networks for which Table II has OS slower than IS."""
TRANSFER_SHARES = {"inception_v3": 51.83, "lenet": 83.80}
POINTS_SAVED = {"yolo_fvlpd": 7.08, "inception_v3": 23.71}
"""The figures of Fig. 6 that section VI prints, percent of the time without bursts, by network."""
BETTER = "the burst-aware mapping is the better one"


def gain_within(network: str, gain: float) -> Quantity:
    """How much faster counting bursts is, percent, beside the published figure of the network."""
    published = 100 * (PUBLISHED[network].volume / PUBLISHED[network].burst - 1)
    return between(MODELS[network], gain, published - CLOSE, published + CLOSE, "%", "more")


def mapping_claims(
    layers: Sequence[LayerRow], models: Sequence[ModelRow], npu: Npu, judged: Sequence[JudgedLayer] = ()
) -> list[Claim]:
    """All claims: judged by what was computed, or with the reason why not."""
    readings = list(dict.fromkeys(row.reading for row in models))
    lines = [_bursts(npu), *_figure_1(npu)]
    for reading in readings:
        own = [row for row in models if row.reading == reading]
        lines += [_speedups(own), _times(own), _fixed(own, "slicings"), _fixed(own, "flows"), _order_of_flows(own)]
        lines += [_shares(own), *_fifth([row for row in layers if row.reading == reading], npu)]
        roofs = _roofs([row for row in layers if row.reading == reading], npu)
        lines.append(roofs if len(own) == len(MODELS) else of_a_part(roofs))
    lines.append(_by_the_objective(layers))
    if judged:
        lines.append(_by_cycles(judged))
    return [*lines, *_not_judged()]


def _read(reading: Reading) -> str:
    return "" if reading == "published" else "tiles at the edges counted exactly"


def _scope(models: Sequence[ModelRow]) -> str:
    return f"{len(models)} of 6 networks, convolutions only, by Eq. 6; the paper's figures are those of a board"


def _bursts(npu: Npu) -> Claim:
    figures = [number * burst_count(tile, MAP, MAP, npu) for number, tile, _ in SLICES]
    tiles = [burst_count((14, 4, 73), 73, 73, npu), burst_count((16, 11, 20), 73, 73, npu)]
    return Claim(
        "Fig. 1, VI",
        "1024, 512, 256 bursts for three slicings of 128 x 128; 70 and 176 for tiles of 14 x 4 x 73 and 16 x 11 x 20",
        ", ".join(map(str, [*figures, *tiles])),
        "Rows as wide as the map are one run. Those two tiles are what the search finds for that layer in the "
        "published reading, sliced by rows (OFM), input stationary; other slicings are faster by Eq. 6.",
        scope="the slices and tiles that are printed",
        parts=tuple(
            Quantity(f"{printed} bursts", found, printed, printed)
            for found, printed in zip([*figures, *tiles], (1024, 512, 256, 70, 176), strict=True)
        ),
    )


def _figure_1(npu: Npu) -> list[Claim]:
    lines = []
    elements = MAP * MAP
    macs = elements / npu.macs * npu.cycle
    for ways, reading in ((2, "loads and stores"), (1, "loads alone")):
        bursts = [number * burst_count(tile, MAP, MAP, npu) for number, tile, _ in SLICES]
        moved = elements * npu.element * npu.byte_time
        times = [(ways * (one * npu.latency + moved) + macs) / 1e3 for one in bursts]
        printed = [time for _, _, time in SLICES]
        lines.append(
            Claim(
                "Fig. 1",
                f"{printed[0]}, {printed[1]} and {printed[2]} us for the three slicings: 45 % less time from the "
                "first to the last",
                f"{', '.join(f'{time:.1f}' for time in times)} us: {100 * (1 - times[-1] / times[0]):.0f} % less",
                f"A burst costs {npu.latency:g} ns and {npu.burst_time:g} ns for its bytes, as the text says of "
                "DDR3; one core does the MACs. The printed times fit 34 us and 49 ns for each burst, to a "
                "microsecond: a board's, not those of that memory.",
                scope="a map of 128 x 128 elements of 16 bits, one kernel of 1 x 1, by Eq. 6",
                parts=(
                    *(
                        about(f"{one} bursts", time, paper, TIME_OFF, "us")
                        for one, time, paper in zip(bursts, times, printed, strict=True)
                    ),
                    between("less", 100 * (1 - times[-1] / times[0]), 45 - CLOSE, 45 + CLOSE, "%", "more"),
                ),
                reading=reading,
            )
        )
    return lines


def _speedups(models: Sequence[ModelRow]) -> Claim:
    parts = [
        f"{MODELS[row.network]} {_gain(row.speedup)} ({_gain(row.speedup_kindest)} to {_gain(row.speedup_first)})"
        for row in models
    ]
    published = ", ".join(
        f"{MODELS[row.network]} {_gain(PUBLISHED[row.network].volume / PUBLISHED[row.network].burst)}"
        for row in models
    )
    return Claim(
        "abstract, Fig. 5",
        f"counting bursts is 7.4 (YOLO) to 21.7 % (InceptionV3) faster than counting bytes: {published} %",
        f"{'; '.join(parts)} %",
        "In brackets with the kindest and with the first of the mappings that tie without bursts: there is nothing "
        f"to choose between them but the tie-break, and it decides. Each network, to {CLOSE:.0f} points.",
        scope=_scope(models),
        parts=tuple(gain_within(row.network, 100 * (row.speedup - 1)) for row in models),
        reading=_read(models[0].reading),
    )


def _times(models: Sequence[ModelRow]) -> Claim:
    pairs = [
        (f"{MODELS[row.network]}{name}", found, paper)
        for row in models
        for name, found, paper in (
            ("", row.burst, PUBLISHED[row.network].burst),
            (", bytes counted", row.volume, PUBLISHED[row.network].volume),
        )
    ]
    return Claim(
        "Table II",
        "microseconds with bursts in view and counting bytes: "
        + ", ".join(f"{name} {paper:,}" for name, _, paper in pairs),
        ", ".join(f"{name} {found:,.0f} ({100 * (found / paper - 1):+.0f} %)" for name, found, paper in pairs),
        "The model has no time for instructions (below 5 %, the paper says) and none of a board. Which LeNet and "
        f"which YOLO were run is not printed. To {100 * TIME_OFF:.0f} %.",
        scope=_scope(models),
        parts=tuple(about(name, found, paper, TIME_OFF, "us") for name, found, paper in pairs),
        reading=_read(models[0].reading),
    )


def _gain(ratio: float) -> str:
    return f"{100 * (ratio - 1):.1f}"


def _fixed(models: Sequence[ModelRow], kind: str) -> Claim:
    names = ("KS", "KS&OFM", "OFM") if kind == "slicings" else ("IS", "OS", "WS")
    told: list[str] = []
    published: list[str] = []
    parts: list[Quantity] = []
    for place, name in enumerate(names):
        ours = {row.network: getattr(row, kind)[place] / row.burst for row in models}
        theirs = {net: getattr(PUBLISHED[net], kind)[place] / PUBLISHED[net].burst for net in ours}
        told.append(f"{name} up to {_most(ours)}")
        published.append(f"{name} up to {_most(theirs)}")
        printed = 100 * (max(theirs.values()) - 1)
        found = 100 * (max(ours.values()) - 1)
        parts.append(between(name, found, printed - CLOSE, printed + CLOSE, "%", "more"))
    return Claim(
        "VI, Table II",
        ("one slicing" if kind == "slicings" else "one schedule") + f" for all layers costs {', '.join(published)}",
        ", ".join(told),
        (
            "From the table's times, over its own burst-aware ones."
            if kind == "slicings"
            else "OS with as many filters as fit is IS wherever all filters do. Where not one filter of all input "
            "channels fits, the sum takes another schedule for WS."
        )
        + f" The largest losses, to {CLOSE:.0f} points.",
        scope=_scope(models),
        parts=tuple(parts),
        reading=_read(models[0].reading),
    )


def _order_of_flows(models: Sequence[ModelRow]) -> Claim:
    slower = [row.network for row in models if row.OS > row.IS]
    return Claim(
        "Table II",
        f"OS for all layers is slower than IS for {', '.join(MODELS[network] for network in OS_SLOWER)}, and faster "
        "for the others",
        "slower for " + (", ".join(MODELS[network] for network in slower) or "none"),
        "By Eq. 3 and 4 OS with as many filters as fit moves what IS does wherever all filters fit, so that the "
        "model cannot tell the two apart there; the board does.",
        scope=_scope(models),
        parts=cases("networks alike", ((row.network in slower) == (row.network in OS_SLOWER) for row in models)),
        reading=_read(models[0].reading),
    )


def _fifth(layers: Sequence[LayerRow], npu: Npu) -> list[Claim]:
    found = [
        Claim(
            "VI",
            FIFTH_TEXT,
            f"{100 * (1 - row.burst / row.volume):.1f} % of the layer's time: {row.volume:,.0f} to "
            f"{row.burst:,.0f} us ({row.volume_mapping}, {row.burst_mapping})",
            f"The text says of a tile; here of the whole layer, to {CLOSE:.0f} points.",
            scope="one layer, by Eq. 6",
            parts=(
                between(
                    "saved", 100 * (1 - row.burst / row.volume), FIFTH_SAVED - CLOSE, FIFTH_SAVED + CLOSE, "%", "more"
                ),
            ),
            reading=_read(row.reading),
        )
        for row in layers
        if (row.network, row.layer) == ("inception_v3", FIFTH)
    ]
    return [*found, _fifth_in_tiles(npu)] if found and layers[0].reading == "published" else found


def _fifth_in_tiles(npu: Npu) -> Claim:
    """The layer in the two tiles that the paper prints: 14 x 4 x 73 and 16 x 11 x 20, sliced by rows."""
    (layer,) = (one for one in mapped_layers("inception_v3") if one.name == FIFTH)
    choice = search_mappings(layer, npu, "published")["OFM", "IS"]
    assert choice is not None
    aware, counting = choice.burst.spent.time(npu) / 1e3, choice.volume.spent.time(npu) / 1e3
    saved = 100 * (1 - aware / counting)
    return Claim(
        "VI",
        FIFTH_TEXT,
        f"{saved:.1f} % of the layer's time in the printed tiles: {counting:,.0f} to {aware:,.0f} us",
        f"Neither mapping is the fastest of its kind by Eq. 6. To {CLOSE:.0f} points.",
        scope="one layer, by Eq. 6",
        parts=(between("saved", saved, FIFTH_SAVED - CLOSE, FIFTH_SAVED + CLOSE, "%", "more"),),
        reading="the printed tiles: sliced by rows (OFM), input stationary",
    )


def _most(ratios: dict[str, float]) -> str:
    network = max(ratios, key=lambda one: ratios[one])
    return f"{_gain(ratios[network])} % ({MODELS[network]})"


def _shares(models: Sequence[ModelRow]) -> Claim:
    low, high = min(models, key=lambda row: row.transfer_share), max(models, key=lambda row: row.transfer_share)
    saved = [row.transfer_share - row.burst_transfer_share for row in models]
    parts = [
        between(f"{MODELS[row.network]}, {name}", value, published - CLOSE, published + CLOSE, "%")
        for row in models
        for name, value, published in (
            ("share", row.transfer_share, TRANSFER_SHARES.get(row.network)),
            ("saved", row.transfer_share - row.burst_transfer_share, POINTS_SAVED.get(row.network)),
        )
        if published is not None
    ]
    return Claim(
        "VI, Fig. 6",
        "loads and stores are 51.8 (InceptionV3) to 83.8 % (LeNet) of the time without bursts, and 7.1 (YOLO) to "
        "23.7 points (InceptionV3) less with them",
        f"{low.transfer_share:.1f} ({MODELS[low.network]}) to {high.transfer_share:.1f} % ({MODELS[high.network]}); "
        f"{min(saved):.1f} to {max(saved):.1f} points less; "
        + ", ".join(f"{part.name} {part.found:.1f}" for part in parts),
        "With the clock and the MACs of a core that make the measured 192 GMAC/s. The printed figures of single "
        f"networks, to {CLOSE:.0f} points."
        if parts
        else "None of the networks of which a figure is printed was computed.",
        scope=_scope(models),
        parts=tuple(parts),
        reading=_read(models[0].reading),
    )


def _by_the_objective(layers: Sequence[LayerRow]) -> Claim:
    worse = [f"{row.network} {row.layer}" for row in layers if row.burst > row.kindest or row.burst > row.volume]
    faster = sum(row.volume > row.burst for row in layers)
    return Claim(
        "VI, by Eq. 6",
        BETTER,
        f"never slower in {len(layers)} cases, faster in {faster}" if not worse else f"not for {', '.join(worse)}",
        "True by construction, so no evidence: the burst-aware mapping minimises this very time over the same "
        "mappings. It checks the search, and says how often bursts matter.",
        scope="layers x readings",
    )


def _by_cycles(judged: Sequence[JudgedLayer]) -> Claim:
    gains = [row.gain for row in judged if row.gain is not None]
    slower = [row.layer for row in judged if row.gain is not None and row.gain < 1]
    faster = sum(gain > 1 for gain in gains)
    found = (
        f"faster in {faster}, slower in {len(slower)}, equal in {len(gains) - faster - len(slower)} of {len(gains)}"
    )
    return Claim(
        "VI, by cycles of our own cluster",
        BETTER,
        f"{found} layers, {min(gains):.2f} to {max(gains):.2f} times as fast"
        + (f"; slower: {', '.join(slower)}" if slower else "")
        if gains
        else "no layer has a program for both",
        "An independent measure: a cycle model that neither objective knows. Another premise than the paper's: "
        "transfers overlap with MACs, AXI bursts are longer than 128 bytes, and what several HWCs need is loaded "
        f"once. {len(judged) - len(gains)} of {len(judged)} layers are left out, since our cluster cannot run one "
        "of their mappings.",
        scope=f"{len(gains)} layers of networks that run on one cluster",
        parts=cases("layers", (gain >= 1 for gain in gains)),
        reading="one cluster of ours",
    )


def _roofs(own: Sequence[LayerRow], npu: Npu) -> Claim:
    peak = npu.clusters * npu.cores * npu.macs / npu.cycle
    wide = npu.burst / (npu.burst_time + npu.latency)
    near = [row.gmacs >= 0.8 * min(peak, wide * row.macs_per_byte) for row in own]
    half = sum(row.gmacs >= 0.5 * min(peak, wide * row.macs_per_byte) for row in own)
    return Claim(
        "VI, Fig. 7",
        "most convolutions reach the measured bandwidth or approach the measured MAC throughput",
        f"{sum(near)} of {len(own)} reach 80 % of the lower roof, {half} half of it",
        f"The roofs: {peak:.0f} GMAC/s, and whole bursts with their latency, {wide:.2f} GB/s. Eq. 6 adds the "
        "times of transfers and MACs: where both are alike, half of the roof is the most. Most: more than half of "
        "them.",
        scope=f"{len(own)} convolutions, by Eq. 6",
        parts=tuple(map(OverAll.of, share_of_cases("convolutions at 80 %", near, *MOST))),
        reading=_read(own[0].reading),
    )


def _not_judged() -> list[Claim]:
    return [
        Claim(
            "VI, Table I",
            "accuracy of 16-bit fixed point on the NMP beside 32-bit floats, five networks",
            "-",
            "Not by this command: `python -m examples.digits.fixed_point` trains a LeNet and judges it. The four "
            "others need their weights and the images of ImageNet.",
        ),
        Claim(
            "VI, Fig. 7",
            "192 GMAC/s measured",
            "-",
            "Our clock and MACs of a core are chosen so that the product is this figure; it is no evidence.",
        ),
        Claim(
            "IV-E",
            "RISC-V instructions take less than 5 % of the time",
            "-",
            "There are none in the model, and our clusters run programs of their own.",
        ),
        Claim(
            "IV-E",
            "each memory burst of 128 bytes costs its CAS latency",
            "-",
            "The premise of the paper, taken as it is in Eq. 6; a DRAM that charges so is built in "
            "(sousa_2022_bursts), and Eq. 6 is judged on it with `--rtl`. On our other clusters an AXI burst has up "
            "to 2 KiB, first accesses of blocks overlap, and rows stay open, which the paper names and leaves out.",
        ),
        Claim(
            "VI",
            "whole networks on several clusters in hardware",
            "-",
            "These networks run layer by layer: with `--rtl` the three shortest layers of each and those of at most "
            "`--limit` cycles in the RTL, the others of the 133 different ones by the cycle model. Quantised "
            "networks run whole, an image on each cluster (`hwgen run MODEL --clusters N`), with 8 bits.",
        ),
    ]
