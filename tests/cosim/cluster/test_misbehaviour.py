"""What a cluster says about its accesses changes no count, and what it reads too much is named."""

from collections.abc import Callable

import pytest

from cosim.cluster.preparation import prepare_cluster
from cosim.device.dram import Unwanted
from cosim.device.job import Outcome
from cosim.device.judge import judge
from cosim.device.result import LayerResult
from hwgen.arch.descriptor import OperandTag
from hwgen.arch.registers.cluster import cluster_registers
from hwgen.export.cached import generated_cluster
from tests.cosim.benches import clusters_in_bench
from tests.cosim.cluster.disguise import GREEDY, HONEST, LYING, disguised
from tests.cosim.cluster.test_bench import DEPTHS, TINY
from tests.cosim.cluster.test_faults import HARDWARE, PARAMETERS

TASK = prepare_cluster(TINY, HARDWARE)
WEIGHTS = TASK.program.layout.weights
Behaves = Callable[[int], tuple[Outcome, LayerResult]]


@pytest.fixture(scope="module")
def behaves() -> Behaves:
    """A run of the same layer by a cluster that behaves in one of three ways."""
    address = cluster_registers(PARAMETERS).addresses["watchdog"]
    verilog = disguised(generated_cluster(PARAMETERS), WEIGHTS.base, address)
    ways = (HONEST, LYING, GREEDY)
    jobs = [TASK.job.with_registers({"watchdog": 4096 + way}) for way in ways]
    found = clusters_in_bench(PARAMETERS, jobs, simulator="icarus", dram_log2=DEPTHS["icarus"], verilog=verilog)
    return lambda way: (found[way], judge(TASK.wanted, found[way], "icarus"))


@pytest.mark.icarus
@pytest.mark.usefixtures("icarus")
class TestMisbehaviour:
    """One simulation for all."""

    def test_a_cluster_that_lies_changes_no_count(self, behaves: Behaves) -> None:
        (honest, fair), (lying, same) = behaves(HONEST), behaves(LYING)
        assert fair.passed, fair.failures
        assert same.passed, same.failures
        assert (lying.only.dram, lying.only.tcdm, lying.only.unwanted) == (
            honest.only.dram,
            honest.only.tcdm,
            Unwanted(),
        )

    def test_a_beat_too_many_is_found_and_named(self, behaves: Behaves) -> None:
        (honest, _), (greedy, judged) = behaves(HONEST), behaves(GREEDY)
        more = {name: count - honest.only.dram[OperandTag.W, False][name]
                for name, count in greedy.only.dram[OperandTag.W, False].items()}  # fmt: skip
        assert greedy.only.unwanted.beats == more["beats"] >= 1
        assert more["bytes"] == more["axi_bursts"] == more["jumps"] == 0
        assert greedy.only.tcdm == honest.only.tcdm
        assert judged.output_exact
        assert not judged.equal
        first = greedy.only.unwanted.address
        assert WEIGHTS.base < first
        beyond = f"{greedy.only.unwanted.beats} beats read beyond what the program asks for, the first at {first:#x}"
        assert any(beyond in line for line in judged.failures), judged.failures
        assert f"W read at dram: {greedy.only.dram[OperandTag.W, False]['beats']} beats" in "\n".join(judged.failures)
