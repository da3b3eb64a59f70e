"""Programs of several clusters: each computes its share of a layer in the one DRAM, and touches nothing else."""

from functools import cache
from random import Random

import numpy as np
import pytest

from cosim.hwc.layer_data import expected_output, random_data
from hwgen.arch.commands import encode
from hwgen.arch.dram import Dram, DramPort
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.lower.cluster.program import ClusterProgram
from hwgen.lower.system.program import SystemProgram, compile_system
from hwgen.lower.system.shares import PARTITIONS, Partition
from hwgen.model.dram.counts import dram_counts
from tests.lower.cluster.test_program import CLUSTER, cases
from tests.oracles.cluster_interpreter import Machine
from tests.oracles.dram_walk import walk_dram
from tests.random.clusters import cluster_schedules
from tests.random.layers import hwc

EVERYTHING = ("elements", "bytes", "beats", "axi_bursts", "blocks", "jumps", "row_misses")
PORT = DramPort(64, Dram(row_bytes=128, banks=2))


@cache
def systems(partition: Partition, count: int) -> list[tuple[SystemProgram, Hardware]]:
    """Random layers that can be shared out, on two to four clusters."""
    found: list[tuple[SystemProgram, Hardware]] = []
    for name in ("rows_of_kernel", "everything"):
        for number, (schedule, hardware) in enumerate(cases(name, 8)):
            try:
                program = compile_system(
                    schedule, hardware, 4 if partition == "KS&OFM" else 2 + number % 3, partition
                )
            except InputError:
                continue
            if len(program.programs) > 1:
                found.append((program, hardware))
            if len(found) % count == 0 and found:
                break
    return found


def mask_of(program: ClusterProgram, size: int) -> np.ndarray:
    """The bytes of the DRAM that a share's outputs and partial sums have."""
    written = np.zeros(size, np.bool_)
    layout, layer = program.layout, program.schedule.layer
    for region in (layout.output, layout.partial):
        row = layer.output_width * region.element
        for channel in range(layer.output_channels if region.size else 0):
            first = region.base + channel * layout.output_rows * row
            written[first : first + layer.output_height * row] = True
    return written


def test_batches_are_refused() -> None:
    hardware = hwc("fig8").model_copy(update={"cluster": CLUSTER})
    (case,) = cluster_schedules(hardware, Random("images"), 1, images=True)
    with pytest.raises(InputError, match=f"batch: expected 1 on several clusters, got {case.layer.batch}"):
        compile_system(case, hardware, 2, "KS")


@pytest.mark.parametrize("partition", PARTITIONS)
def test_shares_together_compute_the_layer(partition: Partition) -> None:
    found = systems(partition, 2)
    assert len(found) >= 4
    assert any(program.layout.partial.size for program, _ in found)
    for number, (system, _) in enumerate(found):
        rng = np.random.default_rng(number)
        data = random_data(system.schedule.layer, rng, system.schedule.bits.I)
        dram = system.image(data.inputs, data.weights, data.bias).view(np.uint8).copy()
        masks = [mask_of(program, len(dram)) for program in system.programs]
        assert np.sum(masks, axis=0).max() == 1, "shares are apart"
        for region in (system.layout.output, system.layout.partial):
            dram[region.base : region.base + region.size] = rng.integers(0, 256, region.size, np.uint8)
        for program, mask in zip(system.programs, masks, strict=True):
            before, tcdm = dram.copy(), rng.integers(0, 256, program.cluster.tcdm, np.uint8)
            machine = Machine(program.parameters, program.cluster.hwcs, dram, tcdm, program.rings, Random(number))
            machine.run(encode(program.commands))
            assert np.array_equal(dram[~mask], before[~mask])
            words = before.view("<u4")[program.layout.program // 4 :][: len(program.words)]
            assert np.array_equal(words, program.words)
        assert np.array_equal(system.output(dram.view("<u4")), expected_output(system.schedule.layer, data))


@pytest.mark.parametrize("partition", PARTITIONS)
def test_counts_of_shares_are_those_of_the_oracle(partition: Partition) -> None:
    small = [one for one in systems(partition, 2) if one[0].schedule.layer.macs < 3000]
    assert small
    for system, _ in small:
        for program in system.programs:
            found = dram_counts(program.schedule, PORT, layout=program.layout)
            assert not walk_dram(program.schedule, PORT, layout=program.layout).differences(found, EVERYTHING)


def test_all_clusters_have_the_same_hwcs() -> None:
    for system, hardware in systems("OFM", 2):
        free = hardware.model_copy(update={"buffers": None})
        found = compile_system(system.schedule, free, len(system.programs), "OFM")
        assert len({program.parameters for program in found.programs}) == 1


def test_clusters_that_are_made_for_16_bits_have_their_lanes() -> None:
    shared = 0
    for name in ("everything", "sums_of_channels"):
        for case in (case for case, _ in cases(name, 6) if case.bits.I == 16):
            schedule = case.model_copy(update={"bias_words": 0})
            try:
                found = compile_system(schedule, None, 2, "OFM")
            except InputError as error:
                assert "lanes" not in str(error)  # noqa: PT017 - of layers that cannot be shared out
                continue
            lanes = {program.parameters.lanes.product for program in found.programs}
            assert lanes == {2 * schedule.lanes.product}
            shared += len(found.programs)
    assert shared >= 4


def test_several_clusters_do_not_scale_sums() -> None:
    schedule, hardware = next(cases("squares", 1))
    scaled = schedule.model_copy(update={"requantisation": "scaled"})
    with pytest.raises(InputError, match="requantisation: expected shift on several clusters, got scaled"):
        compile_system(scaled, hardware.model_copy(update={"requantisation": "scaled"}), 2, "KS")
