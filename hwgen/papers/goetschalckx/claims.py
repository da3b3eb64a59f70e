"""The claims of Goetschalckx and Verhelst 2019 beside the reproduced figures, with a sentence on each difference."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from hwgen.papers.claims import Claim, Largest, Quantity, about, between, cases, of_a_part, share_of_cases
from hwgen.papers.goetschalckx.choices import choice_claims
from hwgen.papers.goetschalckx.rows import (
    FIG5,
    FUSED_LAYER_BYTES,
    NETWORKS,
    RESOLUTIONS,
    UNTILED,
    Computed,
    equal_memory,
    memory_for,
    memory_without_overlap,
    most_memory_saved,
    tiling_gain,
)
from hwgen.search.pipeline.front import Front, Point, best_within

__all__ = ["depth_first_claims", "fused_layer_gain"]

OURS = "default, to 64"
OTHER_RULES = "our own rules: every skip counted, all factors"
CLOSE = 0.01
"""Parts of a printed figure within which one counts as reproduced: the figures have two to five digits."""
SHARE_OFF = 0.5
"""Percentage points that a printed share may be off."""
LITTLE_MORE, ABOUT_THE_SAME = 1.2, 1.05
"""Limits of the least memory: times the largest kernel, at most; times that of the other resolution, at most."""
LARGEST_KERNEL = 148_000
MOST_TILES = 64
TILING_GAIN, SMALL_GAIN = (20, 25), (1, 2)
"""Times that tiling saves: more than 20, which is printed for a figure below 25; and what counts as a small
effect."""
ABSTRACT_TRAFFIC, ABSTRACT_MEMORY = (200, 300), (10_000, 20_000)
"""What is printed as more than 200 and more than 10000 times, up to the next round figure."""
ORDER_OFF = 0.2
"""Parts of ten times within which a factor is an order of magnitude."""
TILED = ("srgan", "dmcnn_vd")
"""The networks of Fig. 5(b) and (d)."""
FUSED_LAYER_GAIN = 3
FUSED_LAYER_ABOUT = 0.1
"""Parts of "about 3" within which a factor counts as reproduced."""
BALANCED = (80.0, 100.0)
"""Percent of the largest stack's memory that the smallest has where all are approximately alike."""
FALLING = (80.0, 100.0)
"""Percent of the steps between points of a front in which a trend is to hold."""
SCALE_OFF = 0.05
EXACT = "our front is exact, over all cuts; the paper chose candidate cuts by hand"


def depth_first_claims(computed: Computed) -> list[Claim]:
    """All claims: judged on the networks that were computed, or with the reason why not."""
    lines = _abstract(computed)
    if ("srgan", "720p") in computed.graphs:
        lines += [*_minimum(computed), *_most_saved(computed), _smallest(computed)]
    if ("dmcnn_vd", "4k") in computed.graphs:
        lines += _equal_memory(computed)
    lines += [_tiling(computed), _another_order(computed), *_scaling(computed), _skips(computed)]
    if ("mobilenet_v2_ssdlite", "4k") in computed.graphs:
        lines.append(_little_tiling(computed))
    if ("srgan", "720p") in computed.graphs:
        lines += [_balanced(computed), _cuts(computed)]
    lines += [*_residents(computed), *_more_tiling(computed), *choice_claims(computed), *_fused_layer(computed)]
    return [*lines, *_not_judged()]


def _printed(computed: Computed) -> list[tuple[str, str]]:
    """The networks and resolutions of Fig. 5 that were computed."""
    return [(network, resolution) for network, resolution in computed.graphs if network in NETWORKS]


