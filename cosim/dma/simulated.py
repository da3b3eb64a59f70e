"""What a run needs of a simulated DMA."""

from typing import Protocol

from cosim.sim.harness import SimulatedHarness
from hwgen.arch.dma import DmaParameters

__all__ = ["SimulatedDma"]


class SimulatedDma(SimulatedHarness, Protocol):
    """A DMA in its harness, `cosim/harness/dma.sv`, whose memory is the DRAM, followed by the TCDM.

    Members
    -------
    parameters : of the DMA.
    """

    parameters: DmaParameters
