"""About the cycles of layers on hardware, in microseconds and before any schedule is known: a roofline.

Of the lanes, each port between HWCs and the TCDM, its banks and the DMA one is the busiest. Weights are fetched again
for each run of outputs that O's memory holds, inputs for each group of filters that the lanes take at once. It is no
bound: candidates are put in order by it before there are drafts.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import SUM_BYTES, WORD_BYTES, beat_bytes
from hwgen.ir.hardware import Hardware
from hwgen.ir.layer import Layer

__all__ = ["RooflineGuess"]

Each = NDArray[np.float64]
"""[layer]."""
NOT_BESIDE = 0.25
"""The part of what ports take that lanes wait for, where ports are not the busiest."""
BUSY_BANKS = 1.2
"""What accesses to banks take of the cycles of a bank that is never idle, as they come unevenly."""
ROOM = 0.6
"""The part of the TCDM that maps which stay there may have."""


class RooflineGuess:
    """About the cycles of layers that run one after the other.

    Parameters
    ----------
    stay : maps stay in the TCDM where the input and the output of a layer fit in most of it; else the DMA moves them.
    """

    def __init__(self, layers: Sequence[Layer], *, stay: bool) -> None:
        self._stay = stay
        self._inputs, self._weights, self._outputs, self._pixels, self._filters = (
            np.array(column, float).reshape(len(layers))
            for column in (
                [layer.input_elements for layer in layers],
                [layer.weight_elements for layer in layers],
                [layer.output_elements for layer in layers],
                [layer.output_height * layer.output_width for layer in layers],
                [layer.outputs_per_group for layer in layers],
            )
        )

    def cycles(self, hardware: Hardware, busy: Each) -> float:
        """About the cycles of all layers.

        Parameters
        ----------
        hardware : a cluster, or an HWC alone; with buffers.
        busy : cycles of the lanes of all HWCs for each layer, at the least.
        """
        assert hardware.buffers is not None
        cluster, ports, lanes = hardware.cluster, hardware.ports, hardware.shape
        held = max(1, hardware.buffers["O"] // (SUM_BYTES * lanes.m))
        weights = self._weights * np.maximum(1.0, self._pixels / held)
        inputs = self._inputs * np.ceil(self._filters / lanes.m)
        hwcs = 1 if cluster is None else cluster.hwcs
        of_ports = [
            moved / (width * hwcs)
            for moved, width in (
                (inputs, ports.input_bytes),
                (weights, ports.weight_bytes),
                (self._outputs, ports.output_bytes),
            )
        ]
        most = np.maximum(busy, np.maximum.reduce(of_ports))
        if cluster is not None:
            maps = self._inputs + self._outputs
            there = maps <= ROOM * cluster.tcdm if self._stay else np.zeros(len(maps), np.bool_)
            moved = self._weights + np.where(there, 0.0, maps)
            of_banks = (inputs + weights + self._outputs + moved) / (WORD_BYTES * cluster.banks)
            most = np.maximum(most, np.maximum(moved / beat_bytes(cluster.axi_bits), BUSY_BANKS * of_banks))
        return float((most + NOT_BESIDE * (of_ports[0] + of_ports[1])).sum())
