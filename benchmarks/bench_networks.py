"""The nine networks in the package ``onnx`` as integer graphs: how near their integer reference is to ONNX Runtime,
what part of them a cluster of 64 multipliers with a vector unit runs, and what that is predicted to take.

Their weights, which the package leaves out, are random (one seed); batch normalisations are folded by ONNX Runtime;
``onnxruntime.quantization`` quantises them in QDQ form, calibrated with one random image. Marks: at least 99 % of the
multiply-accumulates are hardware's, and this cluster's; 99.9 % of the elements are equal and none differs by more
than one step; the reference of SqueezeNet takes at most 10 s. DRAM: what feature maps take at most, between programs
and in them, beside the greatest sum of what is needed at once; bytes that it serves for one image, weights and
programs included.
"""

import os
import time
from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from examples.accelerator import HARDWARE
from examples.light import MODELS, folded, with_weights
from examples.quantising import quantise as quantised
from hwgen.arch.hardware_file import load_hardware
from hwgen.golden.quantised.comparison import run_beside
from hwgen.golden.quantised.execution import execute
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import View
from hwgen.lower.network.cluster_plan import plan_cluster
from hwgen.lower.network.forecast import forecast_of
from hwgen.lower.network.placement import possible_placement
from hwgen.readers.integers.reader import read_quantised

SHARE, SECONDS = 0.99, 10.0
SEED = 1
CLUSTER = HARDWARE / "cluster_64_vector.yaml"


def quantise(path: Path, folder: Path, rng: np.random.Generator) -> tuple[Path, dict[str, NDArray[np.float32]]]:
    """The quantised model, and an image."""
    model = with_weights(path, rng)
    (value,) = model.graph.input
    image = {value.name: rng.normal(size=(1, 3, 224, 224)).astype(np.float32)}
    return quantised(folded(model, folder / "folded.onnx"), folder / f"{path.stem}.onnx", [image]), image


def measure(path: Path) -> bool:
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
    hosts = {node.label for node in place.host(graph) if not isinstance(node, View)}
    print(
        f"  {path.stem}: {graph.work().macs / 1e6:,.0f} M MACs, hardware {macs:.2%} of them, {moved:.1%} of bytes; "
        f"{whole.equal:.4%} of {whole.elements:,} elements equal, largest difference {whole.largest}, {whole.ties:,} "
        f"ties; end to end at most {end:.4f}; import {imported - started:.1f} s, reference {seconds:.1f} s; "
        f"host: {', '.join(sorted(hosts))}: {_verdict(met)}",
        flush=True,
    )
    return _planned(graph, hosts) and met


def _planned(graph: Graph, hosts: Collection[str]) -> bool:
    """What the cluster runs of it, and what its programs are predicted to take for one image.

    ``hosts`` : nodes that no hardware runs.
    """
    started = time.process_time()
    plan = plan_cluster(graph, load_hardware(CLUSTER))
    seconds = time.process_time() - started
    each = [forecast_of(plan, stretch) for stretch in plan.stretches]
    cycles, served = sum(one.cycles for one in each), sum(one.dram_bytes for one in each)
    here = {layer.node.name for layer in plan.layers}
    macs, moved = graph.share(here)
    others = {node.label for node in graph.nodes if node.name not in here and not isinstance(node, View)}
    busy, energy = macs * graph.work().macs / (cycles * plan.lanes), sum(one.energy for one in each)
    print(
        f"    on the cluster {macs:.2%} of MACs, {moved:.1%} of bytes, {len(each)} programs, {cycles / 1e6:,.2f} M "
        f"cycles, utilisation {busy:.3f}, {energy / 1e6:,.0f} uJ; DRAM: maps {plan.rooms.peak:,} bytes, at least "
        f"{plan.rooms.bound:,}, {served / 1e6:,.1f} MB served; plan {seconds:.0f} s; "
        f"host, too: {', '.join(sorted(others - set(hosts))) or 'none'}: {_verdict(macs >= SHARE)}",
        flush=True,
    )
    return macs >= SHARE


def _verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def main() -> bool:
    """Measure, print, and say whether the marks are met."""
    print(f"quantised networks, seconds of a processor (load of the machine {os.getloadavg()[0]:.1f}):")
    met = True
    for path in sorted(MODELS.glob("*.onnx")):
        met = measure(path) and met
    return met
