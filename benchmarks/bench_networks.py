"""The nine networks in the package ``onnx`` as integer graphs: what part of them hardware can run, and how near their
integer reference is to ONNX Runtime.

Their weights, which the package leaves out, are random (one seed); batch normalisations are folded by ONNX Runtime;
``onnxruntime.quantization`` quantises them in QDQ form, calibrated with one random image. Marks: at least 99 % of the
multiply-accumulates are hardware's; 99.9 % of the elements are equal and none differs by more than one step; the
reference of SqueezeNet takes at most 10 s.
"""

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from examples.light import MODELS, folded, with_weights
from examples.quantising import quantise as quantised
from hwgen.golden.quantised.comparison import run_beside, total
from hwgen.golden.quantised.execution import execute
from hwgen.quantised.onnx.reader import read_quantised

SHARE, SECONDS = 0.99, 10.0
SEED = 1


def quantise(path: Path, folder: Path, rng: np.random.Generator) -> tuple[Path, dict[str, NDArray[np.float32]]]:
    """The quantised model, and an image."""
    model = with_weights(path, rng)
    (value,) = model.graph.input
    image = {value.name: rng.normal(size=(1, 3, 224, 224)).astype(np.float32)}
    return quantised(folded(model, folder / "folded.onnx"), folder / f"{path.stem}.onnx", [image]), image


def measure(path: Path) -> bool:
    """One network, printed as a row."""
    with TemporaryDirectory(prefix="hwgen-") as name:
        model, image = quantise(path, Path(name), np.random.default_rng(SEED))
        started = time.process_time()
        graph = read_quantised(model)
        imported = time.process_time()
        execute(graph, image)
        seconds = time.process_time() - imported
        beside = run_beside(model, graph, image, path.stem)
    macs, moved = graph.share()
    whole, hosts = total(beside.agreements), sorted({node.label for node in graph.nodes if not node.hardware})
    met = macs >= SHARE and whole.holds and (path.stem != "light_squeezenet" or seconds <= SECONDS)
    end = max(one.largest for one in beside.differences.values())
    print(
        f"  {path.stem}: {graph.work().macs / 1e6:,.0f} M MACs, hardware {macs:.2%} of them, {moved:.1%} of bytes; "
        f"{whole.equal:.4%} of {whole.elements:,} elements equal, largest difference {whole.largest}, {whole.ties:,} "
        f"ties; end to end at most {end:.4f}; import {imported - started:.1f} s, reference {seconds:.1f} s; "
        f"host: {', '.join(hosts)}: {'met' if met else 'MISSED'}",
        flush=True,
    )
    return met


def main() -> bool:
    """Measure, print, and say whether the marks are met."""
    print(f"quantised networks, seconds of a processor (load of the machine {os.getloadavg()[0]:.1f}):")
    met = True
    for path in sorted(MODELS.glob("*.onnx")):
        met = measure(path) and met
    return met
