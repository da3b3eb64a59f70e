"""The roofline of layers: which of lanes, ports, banks and DRAM is the busiest, and what that takes."""

from typing import Any

import numpy as np
import pytest

from hwgen.arch.hardware_file import read_hardware_data
from hwgen.ir.layer import Layer
from hwgen.lower.network.guess import BUSY_BANKS, NOT_BESIDE, RooflineGuess

LAYER = Layer(
    name="conv", input_channels=16, output_channels=32, input_height=16, input_width=16, kernel=3, padding=1
)
INPUTS, WEIGHTS, OUTPUTS, PIXELS = 16 * 256, 9 * 16 * 32, 32 * 256, 256
HELD = 1024 // (4 * 4)
"""Outputs of 4 filters that O's memory holds."""
PORTS = INPUTS * 8 / 4, WEIGHTS * PIXELS / HELD / 4
"""Cycles of the ports of I and W of one HWC: inputs for each four filters, weights for each run of outputs."""


def cycles(busy: float, stay: bool = True, **keys: Any) -> float:
    cluster = {"hwcs": 1, "tcdm": 1 << 16, "banks": 32, "axi_bits": 64} | keys
    hardware = read_hardware_data(
        {"format": 1, "kind": "hardware", "name": "x", "lanes": {"m": 4, "c": 4}, "cluster": cluster, "budget": 1536,
         "buffers": {"I": 256, "W": 256, "O": 1024},
         "order": ["m", "y", "x", {"buffer": "O"}, "c", {"buffer": "I"}, "k", {"buffer": "W"}, "l", "m", "y", "x"]},
        "x",
    )  # fmt: skip
    return RooflineGuess([LAYER], stay=stay).cycles(hardware, np.array([busy]))


def test_what_is_the_busiest_and_a_part_of_what_the_ports_take() -> None:
    beside = NOT_BESIDE * sum(PORTS)
    assert cycles(1e6) == 1e6 + beside
    assert cycles(1.0) == max(PORTS) + beside
    assert cycles(1.0, hwcs=2) == pytest.approx((max(PORTS) + beside) / 2)
    moved = WEIGHTS + INPUTS + OUTPUTS
    of_banks = (4 * PORTS[0] + 4 * PORTS[1] + OUTPUTS + WEIGHTS) / 4 / 2
    assert cycles(1.0, banks=2) == pytest.approx(BUSY_BANKS * of_banks + beside)
    assert cycles(1.0, hwcs=8, banks=32, axi_bits=32, stay=False) == pytest.approx(moved / 4 + beside / 8)
    assert cycles(1.0, hwcs=8, banks=32, axi_bits=32, tcdm=1 << 14) == pytest.approx(moved / 4 + beside / 8)
    assert cycles(1.0, hwcs=8, banks=32, axi_bits=32) < moved / 4


def test_layers_are_added_up() -> None:
    hardware = read_hardware_data(
        {"format": 1, "kind": "hardware", "name": "x", "lanes": {"m": 4, "c": 4}, "budget": 1536,
         "buffers": {"I": 256, "W": 256, "O": 1024},
         "order": ["m", "y", "x", {"buffer": "O"}, "c", {"buffer": "I"}, "k", {"buffer": "W"}, "l", "m", "y", "x"]},
        "x",
    )  # fmt: skip
    one = RooflineGuess([LAYER], stay=True).cycles(hardware, np.array([9e5]))
    both = RooflineGuess([LAYER, LAYER], stay=True).cycles(hardware, np.array([9e5, 1e6]))
    assert both == pytest.approx(2 * one + 1e5)
    assert RooflineGuess([], stay=True).cycles(hardware, np.zeros(0)) == 0.0
