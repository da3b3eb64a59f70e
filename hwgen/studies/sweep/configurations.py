"""The configurations of HWCs and clusters that ``hwgen sweep`` is asked for."""

import re
from collections.abc import Sequence

from hwgen.api.arguments import buffer_sizes
from hwgen.api.machines import HardwareLike, called, read_hardware
from hwgen.api.scheduling.busy import lanes_of
from hwgen.api.work import MOST_SLACK, default_objective
from hwgen.arch.hwc import ALONG_X
from hwgen.ir.document import InputError, validated
from hwgen.ir.hardware import Cluster
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import DIMS
from hwgen.search.hwc.balanced import ANY_TRAFFIC, TRAFFIC_SLACK
from hwgen.studies.regress.goals import Kind
from hwgen.studies.regress.plans import Configuration
from hwgen.studies.sweep.clusters import ClusterConfiguration
from hwgen.studies.sweep.request import AnyConfiguration

__all__ = ["configurations", "curve_sizes"]


def configurations(
    sizes: Sequence[int],
    *,
    lanes: str | None,
    objective: str | None,
    slack: str | None,
    order: str | None,
    cluster: str | None,
    tcdm: str | None,
    hardware: HardwareLike | None,
    per_layer: bool,
    hwce: bool,
) -> list[AnyConfiguration]:
    """All of them, by buffer sizes, lanes, orders and slacks."""
    shapes = _shapes(lanes, in_cluster=cluster is not None)
    orders = [_order(one) for one in (order or "best").split(",")]
    chosen_each = per_layer or cluster is not None
    slacks = _slacks(_objectives(objective, slack, in_cluster=cluster is not None), slack)
    if ANY_TRAFFIC in slacks and not chosen_each:
        raise InputError("--objective: cycles: expected with --cluster or --per-layer, not for one HWC for all")
    if cluster is not None and 0.0 in slacks:
        raise InputError("--traffic-slack: expected above 0 on a cluster, got 0 (--objective traffic: fewest bytes)")
    kind: Kind = "per-layer" if per_layer or cluster is not None else "shared"
    hwcs = [
        Configuration(kind, size, lanes=shape, order=wanted, room=True, slack=one)
        for size in sizes
        for shape in shapes
        for wanted in dict.fromkeys(orders)
        for one in slacks
    ]
    found: list[AnyConfiguration] = [*hwcs]
    if cluster is not None:
        if per_layer:
            raise InputError("--per-layer: expected without --cluster")
        found = [ClusterConfiguration(hwc, one) for one in _clusters(cluster, tcdm, hardware) for hwc in hwcs]
    elif tcdm is not None or hardware is not None:
        raise InputError(f"--{'tcdm' if tcdm is not None else 'hardware'}: expected with --cluster")
    if hwce:
        found += [Configuration("hwce", size, room=True) for size in sizes]
    return found


def _clusters(numbers: str, sizes: str | None, document: HardwareLike | None) -> list[Cluster]:
    """Clusters of some numbers of HWCs and sizes of the shared memory; the rest is that of a hardware file."""
    hardware = read_hardware(document)
    if hardware is not None and document is not None and hardware.cluster is None:
        raise InputError(f"--hardware: {called(document)}: expected hardware with a cluster")
    base = Cluster() if hardware is None or hardware.cluster is None else hardware.cluster
    tcdms = [base.tcdm] if sizes is None else buffer_sizes(sizes, "--tcdm")
    wanted = [part.strip() for part in numbers.split(",")]
    if not all(re.fullmatch("[0-9]{1,3}", one) for one in wanted):
        raise InputError(f"--cluster: expected numbers of HWCs such as 1,2,4, got {numbers[:40]!r}")
    return [
        validated(Cluster, {**base.model_dump(), "hwcs": number, "tcdm": size}, "--cluster")
        for number in sorted({int(one) for one in wanted})
        for size in tcdms
    ]


def _shapes(text: str | None, *, in_cluster: bool) -> list[Lanes | None]:
    """Shapes of the lanes, each once; None stands for any."""
    if text is None:
        return [ALONG_X] if in_cluster else [None]
    shapes = [lanes_of(one.strip()) for one in text.split(",")]
    if in_cluster and None in shapes:
        raise InputError("--lanes: auto: not in a cluster: expected shapes such as x16,m8x2")
    return list(dict.fromkeys(shapes))


def _objectives(given: str | None, slack: str | None, *, in_cluster: bool) -> str:
    """What is searched for where nothing is said: on clusters, which are given, what `default_objective` has."""
    if given is not None:
        return given
    return default_objective(None if slack is None else TRAFFIC_SLACK) if in_cluster else "balanced"


def _slacks(objectives: str, shares: str | None) -> list[float | None]:
    """The slack of each search, each once; None stands for the least traffic, `ANY_TRAFFIC` for the fewest cycles."""
    wanted = [one.strip() for one in objectives.split(",")]
    for one in wanted:
        if one not in ("balanced", "cycles", "traffic"):
            raise InputError(f"--objective: expected balanced, cycles, traffic or several, got {one[:40]!r}")
    if shares is not None and "balanced" not in wanted:
        raise InputError("--traffic-slack: expected with --objective balanced")
    slacks = [TRAFFIC_SLACK] if shares is None else [_share(one.strip()) for one in shares.split(",")]
    of_each: dict[str, list[float | None]] = {"balanced": [*slacks], "cycles": [ANY_TRAFFIC], "traffic": [None]}
    return list(dict.fromkeys(slack for one in wanted for slack in of_each[one]))


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= MOST_SLACK:
        raise InputError(f"--traffic-slack: expected 0 to {MOST_SLACK:g}, such as 0.01,0.05, got {text[:40]!r}")
    return share


def _order(text: str) -> str | None:
    text = text.strip()
    if text == "best":
        return None
    arrays = "".join(re.findall(r"\[([IWO]+)\]", text))
    loops = re.sub(r"\[[IWO]+\]", "", text)
    dims = "".join(DIMS)
    whole = re.fullmatch(f"[{dims}{dims.upper()}]+", loops) and not text.endswith("]")
    if not whole or len(set(arrays)) != len(arrays):
        raise InputError(f"--order: expected best or an order such as MYX[O]C[I]k[W]lmyx, got {text[:60]!r}")
    return text


def curve_sizes(sizes: list[int]) -> tuple[int, ...]:
    """Sizes of the curves: those of the points, and two for each power of two around them."""
    found = set(sizes)
    size = max(64, 1 << (min(sizes).bit_length() - 2))
    while size <= 2 * max(sizes):
        found |= {size, size * 3 // 2}
        size *= 2
    return tuple(sorted(found))