def _abstract(computed: Computed) -> list[Claim]:
    keys = _printed(computed)
    if not keys:
        return []
    traffic = {key: equal_memory(computed.front(*key)) for key in keys}
    memory = {key: most_memory_saved(computed.front(*key))[0] for key in keys}
    lines = [
        Claim(
            "abstract",
            f"up to more than {limits[0]} times less {what}",
            ", ".join(
                f"{NETWORKS[network]} {resolution} {found[network, resolution]:,.0f}" for network, resolution in keys
            ),
            f"Up to the next round figure, {limits[1]}.",
            scope=f"{len(keys)} of 6 cases, 3 networks x 2 resolutions; {EXACT}",
            parts=(Largest("most", max(found.values()), *limits, "times", "more"),),
        )
        for found, limits, what in (
            (traffic, ABSTRACT_TRAFFIC, "I/O bandwidth than layer by layer with as much memory"),
            (memory, ABSTRACT_MEMORY, "memory than layer by layer with as much I/O bandwidth"),
        )
    ]
    return lines if len(keys) == len(NETWORKS) * len(RESOLUTIONS) else [*map(of_a_part, lines)]


def _minimum(computed: Computed) -> list[Claim]:
    lines = []
    for variant, reading in ((FIG5, ""), (OURS, OTHER_RULES)):
        front = computed.front("srgan", "720p", variant)
        last = front.points[-1]
        share = 100 * sum(front.graph.weights) / last.memory
        lines.append(
            Claim(
                "6.3, point U",
                "SRGAN 720p, least traffic: 165M features, 6.4M on chip, 24 % of it the model",
                f"{last.traffic:,} elements, {last.memory:,} on chip, {share:.1f} % of it the model",
                "One stack, no tiles, weights resident. "
                + ("The long skip is kept in its ring." if reading else "The long skip is written and read back."),
                scope="SRGAN at 1280 x 720",
                parts=(
                    about("traffic", last.traffic, 165e6, CLOSE),
                    about("memory", last.memory, 6.4e6, CLOSE),
                    between("model", share, 24 - SHARE_OFF, 24 + SHARE_OFF, "%"),
                ),
                reading=reading,
            )
        )
    return lines


def _equal_memory(computed: Computed) -> list[Claim]:
    front, ours = computed.front("dmcnn_vd", "4k"), computed.front("dmcnn_vd", "4k", OURS)
    readings = (
        (equal_memory(front), "", "The bound counts the output of every row of the table."),
        (
            equal_memory(front, convolutions_only=True),
            "the bound counts convolutions only",
            "The last is the output.",
        ),
        (equal_memory(ours), OTHER_RULES, "The skip from the input stays in its ring."),
    )
    return [
        Claim(
            "6.2, Fig. 5(d)",
            "DMCNN-VD 4k: 268 times less traffic than the bound at equal memory",
            f"{found:.1f} times",
            f"At the point of least traffic. {remark}",
            scope="DMCNN-VD at 3840 x 2160",
            parts=(about("times", found, 268, CLOSE, gain="more"),),
            reading=reading,
        )
        for found, reading, remark in readings
    ]


def _most_saved(computed: Computed) -> list[Claim]:
    front, ours = computed.front("srgan", "4k"), computed.front("srgan", "4k", OURS)
    ratio, memory, traffic = most_memory_saved(front)
    point = best_within(front, memory)
    assert point is not None
    readings = (
        (
            ratio,
            "",
            f"At {memory:,} on chip, traffic {traffic:,}. The bound counts pixel shuffles and adds as layers.",
        ),
        (
            ratio * memory / memory_without_overlap(front, point),
            "lines without the left overlap of a tile",
            "At the same point. The paper does not say how long lines are, nor where exactly tiles end.",
        ),
        (
            most_memory_saved(front, convolutions_only=True)[0],
            "the bound counts convolutions only",
            "Without pixel shuffles and adds it is lower.",
        ),
        (most_memory_saved(ours)[0], OTHER_RULES, "Skips are paid for."),
    )
    return [
        Claim(
            "6.2, Fig. 5(b)",
            "SRGAN 4k: up to 19633 times less memory than the bound at equal traffic",
            f"{found:,.0f} times",
            remark,
            scope="SRGAN at 3840 x 2160, all points of the front",
            parts=(about("times", found, 19633, CLOSE, gain="more"),),
            reading=reading,
        )
        for found, reading, remark in readings
    ]


