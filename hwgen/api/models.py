"""What a quantised model is taken as: programs with its weights for a cluster, or the shapes of its layers alone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path

from hwgen.api.arguments import is_given, size_text
from hwgen.api.machines import HardwareLike, hardware, read_hardware
from hwgen.api.networks import Network
from hwgen.api.progress import remark
from hwgen.api.work import PER_LAYER, Work
from hwgen.ir.document import InputError, is_model
from hwgen.ir.hardware import Hardware
from hwgen.ir.network.kinds import Dequantise, Quantise
from hwgen.lower.network.layers import weighted
from hwgen.lower.network.placement import DEFAULT_CLUSTER
from hwgen.readers.integers.reader import read_quantised
from hwgen.readers.onnx.reader import is_quantised

__all__ = ["default_cluster", "network_on", "require_whole", "tell_default", "tell_layers", "tell_shapes"]

FEW = 3
"""Layers that a line names, at most."""


def default_cluster() -> tuple[Hardware, bool]:
    """The hardware of a network where none is named, and that maps stay in its TCDM; `tell_default` says so."""
    return hardware(DEFAULT_CLUSTER), True


def tell_default() -> None:
    """Say which hardware is taken where none is named."""
    remark(f"no hardware is given: the built-in {DEFAULT_CLUSTER}, maps that fit staying in its TCDM")


def network_on(
    names: Sequence[str],
    given: HardwareLike | None,
    unfit: Mapping[str, object],
    *,
    partial: bool = False,
    resident: bool = False,
) -> tuple[Path, Hardware, bool] | None:
    """The file of a quantised network, the cluster that it is for, and whether maps stay in its TCDM.

    None for any other workload, and with ``partial``, which asks for the shapes of the layers, where no hardware is
    given. ``unfit`` : options that are not for a network, by name. Raises `InputError` if one of them is given, or if
    the hardware is no cluster.
    """
    model = _model(names)
    if model is None or (given is None and (partial or not is_quantised(model))):
        return None
    machine = read_hardware(given)
    if machine is not None and machine.requantisation != "scaled":
        return None
    if machine is not None and machine.cluster is None:
        raise InputError(
            f"{machine.titled}: cluster: missing key: a quantised network is generated as programs of a cluster"
        )
    for option, value in {**unfit, "--partial": partial}.items():
        if is_given(value):
            raise InputError(f"{option}: not for a quantised network, got {model}")
    if machine is None:
        return (model, *default_cluster())
    return model, machine, resident


def require_whole(names: Sequence[str], *, partial: bool) -> None:
    """Refuse a quantised network of which only the shapes of its layers would be generated; say it with ``partial``.

    An HWC's files, and those of a cluster whose requantisation is not scaled, are of layers: weights, sums, pools and
    whatever else a network has are not in them.
    """
    model = _model(names)
    if model is None or not is_quantised(model):
        return
    graph = read_quantised(model)
    layers = {node.name for node in weighted(graph)}
    others = Counter(
        node.label
        for node in graph.nodes
        if node.moves and node.name not in layers and not isinstance(node, Quantise | Dequantise)
    )
    lost = ", ".join(["the weights", *(f"{count} x {label}" for label, count in sorted(others.items()))])
    if not partial:
        raise InputError(
            f"{model}: a quantised network, of which only the shapes of its {len(layers)} layer(s) would be "
            f"generated, without {lost}: expected a cluster with requantisation scaled (--hardware), or --partial"
        )
    remark(f"{model}: left out: {lost}")


def tell_shapes(workload: object, works: Sequence[Work], *, given: bool) -> None:
    """Say of a quantised network which of its layers were scheduled, on which hardware, and that it is their shapes.

    ``given`` : whether hardware was named; else it is what was found for the layers.
    """
    model = _quantised(workload)
    if model is None:
        return
    layers = [schedule.layer.name for work in works for schedule in work.schedules]
    machine = works[0].hardware
    if machine is None or machine.name == PER_LAYER:
        where = "an HWC of its own for each"
    elif given:
        whole = "the cluster" if works[0].on_cluster else "one HWC of the cluster"
        where = f"{'the HWC' if machine.cluster is None else whole} {machine.name}"
    else:
        where = f"the best HWC of {size_text(machine.budget)} for them all (--hardware: another)"
    _tell(model, layers, f", on {where}")


def tell_layers(network: object, layers: Sequence[str]) -> None:
    """Say of a quantised network which of its layers are scheduled, and that it is their shapes."""
    model = _quantised(network)
    if model is not None:
        _tell(model, layers, "")


def _tell(model: Path, layers: Sequence[str], where: str) -> None:
    more = f" and {len(layers) - FEW} more" if len(layers) > FEW else ""
    remark(
        f"{model}: a quantised network, taken as the shapes of {len(layers)} layer(s), {', '.join(layers[:FEW])}"
        f"{more}, without weights and other nodes{where}; hwgen run takes all of it"
    )


def _quantised(workload: object) -> Path | None:
    """The file of a quantised network, given as it is or as `hwgen.load` made it; None for anything else."""
    one = workload.given if isinstance(workload, Network) else workload
    names = list(one) if isinstance(one, list | tuple) else [one]
    model = _model([fspath(name) for name in names if isinstance(name, str | PathLike)])
    return model if model is not None and model.is_file() and is_quantised(model) else None


def _model(names: Sequence[str]) -> Path | None:
    """The file of a network with weights; None for anything else."""
    model = Path(names[0] if len(names) == 1 else "")
    return model if is_model(model) else None
