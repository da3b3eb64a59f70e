"""The rows of Yang et al. 2016: networks (Table 1), energies (Table 3), DianNao with two schedules (Fig. 5)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hwgen.ir.builtin import named_file
from hwgen.ir.layer import Layer
from hwgen.ir.layer_set import Totals
from hwgen.ir.memory.hierarchy import Hierarchy, load_hierarchy
from hwgen.ir.memory.yang_2016 import WIDTHS, energy_per_byte
from hwgen.ir.schedule import ARRAYS, ArrayName, Schedule
from hwgen.model.energy import energy_of
from hwgen.model.nest.hierarchy_counts import counts_of
from hwgen.papers.yang.model import diannao_blocked, diannao_unblocked, window_bytes
from hwgen.papers.yang.search import level_by_level
from hwgen.papers.yang.strings import best_string
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.hierarchy.optimal import objective_value

__all__ = [
    "BENCHMARKS",
    "EnergyRow",
    "NetworkRow",
    "OnDianNao",
    "benchmark_layers",
    "diannao",
    "energy_rows",
    "network_rows",
    "on_diannao",
    "seeded_over_enumerated",
]

BENCHMARKS = ("Conv1", "Conv2", "Conv3", "Conv4", "Conv5")
"""The layers of Table 4 that Fig. 3 to 6 show."""
PUBLISHED: dict[str, tuple[str, float, float, float, float]] = {
    "AlexNet": ("alexnet", 1.9, 2, 0.065, 130),
    "VGGNet-B": ("vgg16", 11.2, 19, 0.124, 247),
    "VGGNet-D": ("vgg16", 15.3, 29, 0.124, 247),
}
"""Table 1: our table, GMAC and MB of the convolutions, and of the fully connected layers."""
NOT_IN_B = ("conv3_3", "conv4_3", "conv5_3")
"""The convolutions by which VGGNet-D is deeper than VGGNet-B (Simonyan and Zisserman 2014, Table 1)."""
BYTES = 2
"""Bytes of a coefficient in Table 1."""


@dataclass(frozen=True)
class NetworkRow:
    """A network of Table 1: GMAC and MB of weights, of convolutions and of layers that are fully connected."""

    network: str
    published_conv: float
    conv: float
    published_conv_mb: float
    conv_mb: float
    published_fc: float
    fc: float
    published_fc_mb: float
    fc_mb: float


@dataclass(frozen=True)
class EnergyRow:
    """pJ for 16 bits of a memory of ``kib`` KiB, by the bits of an access."""

    kib: float
    bits_64: float
    bits_128: float
    bits_256: float
    bits_512: float


@dataclass(frozen=True)
class OnDianNao:
    """One schedule on DianNao's hierarchy.

    Members
    -------
    layer, schedule : the layer's name, and which schedule: ``baseline`` or ``best``.
    dram_i, dram_w, dram_o, sram_i, sram_w, sram_o : pJ of what the DRAM and the buffers serve of each operand.
    mac : pJ of the multiply-accumulates.
    gap : of the best one: by how much it may exceed the least energy, at most.
    unblocked_i : bytes of I from the DRAM without the block of columns, in parts of those with it.
    window : bytes of the inputs of one output pixel.
    """

    layer: str
    schedule: str
    dram_i: float
    dram_w: float
    dram_o: float
    sram_i: float
    sram_w: float
    sram_o: float
    mac: float
    gap: float | None
    unblocked_i: float
    window: int

    def of(self, operand: ArrayName) -> float:
        """pJ of the memories for one operand: of IB, KB or OB."""
        return float(getattr(self, f"dram_{operand.lower()}") + getattr(self, f"sram_{operand.lower()}"))

    @property
    def dram(self) -> float:
        """pJ of the DRAM."""
        return self.dram_i + self.dram_w + self.dram_o

    @property
    def memory(self) -> float:
        """pJ of all memories."""
        return sum(self.of(operand) for operand in ARRAYS)


def network_rows() -> list[NetworkRow]:
    """Table 1."""
    rows = []
    for name, (table, conv, conv_mb, fc, fc_mb) in PUBLISHED.items():
        layers = load_layer_set(table).layers
        if name == "VGGNet-B":
            layers = tuple(layer for layer in layers if layer.name not in NOT_IN_B)
        totals = Totals.of(layers)
        of_fc = totals.weights - totals.conv_weights
        rows.append(
            NetworkRow(name, conv, totals.conv_macs / 1e9, conv_mb, BYTES * totals.conv_weights / 1e6,
                       fc, totals.fc_macs / 1e9, fc_mb, BYTES * of_fc / 1e6)
        )  # fmt: skip
    return rows


def energy_rows() -> list[EnergyRow]:
    """Table 3, and what is beyond it."""
    sizes = [2.0**exponent for exponent in range(-6, 15)]
    return [EnergyRow(kib, *(2 * energy_per_byte(round(kib * 1024), width) for width in WIDTHS)) for kib in sizes]


def benchmark_layers(names: Sequence[str] = BENCHMARKS) -> list[Layer]:
    """The layers of Table 4 by name."""
    known = {layer.name: layer for layer in load_layer_set("yang_2016").convolutions()}
    return [known[name] for name in names]


def diannao() -> Hierarchy:
    """DianNao's memories."""
    return load_hierarchy(named_file("hierarchies", "diannao"))


def on_diannao(
    layers: Sequence[Layer], hierarchy: Hierarchy, best: Callable[[Layer], tuple[Schedule, float]]
) -> list[OnDianNao]:
    """Fig. 5: each layer with the baseline schedule, and with the best one: its schedule and gap."""
    rows = []
    for layer in layers:
        baseline = diannao_blocked(layer, hierarchy)
        found, gap = best(layer)
        rows += [_row(baseline, "baseline", hierarchy, None), _row(found, "best", hierarchy, gap)]
    return rows


def seeded_over_enumerated(layer: Layer, hierarchy: Hierarchy) -> float:
    """Energy that the paper's search level by level finds, in parts of the least of all short strings."""
    enumerated, _ = best_string(layer, hierarchy)
    seeded = level_by_level(layer, hierarchy)
    return objective_value(seeded, hierarchy, "energy") / objective_value(enumerated, hierarchy, "energy")


def _row(schedule: Schedule, called: str, hierarchy: Hierarchy, gap: float | None) -> OnDianNao:
    layer, (buffers,) = schedule.layer, hierarchy.inner
    energy = energy_of(counts_of(schedule, hierarchy), hierarchy, layer.macs)
    outer, inner = energy.levels[hierarchy.outermost.name], energy.levels[buffers.name]

    def inputs(one: Schedule) -> int:
        return counts_of(one, hierarchy).served.operand_bytes("I", hierarchy.outermost.name)

    unblocked = inputs(diannao_unblocked(layer, hierarchy)) / inputs(diannao_blocked(layer, hierarchy))
    return OnDianNao(
        layer=layer.name,
        schedule=called,
        dram_i=outer["I"],
        dram_w=outer["W"],
        dram_o=outer["O"],
        sram_i=inner["I"],
        sram_w=inner["W"],
        sram_o=inner["O"],
        mac=energy.mac,
        gap=gap,
        unblocked_i=unblocked,
        window=window_bytes(layer, schedule.bits),
    )