def _smallest(computed: Computed) -> Claim:
    points = [computed.front("srgan", resolution).points[0] for resolution in RESOLUTIONS]
    largest = max(computed.graphs["srgan", "720p"].weights)
    memories = [point.memory for point in points]
    return Claim(
        "6.3, points A and a",
        "SRGAN: both resolutions need about the same least memory, little more than the largest kernel (148k), with "
        "64x tiling in the final stacks",
        "; ".join(
            f"{resolution}: {point.memory:,} on chip, the last stacks {', '.join(map(str, point.factors[-3:]))}x"
            for resolution, point in zip(RESOLUTIONS, points, strict=True)
        )
        + f"; largest kernel {largest:,}",
        "The factor of a stack is only as large as the memory of the others makes it worth while.",
        scope="SRGAN at both resolutions; the final stacks: the last three",
        parts=(
            about("largest kernel", largest, LARGEST_KERNEL, CLOSE),
            between("one memory over the other", max(memories) / min(memories), 1, ABOUT_THE_SAME),
            *(
                between(f"over the largest kernel, {resolution}", memory / largest, 1, LITTLE_MORE)
                for resolution, memory in zip(RESOLUTIONS, memories, strict=True)
            ),
            *cases("final stacks in 64 tiles", (one == MOST_TILES for point in points for one in point.factors[-3:])),
        ),
    )


def _tiling_gains(computed: Computed) -> dict[str, tuple[float, float]]:
    """What tiling saves at most in memory and in traffic, of the networks of Fig. 5(b) and (d) at 4k."""
    return {
        network: tiling_gain(computed.front(network, "4k", UNTILED), computed.front(network, "4k"))
        for network in TILED
        if (network, "4k") in computed.graphs
    }


def _another_order(computed: Computed) -> Claim:
    gains = _tiling_gains(computed)
    most = [max(gain[place] for gain in gains.values()) for place in range(2)] if gains else []
    claim = Claim(
        "7",
        "tiling improves upon line buffers without tiling by another order of magnitude",
        "; ".join(f"{what} {gain:.1f} times" for what, gain in zip(("memory", "traffic"), most, strict=False)) or "-",
        "The most over the fronts of both networks. An order of magnitude: 10 times, to a fifth."
        if gains
        else "Neither of the two networks was computed.",
        scope=f"{len(gains)} of SRGAN and DMCNN-VD at 3840 x 2160",
        parts=tuple(
            Largest.of(about(what, gain, 10, ORDER_OFF, "times", "more"))
            for what, gain in zip(("memory", "traffic"), most, strict=False)
        ),
    )
    return claim if len(gains) == len(TILED) else of_a_part(claim)


def _tiling(computed: Computed) -> Claim:
    gains = _tiling_gains(computed)
    claim = Claim(
        "6.2, Fig. 5(b, d)",
        "4k: tiling saves up to more than 20 times the memory at equal traffic, and vice versa",
        "; ".join(
            f"{NETWORKS[network]} {memory:.1f} times the memory, {traffic:.1f} times the traffic"
            for network, (memory, traffic) in gains.items()
        )
        or "-",
        "The most over the front, against the front without tiles, and over both networks; up to 25 counts as more "
        "than 20."
        if gains
        else "Neither of the two networks was computed.",
        scope=f"{len(gains)} of SRGAN and DMCNN-VD at 3840 x 2160",
        parts=tuple(
            Largest(what, max(gain[place] for gain in gains.values()), *TILING_GAIN, "times", "more")
            for place, what in enumerate(("memory", "traffic"))
            if gains
        ),
    )
    return claim if len(gains) == len(TILED) else of_a_part(claim)


