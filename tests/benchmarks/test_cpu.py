"""How the counts of caches are read and predicted; the counting itself is `make cpu`."""

from pathlib import Path

import pytest

from benchmarks.cpu.predicted import predicted_lines
from benchmarks.cpu.programs import counts_in
from hwgen.ir.memory.hierarchy import load_hierarchy
from hwgen.ir.schedule import Schedule
from hwgen.readers.layer_sets import load_layer_set

HERE = Path(__file__).parents[2] / "benchmarks" / "cpu"
SUMMARY = """\
==7== I   refs:      1,234
==7== I1  misses:       99
==7== D   refs:        800  (600 rd + 200 wr)
==7== D1  misses:   12,345  (12,000 rd + 345 wr)
==7== LLd misses:    1,200  ( 1,100 rd + 100 wr)
==7== LL misses:     1,299  ( 1,199 rd + 100 wr)
"""


def test_misses_of_data_are_read_from_the_summary() -> None:
    assert counts_in(SUMMARY) == (12_345, 1_200)
    with pytest.raises(RuntimeError, match="expected the misses of D1 and LLd"):
        counts_in(SUMMARY.replace("LLd", "LLi"))


def test_lines_by_hand() -> None:
    """Weights pass into l1 once a row of outputs, inputs and sums once; of l2 they pass once, all of them."""
    layer = {"name": "dot", "op": "conv", "input_channels": 4, "output_channels": 16, "input_height": 2,
             "input_width": 8, "output_height": 2, "output_width": 8, "kernel": [1, 1], "stride": [1, 1]}  # fmt: skip
    nest = [{"buffer": {"l2": ["I", "W", "O"]}}, {"c": 4}, {"buffer": {"l1": ["I", "O"]}}, {"y": 1},
            {"buffer": {"l1": "W"}}, {"m": 16}, {"m": 1}, {"c": 1}]  # fmt: skip
    bits = {"I": 32, "W": 32, "O": 32, "acc": 32}
    data = {"format": 1, "kind": "schedule", "layer": layer, "bits": bits, "nest": nest, "lanes": {"x": 8}}
    hierarchy = load_hierarchy(HERE / "caches.yaml")
    schedule = Schedule.from_data(data)
    inputs, weights, outputs = 4 * 16 * 4, 4 * 16 * 4, 16 * 16 * 4
    assert predicted_lines(schedule, hierarchy, "l1") == (inputs + 2 * weights + outputs) / 64
    assert predicted_lines(schedule, hierarchy, "l2") == (inputs + weights + outputs) / 64


def test_slices_are_of_the_layers_of_the_paper() -> None:
    full = {layer.name: layer for layer in load_layer_set("yang_2016").convolutions()}
    for layer in load_layer_set(str(HERE / "slices.yaml")).convolutions():
        whole = full[layer.name]
        assert layer.kernel == whole.kernel
        assert all(layer.loop_extents[dim] <= whole.loop_extents[dim] for dim in layer.loop_extents)
        assert layer.input_width == layer.output_width + layer.kernel[1] - 1
        assert layer.macs == whole.macs or layer.name in ("Conv1", "Conv2")
