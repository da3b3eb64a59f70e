"""What a network is predicted to take on a cluster: cycles, bytes and energy of its programs, shares of the work."""

from dataclasses import dataclass

from hwgen.arch.dram import Dram, DramPort
from hwgen.lower.network.cluster_plan import ClusterPlan, Stretch
from hwgen.lower.network.parts import LayerPart
from hwgen.model.energy import bus_energy, device_energy, prices_of

__all__ = ["Forecast", "forecast_of"]


@dataclass(frozen=True)
class Forecast:
    """The forecast of one program, for one image.

    Members
    -------
    cycles : from start to interrupt.
    dram_bytes : that the DRAM serves, programs included.
    energy : pJ of all accesses and multiply-accumulates, without the programs.
    """

    cycles: float
    dram_bytes: int
    energy: float


def forecast_of(plan: ClusterPlan, stretch: Stretch) -> Forecast:
    """The forecast of one program."""
    cluster = plan.hardware.cluster
    timing = (cluster and cluster.dram) or Dram()
    program = stretch.program
    port = DramPort(program.hardware.axi_bits, timing)
    prices = prices_of(program.hardware.hwc, cluster)
    moved, energy = program.fetched(port).bytes, 0.0
    for layer, prediction in zip(stretch.layers, program.predictions(port), strict=True):
        counts, part = prediction.counts, layer.part
        spent = (
            device_energy(part.program.schedule, counts, prices)
            if isinstance(part, LayerPart)
            else bus_energy(counts, prices)
        )
        moved += counts.total_with_bias("dram")
        energy += spent.total
    return Forecast(program.times(timing).total, moved, energy)
