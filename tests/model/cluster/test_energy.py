"""Energy, by hand."""

from hwgen.ir.hardware import EnergyCost
from hwgen.ir.schedule import Bits
from hwgen.model.cluster.energy import energy
from tests.model.cluster.nests import conv


def test_every_byte_and_every_operation_counts() -> None:
    """2 filters, 1 channel, 2 x 1 outputs, 3 x 1 kernel: 12 multiply-accumulates of 1 + 1 + 8 bytes each."""
    layer = conv((2, 1, 2, 1), (3, 1))
    weights = EnergyCost(dram=100, tcdm=10, local=1, mac=0.5)
    found = energy(layer, Bits(), weights, dram_bytes=14, tcdm_bytes=30)
    assert found == 100 * 14 + 10 * (14 + 30) + 1 * (30 + 120) + 0.5 * 12
