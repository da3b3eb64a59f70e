"""The nine networks in the package ``onnx`` as integer graphs: how near their integer reference is to ONNX Runtime,
what part of them a cluster of 64 multipliers with a vector unit runs, and what that is predicted to take, beside the
roofline: for each layer the longer of its multiply-accumulates, 64 in a cycle, and its weights, 8 bytes in a cycle.

Their weights, which the package leaves out, are random (one seed); batch normalisations are folded by ONNX Runtime;
``onnxruntime.quantization`` quantises them in QDQ form, calibrated with one random image. Marks: at least 99 % of the
multiply-accumulates are hardware's, and this cluster's; 99.9 % of the elements are equal and none differs by more
than one step; the reference of SqueezeNet takes at most 10 s; the cycles of `ROOFLINE` are this part of them at the
least; a plan takes at most 60 s. DRAM: what feature maps take at most, between programs
and in them, beside the greatest sum of what is needed at once; bytes that it serves for one image, weights and
programs included.
"""

import os
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from benchmarks.kept import leave
from examples.accelerator import HARDWARE
from examples.light import MODELS, folded, with_weights
from examples.quantising import quantise as quantised
from hwgen.arch.bus import beat_bytes
from hwgen.arch.hardware_file import load_hardware
from hwgen.golden.quantised.comparison import run_beside
from hwgen.golden.quantised.execution import execute
from hwgen.ir.hardware import Cluster
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import View
from hwgen.lower.network.cluster_plan import ClusterPlan, plan_cluster
from hwgen.lower.network.forecast import forecast_of
from hwgen.lower.network.parts import LayerPart
from hwgen.lower.network.placement import possible_placement
from hwgen.readers.integers.reader import read_quantised
from hwgen.tools.garbage import collecting_rarely

SHARE, SECONDS, PLAN_SECONDS = 0.99, 10.0, 60.0
ROOFLINE = {
    "light_bvlc_alexnet": 0.88, "light_densenet121": 0.80, "light_inception_v1": 0.88, "light_inception_v2": 0.88,
    "light_resnet50": 0.88, "light_shufflenet": 0.50, "light_squeezenet": 0.88, "light_vgg19": 0.88,
    "light_zfnet512": 0.80,
}  # fmt: skip
"""The part of the predicted cycles that the roofline is, at the least."""
SEED = 1
COLUMNS = ("network", "million_macs", "hardware_macs", "hardware_bytes", "elements", "equal", "ties",
           "largest_difference", "reference_seconds", "host")  # fmt: skip
PLANNED = ("network", "macs", "bytes", "programs", "million_cycles", "roofline", "utilisation", "room", "least_room",
           "dram_megabytes", "microjoules")  # fmt: skip
CLUSTER = HARDWARE / "cluster_64_vector.yaml"


def quantise(path: Path, folder: Path, rng: np.random.Generator) -> tuple[Path, dict[str, NDArray[np.float32]]]:
    """The quantised model, and an image."""
    model = with_weights(path, rng)
    (value,) = model.graph.input
    image = {value.name: rng.normal(size=(1, 3, 224, 224)).astype(np.float32)}
    return quantised(folded(model, folder / "folded.onnx"), folder / f"{path.stem}.onnx", [image]), image


@dataclass
class Measured:
    """What `COLUMNS` and `PLANNED` say of each network, and whether all marks were met so far."""

    networks: list[list[object]] = field(default_factory=list)
    planned: list[list[object]] = field(default_factory=list)
    met: bool = True