def _little_tiling(computed: Computed) -> Claim:
    name = "mobilenet_v2_ssdlite"
    gain = tiling_gain(computed.front(name, "4k", UNTILED), computed.front(name, "4k"))
    return Claim(
        "6.2, Fig. 5(c)",
        "MobileNetV2-SSDLite, 4k: the effect of tiling is small, kernels dominate",
        f"at most {gain[0]:.2f} times the memory, {gain[1]:.2f} times the traffic",
        "Extras and heads are part of the table; how many of them the paper counts is not printed. Small: at most "
        f"{SMALL_GAIN[1]} times.",
        scope="MobileNetV2-SSDLite at 3840 x 2160",
        parts=tuple(
            between(what, one, *SMALL_GAIN, "times") for what, one in zip(("memory", "traffic"), gain, strict=True)
        ),
    )


def _scaling(computed: Computed) -> list[Claim]:
    """The scaling laws of section 6.2: from 720p to 4k both sides of the image grow 3 times."""
    names = [name for name in TILED if (name, "4k") in computed.graphs]
    if not names:
        return []
    lines, maps, traffic = [], [], []
    for name in names:
        low, high = (computed.front(name, resolution) for resolution in RESOLUTIONS)
        lines.append(_features(high) / _features(low))
        traffic.append(high.points[-1].traffic / low.points[-1].traffic)
        needed = [memory_for(front.graph, _least_bound(front)) for front in (low, high)]
        maps.append((needed[1] or 0) / (needed[0] or 1))
    scope = f"{len(names)} of the two networks for which it is most visible, published rules"
    laws = (
        ("memory for the least bandwidth scales with the shorter side of the image (depth first)", lines, 3.0),
        ("memory for the least bandwidth scales with its area (layer by layer)", maps, 9.0),
        ("the least bandwidth scales with its area", traffic, 9.0),
    )
    return [
        Claim(
            "6.2",
            law,
            ", ".join(f"{NETWORKS[name]} {one:.2f} times" for name, one in zip(names, found, strict=True)),
            "From 1280 x 720 to 3840 x 2160. Depth first: features in the rings, without weights.",
            scope=scope,
            parts=tuple(
                about(NETWORKS[name], one, factor, SCALE_OFF, "times") for name, one in zip(names, found, strict=True)
            ),
        )
        for law, found, factor in laws
    ]


def _features(front: Front) -> int:
    """Elements of features on chip at the point of least traffic."""
    last = front.points[-1]
    return last.memory - (sum(front.graph.weights) if last.weights == "resident" else 0)


def _least_bound(front: Front) -> int:
    """The traffic of the layer-by-layer bound with all the memory that it can use."""
    return front.graph.maps[0].elements + front.graph.maps[-1].elements


def _skips(computed: Computed) -> Claim:
    names = [name for name in TILED if (name, "4k") in computed.graphs]
    fronts = [computed.front(name, resolution) for name in names for resolution in RESOLUTIONS]
    return Claim(
        "6.2, Fig. 5(b, d)",
        "the least bandwidth of depth-first execution is above that of the bound, for the long skips alone",
        "; ".join(f"{front.points[-1].traffic:,} and {_least_bound(front):,}" for front in fronts) or "-",
        "The bound has the input and the output only. By our own rules a skip may stay in its ring."
        if fronts
        else "Neither of the two networks was computed.",
        scope="SRGAN and DMCNN-VD, both resolutions",
        parts=cases("fronts", (front.points[-1].traffic > _least_bound(front) for front in fronts)),
    )


def _fronts(computed: Computed, network: str) -> list[tuple[str, Front]]:
    return [(resolution, computed.front(network, resolution)) for resolution in RESOLUTIONS]


def _balanced(computed: Computed) -> Claim:
    parts, told = [], []
    for resolution, front in _fronts(computed, "srgan"):
        several = [point for point in front.points if len(point.factors) > 1]
        ratios = [100 * min(point.stack_memories) / max(point.stack_memories) for point in several]
        parts.append(between(resolution, median(ratios), *BALANCED, "%"))
        told.append(f"{resolution}: {min(ratios):.0f} to {max(ratios):.0f} %, median {median(ratios):.0f} %")
    return Claim(
        "6.3",
        "each stack of a single Pareto-optimal solution requires approximately the same memory",
        "; ".join(told),
        "The smallest stack in percent of the largest, weights included, of points with several stacks: the median. "
        "Approximately: at least 80 %. Which points are labelled in the figure cannot be read.",
        scope=f"SRGAN at both resolutions, all points, published rules; {EXACT}",
        parts=tuple(parts),
    )


