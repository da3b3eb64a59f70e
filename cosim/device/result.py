"""What came of a layer, or of a node of a network, in the model and in the simulator."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hwgen.ir.counts import Counts
from hwgen.ir.schedule import Schedule
from hwgen.model.energy import DevicePrices, bus_energy, device_energy
from hwgen.tools.toolchain import Simulator

__all__ = ["LayerResult", "NodeResult"]


@dataclass(frozen=True, kw_only=True)
class _Result:
    """What came of one run.

    Members
    -------
    equal : every predicted count is the measured one, and nothing else was accessed.
    output_exact : the output in memory is the reference's, bit for bit.
    predicted_cycles : from the start write to the interrupt, with a memory that grants every request at once; of a
        cluster, with its DRAM's timing.
    cycles : the same, measured.
    failures : everything that is wrong, a line each; empty if all is well.
    prices : what its accesses cost; None: not known.
    """

    predicted: Counts
    measured: Counts
    equal: bool
    output_exact: bool
    predicted_cycles: int
    cycles: int
    failures: tuple[str, ...] = ()
    prices: DevicePrices | None = None

    @property
    def passed(self) -> bool:
        """Whether everything held."""
        return self.equal and self.output_exact and not self.failures

    def _as_json(
        self, name: str, simulator: str, schedule: Schedule | None, outermost: str, more: Mapping[str, Any]
    ) -> dict[str, Any]:
        """One entry of a document; totals are measured, at the outermost level that is counted."""
        return {
            "layer": name,
            "simulator": simulator,
            "schedule": schedule and schedule.as_data(),
            "predicted": self.predicted.as_json(),
            "measured": self.measured.as_json(),
            "total_bytes": self.measured.total_bytes(outermost),
            "total_with_bias": self.measured.total_with_bias(outermost),
            "equal": self.equal,
            "output_exact": self.output_exact,
            "macs": schedule.layer.macs if schedule else 0,
            "cycles": {"predicted": self.predicted_cycles, "measured": self.cycles},
            **more,
            "failures": list(self.failures),
        }


@dataclass(frozen=True)
class LayerResult(_Result):
    """What came of one schedule.

    Members
    -------
    seconds, cpu_seconds : wall clock and processor time of the run itself.
    stalls : cycles in which the datapath waited, by what it waited for, as the HWC's registers count them.
    predicted_stalls : the same, predicted.
    hwcs : HWCs that worked on it together.
    shared_out : to how many clusters, and how; empty if one did all.
    """

    schedule: Schedule
    simulator: Simulator
    seconds: float
    cpu_seconds: float = 0.0
    stalls: Mapping[str, int] = field(default_factory=dict)
    predicted_stalls: Mapping[str, int] = field(default_factory=dict)
    hwcs: int = 1
    shared_out: Mapping[str, int | str] = field(default_factory=dict)

    @property
    def layer(self) -> str:
        """The layer's name."""
        return self.schedule.layer.name

    @property
    def label(self) -> str:
        """The layer's name, and how it was shared out."""
        return ", ".join([self.layer, *(str(self.shared_out[key]) for key in ("partition",) if self.shared_out)])

    @property
    def utilisation(self) -> float:
        """Multiply-accumulates by what the lanes could have done in the measured time."""
        lanes = self.hwcs * self.schedule.lanes.product
        return self.schedule.layer.macs / (self.cycles * lanes) if self.cycles else 0.0

    def as_json(self) -> dict[str, Any]:
        """One entry of ``results``."""
        more = {
            "utilisation": round(self.utilisation, 4),
            "energy": self._energy(),
            **({"shared_out": dict(self.shared_out)} if self.shared_out else {}),
            "stalls": {"predicted": dict(self.predicted_stalls), "measured": dict(self.stalls)},
            "seconds": round(self.seconds, 3),
            "cpu_seconds": round(self.cpu_seconds, 3),
        }
        return self._as_json(self.layer, self.simulator, self.schedule, self.predicted.levels()[0], more)

    def _energy(self) -> dict[str, Any] | None:
        """Energy of what was predicted and measured; the datapath's own accesses are predicted in both."""
        if self.prices is None:
            return None
        counts = {"predicted": self.predicted, "measured": self.measured}
        found = {source: device_energy(self.schedule, one, self.prices).as_json() for source, one in counts.items()}
        return {**found, "datapath": "predicted"}


@dataclass(frozen=True)
class NodeResult(_Result):
    """What came of one node of the vector unit."""

    layer: str

    @property
    def label(self) -> str:
        """Its name."""
        return self.layer

    @property
    def utilisation(self) -> float:
        """The utilisation of the multipliers, which it does not use."""
        return 0.0

    def as_json(self) -> dict[str, Any]:
        """One entry of ``layers``."""
        more = {
            "utilisation": 0.0,
            "energy": {"predicted": self._energy(self.predicted), "measured": self._energy(self.measured)},
            "stalls": {"predicted": {}, "measured": {}},
        }
        return self._as_json(self.layer, "verilator", None, "dram", more)

    def _energy(self, counts: Counts) -> dict[str, Any] | None:
        return None if self.prices is None else bus_energy(counts, self.prices).as_json()
