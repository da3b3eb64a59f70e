"""Bytes that the DMA writes one by one: the model against the ports and banks of the gateware, cycle by cycle."""

from random import Random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring

from hwgen.arch.cluster import TcdmParameters
from hwgen.arch.commands import load
from hwgen.arch.descriptor import Descriptor, OperandTag, RingSelect
from hwgen.gateware.cluster.tcdm_banks import TcdmBanks, join_port
from hwgen.gateware.dma.write import LineWriter
from tests.gateware.simulate import simulate
from tests.model.system.test_cycles import HARDWARE, played

BEFORE = 40
"""Bytes after which the cycles are counted."""


class Ports(wiring.Component):
    """The ports of the DMA that write lines, alone at the banks."""

    def __init__(self) -> None:
        super().__init__({})
        ports = HARDWARE.dma.ports
        self.writer = LineWriter(HARDWARE.dma)
        self.banks = TcdmBanks(
            TcdmParameters(ports, HARDWARE.tcdm_banks, HARDWARE.tcdm_bytes, (1,) * ports, frozenset(range(ports)))
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.writer, m.submodules.banks = self.writer, self.banks
        for number in range(HARDWARE.dma.ports):
            join_port(m, self.writer.port[number], self.banks.ports, number)
        return m


def written(addresses: list[int]) -> int:
    """Cycles from a first line that is offered, of bytes as many as can be written at once, until all are written."""
    together, top = HARDWARE.dma.scattered_bytes, Ports()
    lines = [addresses[at : at + together] for at in range(0, len(addresses), together)]
    cycles = 0

    async def bench(ctx: Any) -> None:
        nonlocal cycles
        port, line = top.writer.i_line, 0
        while not ctx.get(top.writer.done):
            ctx.set(port.valid, line < len(lines))
            if line < len(lines):
                for number, address in enumerate(lines[line]):
                    ctx.set(port.payload.words[number].address, address)
                    ctx.set(port.payload.words[number].enable, 1 << address % 4)
                ctx.set(port.payload.last, line == len(lines) - 1)
            taken = ctx.get(port.ready)
            await ctx.tick()
            line, cycles = line + taken, cycles + 1

    simulate(top, bench)
    return cycles


def random_way(rng: Random) -> tuple[int, int, int]:
    """Bytes of a fold, and how far they and the folds are apart."""
    return rng.randint(1, 30), rng.choice((3, 4, 16, 64, 128, rng.randrange(2, 300))), rng.randrange(300)


@pytest.mark.parametrize(
    "way", [(9999, 4, 0), (9999, 64, 0), (9999, 66, 0), (9999, 2, 0), (9999, 3, 0), (9, 128, 16), (9, 64, 8),
            *(random_way(Random(seed)) for seed in range(10))]
)  # fmt: skip
def test_bytes_wait_for_each_other_as_in_the_hardware(way: tuple[int, int, int]) -> None:
    fold, fast, slow = way
    runs = [
        Descriptor(
            length, OperandTag.W, RingSelect.W, 0, 0, scattered=True, fold=fold, fast_stride=fast, slow_stride=slow
        )
        for length in (BEFORE, 6 * BEFORE)
    ]
    model = [played([load(one.encode())])[0].busy["load"] for one in runs]
    hardware = [written(one.offsets()) for one in runs]
    assert model[1] - model[0] == hardware[1] - hardware[0]