def _cuts(computed: Computed) -> Claim:
    parts: list[Quantity] = []
    told = []
    for resolution, front in _fronts(computed, "srgan"):
        stacks = [len(point.factors) for point in front.points]
        falls = [later <= before for before, later in pairwise(stacks)]
        parts += share_of_cases(f"steps that add no cut, {resolution}", falls, *FALLING)
        parts.append(between(f"first point is the most cut, {resolution}", stacks[0] / max(stacks), 0.9, 1))
        told.append(
            f"{resolution}: {stacks[0]} stacks with the least memory, {stacks[-1]} with the least traffic, none "
            f"added in {sum(falls)} of {len(falls)} steps to more memory"
        )
    return Claim(
        "6.3",
        "solutions with smaller memories require more stack cuts, those with low bandwidth few",
        "; ".join(told),
        "A trend: it is to hold in four of five steps, and the point of least memory is to have the most stacks, to "
        "a tenth.",
        scope=f"SRGAN at both resolutions, all points, published rules; {EXACT}",
        parts=tuple(parts),
    )


def _residents(computed: Computed) -> list[Claim]:
    own = [("srgan", resolution, FIG5) for resolution in RESOLUTIONS if ("srgan", resolution) in computed.graphs]
    others = [key for key in computed.fronts if key[0] in NETWORKS and key[2] != UNTILED and key not in own]
    return [
        _resident(computed, keys, reading)
        for keys, reading in ((own, ""), (others, "other networks and rules, of which it is not stated"))
        if keys
    ]


def _resident(computed: Computed, keys: Sequence[tuple[str, str, str]], reading: str) -> Claim:
    wrong, told, judged = [], [], []
    for key in keys:
        points = computed.fronts[key].points
        fetched, resident = (
            [point.traffic for point in points if point.weights == mode] for mode in ("fetched", "resident")
        )
        apart = not (fetched and resident and max(resident) > min(fetched))
        judged.append(apart)
        if not apart:
            wrong.append(f"{NETWORKS[key[0]]} {key[1]} ({key[2]})")
        told.append(len(resident))
    return Claim(
        "6.3, Fig. 6",
        "only the Pareto points with the lowest bandwidths keep the whole model on chip",
        "holds for every front" if not wrong else f"both kinds overlap for {', '.join(wrong)}; apart for the others",
        f"{min(told)} to {max(told)} points of a front are resident. The statement is about the labelled points of "
        f"SRGAN; {EXACT}.",
        scope=f"{len(keys)} fronts, all points",
        parts=cases("fronts", judged),
        reading=reading,
    )


def _more_tiling(computed: Computed) -> list[Claim]:
    lines = []
    names = [network for network in NETWORKS if (network, "4k") in computed.graphs]
    for some, reading in (
        ([name for name in names if name == "srgan"], ""),
        ([name for name in names if name != "srgan"], "other networks, of which it is not stated"),
    ):
        means = {
            name: [_mean_factor(computed.front(name, resolution).points) for resolution in RESOLUTIONS]
            for name in some
        }
        if means:
            lines.append(
                Claim(
                    "6.3, Fig. 6",
                    "optimal solutions for higher resolutions generally use more tiling",
                    "; ".join(
                        f"{NETWORKS[name]}: "
                        + ", ".join(f"{mean:.1f} at {one}" for one, mean in zip(RESOLUTIONS, found, strict=True))
                        for name, found in means.items()
                    ),
                    "Mean tiling factor over all stacks of all points.",
                    scope=f"{', '.join(NETWORKS[name] for name in some)}, published rules",
                    parts=cases("networks", (low < high for low, high in means.values())),
                    reading=reading,
                )
            )
    return lines


