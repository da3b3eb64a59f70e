"""Pools whose tiles the DMA moves meanwhile, at few banks, in the RTL: they wait about as is expected."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from cosim.cluster.model import load_cluster
from cosim.cluster.run import run_clusters
from hwgen.arch.cluster import ClusterParameters
from hwgen.golden.quantised import maps
from hwgen.ir.network.kinds import MaxPool, Window
from hwgen.lower.vector.program import VectorProgram
from tests.cosim.vector.nodes import VectorTask, judge_vector, prepare_vector
from tests.cosim.vector.test_nodes import HWC

CLUSTER = ClusterParameters(
    HWC, hwcs=1, tcdm_bytes=1 << 14, tcdm_banks=4, axi_bits=32, vector=True, vector_elements=4
)
NUMBER = 12


def pool(rng: Random) -> VectorTask:
    """A pool whose strips are needed as soon as they are there."""
    channels, rows, columns = rng.randint(8, 24), rng.randint(12, 30), rng.randint(12, 50)
    size = rng.choice((2, 3, 5))
    window = Window((size, size), (2, 2), (0, 0, 0, 0), (1, 1))
    shape = (1, channels, (rows - size) // 2 + 1, (columns - size) // 2 + 1)
    node = MaxPool(name="pool", inputs=("i",), outputs=("o",), covers=(), shape=shape, window=window, table=None)
    given = np.random.default_rng(rng.randrange(1 << 32)).integers(-128, 128, (1, channels, rows, columns), np.int8)
    return prepare_vector(node, [given[0]], maps.max_pool(node, given)[0], CLUSTER, room=6144)


def without_waits(program: VectorProgram, monkeypatch: pytest.MonkeyPatch) -> float:
    """Cycles of a program if nothing waited at the banks."""
    with monkeypatch.context() as patched:
        patched.setattr("hwgen.lower.vector.program.vector_waits", lambda *_: 0.0)
        return replace(program).times().total


@pytest.mark.nightly
def test_pools_wait_for_the_dma_as_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, model, off, alone = Random("pools"), load_cluster(CLUSTER, dram_log2=18), [], []
    for task in [pool(rng) for _ in range(NUMBER)]:
        result = judge_vector(task, run_clusters(model, task.job))
        assert not result.failures
        off.append(task.program.times().total / result.cycles - 1)
        alone.append(without_waits(task.program, monkeypatch) / result.cycles - 1)
    assert max(map(abs, off)) <= 0.10
    assert np.mean(np.abs(off)) <= 0.05
    assert np.mean(alone) <= -0.10, "they are needed"
