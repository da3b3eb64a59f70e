"""The configurations of HWCs and clusters that ``hwgen sweep`` is asked for."""

import re
from collections.abc import Sequence

from hwgen.api.arguments import buffer_sizes, refuse
from hwgen.api.machines import HardwareLike, called
from hwgen.api.machines import hardware as hardware_of
from hwgen.api.scheduling.busy import lanes_of
from hwgen.api.work import MOST_SLACK, default_objective, of_size
from hwgen.arch.hardware_file import load_hardware
from hwgen.arch.hwc import ALONG_X
from hwgen.ir.builtin import builtin_names, named_file
from hwgen.ir.document import InputError, json_text, validated
from hwgen.ir.hardware import Cluster, Hardware, order_text
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import DIMS
from hwgen.search.hwc.balanced import ANY_TRAFFIC, TRAFFIC_SLACK
from hwgen.studies.regress.goals import Kind
from hwgen.studies.regress.plans import Configuration, GivenHwc
from hwgen.studies.sweep.clusters import ClusterConfiguration
from hwgen.studies.sweep.request import AnyConfiguration
from hwgen.tools.cache import digest_of

__all__ = ["configurations", "curve_sizes"]


def configurations(
    sizes: Sequence[int] | None,
    *,
    lanes: str | None,
    objective: str | None,
    slack: str | None,
    order: str | None,
    cluster: str | None,
    tcdm: str | None,
    hardware: Sequence[HardwareLike],
    per_layer: bool,
    hwce: bool,
) -> list[AnyConfiguration]:
    """All of them, by buffer sizes, lanes, orders and slacks; on HWCs that are given by these and by sizes."""
    if cluster is None and hardware:
        refuse(
            {"--lanes": lanes, "--order": order, "--tcdm": tcdm, "--per-layer": per_layer, "--hwce": hwce},
            "not with --hardware of an HWC, which has its own",
        )
        return _given_hwcs(hardware, sizes, _slacks(_objectives(objective, slack, given=True), slack))
    if sizes is None:
        raise InputError(
            "--buffer: expected sizes such as 512 or 1KiB,4KiB, or --hardware, which has its own "
            "(with --depth-first: --memory)"
        )
    shapes = _shapes(lanes, in_cluster=cluster is not None)
    orders = [_order(one) for one in (order or "best").split(",")]
    chosen_each = per_layer or cluster is not None
    slacks = _slacks(_objectives(objective, slack, given=cluster is not None), slack)
    if ANY_TRAFFIC in slacks and not chosen_each:
        raise InputError(
            "--objective: cycles: expected with --cluster, --hardware or --per-layer, not for one HWC for all"
        )
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
    elif tcdm is not None:
        raise InputError("--tcdm: expected with --cluster")
    if hwce:
        found += [Configuration("hwce", size, room=True) for size in sizes]
    return found


def _given_hwcs(
    sources: Sequence[HardwareLike], sizes: Sequence[int] | None, slacks: Sequence[float | None]
) -> list[AnyConfiguration]:
    """HWCs that are given, each with its own buffers, or with some sizes where it leaves them free."""
    found: dict[AnyConfiguration, None] = {}
    for source in sources:
        machine = hardware_of(source)
        if machine.cluster is not None:
            raise InputError(
                f"--hardware: {called(source)}: a cluster: expected an HWC, or --cluster with numbers of HWCs"
            )
        if machine.buffers is not None and sizes is not None:
            raise InputError(f"--buffer: {called(source)} has its own buffers: expected none")
        for size in sizes or [machine.budget]:
            given = GivenHwc(_label(machine), json_text(of_size(machine, size).as_data()))
            found |= {
                Configuration(
                    "given", size, lanes=machine.lanes, order=order_text(machine.order), slack=slack, given=given
                ): None
                for slack in slacks
            }
    return [*found]


def _label(machine: Hardware) -> str:
    """The name of hardware, with a digest where it is not the built-in one of that name."""
    if machine.name in builtin_names("hardware") and load_hardware(named_file("hardware", machine.name)) == machine:
        return machine.name
    return f"{machine.name}-{digest_of(machine.as_data())[:6]}"


def _clusters(numbers: str, sizes: str | None, sources: Sequence[HardwareLike]) -> list[Cluster]:
    """Clusters of some numbers of HWCs and sizes of the shared memory; the rest is that of a hardware file."""
    if len(sources) > 1:
        raise InputError(f"--hardware: expected one with --cluster, got {len(sources)}")
    base = Cluster()
    for source in sources:
        machine = hardware_of(source)
        if machine.cluster is None:
            raise InputError(f"--hardware: {called(source)}: expected hardware with a cluster")
        base = machine.cluster
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


def _objectives(asked: str | None, slack: str | None, *, given: bool) -> str:
    """What is searched for where nothing is said: where hardware is ``given`` what `default_objective` has."""
    if asked is not None:
        return asked
    return default_objective(None if slack is None else TRAFFIC_SLACK) if given else "balanced"


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