def measure(path: Path, table: Measured) -> None:
    """One network, printed as two rows."""
    with TemporaryDirectory(prefix="hwgen-") as name:
        model, image = quantise(path, Path(name), np.random.default_rng(SEED))
        started = time.process_time()
        graph = read_quantised(model)
        imported = time.process_time()
        execute(graph, image)
        seconds = time.process_time() - imported
        beside = run_beside(model, graph, image, path.stem)
    place = possible_placement(graph)
    (macs, moved), whole = graph.share(place.here), beside.whole
    met = macs >= SHARE and beside.holds and (path.stem != "light_squeezenet" or seconds <= SECONDS)
    end = max(one.largest for one in beside.differences.values())
    hosts = {node.label for node in place.host(graph)}
    print(
        f"  {path.stem}: {graph.work().macs / 1e6:,.0f} M MACs, hardware {macs:.2%} of them, {moved:.1%} of bytes; "
        f"{whole.equal:.4%} of {whole.elements:,} elements equal, largest difference {whole.largest}, {whole.ties:,} "
        f"ties; end to end at most {end:.4f}; import {imported - started:.1f} s, reference {seconds:.1f} s; "
        f"host: {', '.join(sorted(hosts))}: {_verdict(met)}",
        flush=True,
    )
    table.met = table.met and met
    table.networks.append([
        path.stem, round(graph.work().macs / 1e6), round(macs, 6), round(moved, 6), whole.elements,
        round(whole.equal, 8), whole.ties, round(end, 4), round(seconds, 1), " ".join(sorted(hosts)),
    ])  # fmt: skip
    _planned(graph, path.stem, hosts, table)


def _roofline(plan: ClusterPlan) -> float:
    """Cycles of the layers that the plan runs, if multipliers or the DRAM were always busy."""
    beat = beat_bytes((plan.hardware.cluster or Cluster()).axi_bits)
    layers = [layer for layer in plan.layers if isinstance(layer.part, LayerPart)]
    return sum(max(one.node.macs / plan.lanes, one.weights.size / beat) for one in layers)


def _planned(graph: Graph, name: str, hosts: Collection[str], table: Measured) -> None:
    """What the cluster runs of it, and what its programs are predicted to take for one image.

    ``hosts`` : nodes that no hardware runs.
    """
    started = time.perf_counter()
    with collecting_rarely():  # as every call of the API does
        plan = plan_cluster(graph, load_hardware(CLUSTER))
    seconds = time.perf_counter() - started
    each = [forecast_of(plan, stretch) for stretch in plan.stretches]
    cycles, served = sum(one.cycles for one in each), sum(one.bytes for one in each)
    macs, moved = graph.share(plan.here)
    others = {node.label for node in graph.nodes if node.name not in plan.here and not isinstance(node, View)}
    part = _roofline(plan) / cycles
    met = macs >= SHARE and part >= ROOFLINE[name] and seconds <= PLAN_SECONDS
    busy, energy = macs * graph.work().macs / (cycles * plan.lanes), sum(one.energy for one in each)
    print(
        f"    on the cluster {macs:.2%} of MACs, {moved:.1%} of bytes, {len(each)} programs, {cycles / 1e6:,.2f} M "
        f"cycles, {part:.3f} of them the roofline (from {ROOFLINE[name]:.2f} on), utilisation {busy:.3f}, "
        f"{energy / 1e6:,.0f} uJ; DRAM: maps {plan.rooms.peak:,} bytes, at least {plan.rooms.bound:,}, "
        f"{served / 1e6:,.1f} MB served; plan {seconds:.0f} s by the clock; "
        f"host, too: {', '.join(sorted(others - set(hosts))) or 'none'}: {_verdict(met)}",
        flush=True,
    )
    table.met = table.met and met
    table.planned.append([
        name, round(macs, 6), round(moved, 6), len(each), round(cycles / 1e6, 2), round(part, 4), round(busy, 4),
        plan.rooms.peak, plan.rooms.bound, round(served / 1e6, 1), round(energy / 1e6),
    ])  # fmt: skip


def _verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def main() -> bool:
    """Measure, print, and say whether the marks are met."""
    print(f"quantised networks, seconds of a processor (load of the machine {os.getloadavg()[0]:.1f}):")
    table = Measured()
    for path in sorted(MODELS.glob("*.onnx")):
        measure(path, table)
    leave("networks", COLUMNS, table.networks)
    leave("networks_planned", PLANNED, table.planned)
    return table.met