def _mean_factor(points: Sequence[Point]) -> float:
    factors = [factor for point in points for factor in point.factors]
    return sum(factors) / len(factors)


def fused_layer_gain(factor: float) -> Quantity:
    """How many times less memory than fused layers, beside the figure that the paper prints."""
    return about("times", factor, FUSED_LAYER_GAIN, FUSED_LAYER_ABOUT, gain="more")


def _fused_layer(computed: Computed) -> list[Claim]:
    chip, traffic = FUSED_LAYER_BYTES
    least = computed.features.points[-1]
    with_weights = computed.front("vgg_e_first5", "224x224").points[-1]
    tiled = next(point for point in computed.features.points if point.traffic <= traffic)
    published = (
        "VGG-E, first five convolutions: up to about 3 times less memory than fused layers (Alwani et al. 2016) at "
        "equal traffic"
    )
    source = (
        "The paper prints no figures of fused layers: their point is in the picture alone. 362 KB and 3.6 MB are "
        "those of Alwani et al. 2016."
    )
    scope = "the five convolutions, without weights on either side"
    return [
        *(
            Claim(
                "7, Fig. 7(a)",
                published,
                f"{least.memory:,} elements in the rings for {least.traffic:,} of traffic, {size / least.memory:.2f} "
                f"times less than {size:,}",
                f"{source} {least.traffic:,} features of 4 bytes are {4 * least.traffic / 2**20:.2f} MiB, the 3.6 "
                "MB: their traffic is in 4-byte features and the least there is. Weights and our rings together are "
                f"{with_weights.memory:,} elements.",
                scope=scope,
                parts=(fused_layer_gain(size / least.memory),),
                reading=reading,
            )
            for size, reading in (
                (chip, "362 KB are as many elements"),
                (chip // 4, "362 KB are features of 4 bytes"),
            )
        ),
        Claim(
            "7, Fig. 7(a)",
            published,
            f"{tiled.memory:,} elements in the rings for {tiled.traffic:,} of traffic, "
            f"{chip / tiled.memory:.1f} times less than {chip:,}",
            f"{source} Tiles trade the traffic that such a reading leaves for memory.",
            scope=scope,
            parts=(fused_layer_gain(chip / tiled.memory),),
            reading="362 KB and 3.6 MB are as many elements",
        ),
        Claim(
            "7, Fig. 7(a)",
            "VGG-E, first five convolutions, against Xiao et al. 2017",
            f"{least.memory:,} elements in the rings for {least.traffic:,} of traffic, without tiles",
            "The paper prints no memory and no traffic of that design: its point is in the picture alone, taken from "
            "a table of Xiao et al.",
            scope=scope,
        ),
        Claim(
            "7, Fig. 7(b)",
            "QFSRCNN against Chang et al. 2018",
            "not computed",
            "The layer table of QFSRCNN could not be found; the plot shows FSRCNN (56, 12, 4), of the same family. "
            "The paper prints no figures of that design: its point is in the picture alone.",
            scope="QFSRCNN",
        ),
    ]


def _not_judged() -> list[Claim]:
    return [
        Claim(
            "6.1",
            "higher tiling factors than 64 would gain little, linear steps marginally more",
            "-",
            "Factors above 64 were not searched. By our own rules all factors to 64 are, among other differences.",
        ),
        Claim(
            "3 to 6",
            "SRGAN and DMCNN-VD depth first, in hardware",
            "-",
            "In the RTL parts of both run: two residual blocks of SRGAN and the first six layers of DMCNN-VD, with "
            "all channels on 24 of the 720 rows, whole widths (`--rtl`, `hwgen regress-stacks --all-channels`). "
            "PReLU, leaky ReLU and SELU run as ReLU there; by tables with --tables, and in quantised networks.",
        ),
    ]
