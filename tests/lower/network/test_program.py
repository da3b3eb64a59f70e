"""Programs of several layers: each reads what the one before has stored, in any order that tokens allow."""

from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import permutations
from random import Random

import numpy as np
import pytest

from cosim.hwc.layer_data import LayerData, expected_output, random_data
from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.commands import Command, Opcode, Queue, encode
from hwgen.arch.descriptor import DescriptorError
from hwgen.ir.hardware import Cluster
from hwgen.ir.requantisation import Requantisation
from hwgen.lower.cluster.program import compile_cluster
from hwgen.lower.network.parts import LayerPart
from hwgen.lower.network.program import NetworkProgram
from hwgen.model.dram.counts import DramRegion
from tests.oracles.cluster_interpreter import Machine, ProgramError
from tests.random.clusters import cluster_schedules
from tests.random.layers import hwc

HARDWARE = hwc("two_tiles").model_copy(update={"cluster": Cluster(hwcs=2, tcdm=1 << 14, multicast=True)})


@cache
def chained() -> tuple[NetworkProgram, LayerData, np.ndarray]:
    """Two layers, the second one on the first bytes of what the first makes; its operands, and the DRAM before."""
    cases = cluster_schedules(HARDWARE, Random("chain"), 8, most_macs=3000)
    one, two = next(
        (one, two) for one, two in permutations(cases, 2) if two.layer.input_elements <= one.layer.output_elements
    )
    first, alone = compile_cluster(one, HARDWARE), compile_cluster(two, HARDWARE)
    free = first.layout.program

    def moved(region: DramRegion) -> DramRegion:
        return replace(region, base=free + region.base)

    old = alone.layout
    layout = replace(old, inputs=replace(old.inputs, base=first.layout.output.base), output=moved(old.output))
    layout = replace(layout, weights=moved(old.weights), bias=moved(old.bias), partial=moved(old.partial))
    second = compile_cluster(two, HARDWARE, layout=layout)
    address = free + old.program
    whole = NetworkProgram((LayerPart(first), LayerPart(second)), address, 0)
    whole = replace(whole, dram_end=address + WORD_BYTES * len(whole.words))
    operands, others = (random_data(case.layer, np.random.default_rng(1), case.bits.I) for case in (one, two))
    image = np.random.default_rng(2).integers(0, 256, whole.dram_end, np.uint8)
    for program, data, begin in ((first, operands, 0), (alone, others, free)):
        tensors = program.image(data.inputs, data.weights, data.bias).view(np.uint8)[: program.layout.output.base]
        image[begin : begin + len(tensors)] = tensors
    made = expected_output(one.layer, operands, first.requantisation).reshape(-1)
    made = made[: two.layer.input_elements].reshape(others.inputs.shape)
    return whole, replace(others, inputs=made), image


def right(
    whole: NetworkProgram, data: LayerData, image: np.ndarray, commands: tuple[Command, ...], seed: int
) -> bool:
    """Whether the second output is what it must be."""
    part = whole.parts[1]
    assert isinstance(part, LayerPart)
    layer = part.program
    dram, tcdm = image.copy(), np.random.default_rng(seed).integers(0, 256, layer.cluster.tcdm, np.uint8)
    machine = Machine(layer.parameters, layer.cluster.hwcs, dram, tcdm, {}, Random(seed))
    machine.run(encode(commands))
    form: Requantisation = layer.requantisation
    memory = dram[: len(dram) // 4 * 4].view("<u4")
    return np.array_equal(layer.output(memory), expected_output(layer.schedule.layer, data, form))


def test_the_second_layer_reads_what_the_first_has_stored() -> None:
    whole, data, image = chained()
    for seed in range(4):
        assert right(whole, data, image, whole.commands, seed)


def test_what_settles_too_early_goes_wrong() -> None:
    """Before the last store of the first layer, or not at all."""
    whole, data, image = chained()
    commands = list(whole.commands)
    settles = [i for i, command in enumerate(commands) if command.queue is Queue.PROGRAM]
    assert len(settles) == 3  # one for each layer, and the end
    at = settles[1]
    assert commands[at].opcode is Opcode.CONFIGURE
    assert commands[at - 1].queue is Queue.STORE
    early = (*commands[: at - 1], commands[at], commands[at - 1], *commands[at + 1 :])
    for wrong in (early, (*commands[:at], *commands[at + 1 :])):
        with suppress(ProgramError, DescriptorError):
            assert not right(whole, data, image, wrong, 0)


def test_layers_of_different_clusters_are_no_program() -> None:
    whole, _, _ = chained()
    first, second = whole.parts
    assert isinstance(second, LayerPart)
    other = LayerPart(replace(second.program, cluster=Cluster(hwcs=4, tcdm=1 << 14)))
    with pytest.raises(ValueError, match="expected all for one cluster"):
        NetworkProgram((first, other), 0, 0)
