"""``hwgen paper sousa-2022 --rtl``: the mappings on several clusters, by the cycle model and in the simulator."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from hwgen.arch.hardware_file import load_hardware
from hwgen.cli.console import note, printable, progress
from hwgen.ir.builtin import named_file
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.papers.sousa.mappings import MappingCampaign, MappingCase, MappingResult
from hwgen.papers.sousa.model import Npu
from hwgen.papers.sousa.system import MappedLayer, Way, mapped_on_system, system_npu
from hwgen.papers.sousa.system_rows import Cost, SystemRow

__all__ = ["CLUSTERS", "OnSystem", "on_system"]

CLUSTERS = 4
SHORTEST, SHORTEST_LIMIT = 3, 2_000_000
"""Layers of each network that are simulated in any case, the shortest ones, if they take no more cycles than this."""
CHOOSERS = ("burst-aware", "byte-counting")


@dataclass(frozen=True)
class OnSystem:
    """What was found: rows of layers, and the layers that the hardware cannot run, with the reason."""

    npu: Npu
    rows: list[SystemRow]
    refused: list[str]
    passed: bool


def on_system(networks: Sequence[str], name: str, limit: int, folder: Path) -> OnSystem:
    """Both mappings of every layer of the networks, in the simulator up to ``limit`` predicted cycles.

    Unless the limit is 0, so are the `SHORTEST` layers of each network.
    """
    hardware = _hardware(name)
    with progress(len(networks), "searching for four clusters") as step:
        layers = mapped_on_system(networks, hardware, CLUSTERS, step)
    groups = [
        [
            MappingCase(f"{one.layer.name}, {chooser}", [(way.schedule, way.mapping.slicing) for way in ways])
            for chooser, ways in zip(CHOOSERS, (one.burst_aware, one.byte_counting), strict=True)
        ]
        for one in layers
    ]
    campaign = MappingCampaign(groups, hardware, CLUSTERS, folder, limit)
    with progress(len(groups), "predicting cycles") as step:
        predicted = campaign.predict(step)
    within = _within(layers, predicted, campaign)
    note(f"{name}: simulating {len(within)} of {len(groups)} layers")
    with progress(len(within), "simulating") as step:
        results = campaign.measure(predicted, within, step)
    for result in (one for group in results for one in group):
        for failure in result.failures:
            typer.echo(printable(f"{result.name}: {failure}"), err=True)
    rows, refused = [], []
    for one, (aware, other) in zip(layers, results, strict=True):
        if aware.chosen is None or other.chosen is None:
            refused.append(f"{one.layer.name}: {aware.refused or other.refused}")
        else:
            rows.append(_row(one, aware, other))
    passed = all(result.passed for group in results for result in group)
    return OnSystem(system_npu(hardware, CLUSTERS), rows, refused, passed)


def _within(
    layers: Sequence[MappedLayer], predicted: Sequence[Sequence[MappingResult]], campaign: MappingCampaign
) -> list[int]:
    """The layers that are simulated."""
    within = {number for number, group in enumerate(predicted) if campaign.fits(group)}
    longest = [max(one.predicted for one in group) for group in predicted]
    runs = [number for number, group in enumerate(predicted) if all(one.chosen is not None for one in group)]
    runs = [number for number in runs if longest[number] <= SHORTEST_LIMIT] if campaign.limit else []
    for network in dict.fromkeys(network for layer in layers for network in layer.networks):
        own = sorted((number for number in runs if network in layers[number].networks), key=longest.__getitem__)
        within |= set(own[:SHORTEST])
    return sorted(within)


def _hardware(name: str) -> Hardware:
    hardware = load_hardware(named_file("hardware", name))
    if hardware.cluster is None or hardware.cluster.load is None or hardware.operand_bits != 16:
        raise InputError(f"--system: {name}: expected a cluster of 16 operand_bits with load, as calibrated")
    if hardware.lanes is None or hardware.lanes.product != hardware.lanes.x:
        raise InputError(f"--system: {name}: expected lanes along x")
    return hardware


def _row(one: MappedLayer, aware: MappingResult, other: MappingResult) -> SystemRow:
    return SystemRow(
        one.layer.name, one.networks, one.layer.macs, _cost(one.burst_aware, aware), _cost(one.byte_counting, other)
    )


def _cost(ways: Sequence[Way], result: MappingResult) -> Cost:
    assert result.chosen is not None
    way = ways[result.chosen]
    return Cost(
        way.text,
        way.transfers,
        way.macs,
        result.moving,
        result.computing,
        result.predicted,
        result.measured,
        way.dram_bytes,
        f"{ways[0].text} ({result.refused})" if result.chosen else "",
    )
