"""What a sweep synthesises: HWCs, clusters and pipelines, as cells of rows and as a table of their blocks."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.pipeline import PipelineParameters
from hwgen.studies.sweep.rows import Cells
from hwgen.studies.sweep.tables.columns import AREAS
from hwgen.synthesis.blocks import Block, cluster_blocks, hwc_blocks, pipeline_blocks
from hwgen.synthesis.cells import Area
from hwgen.synthesis.ecp5 import Device, Synthesis, synthesise_hwc, synthesise_pipeline
from hwgen.tools.cache import digest_of

__all__ = ["Synthesised", "area_cells", "area_rows", "design_of", "synthesised"]

Synthesised = HwcParameters | ClusterParameters | PipelineParameters
BANKS = "tcdm"
"""The block of a cluster that has the banks of its memory."""


def design_of(parameters: Synthesised) -> str:
    """The name of a design in the tables."""
    return digest_of([type(parameters).__name__, asdict(parameters)])[:16]


def synthesised(parameters: Synthesised, device: Device, *, seconds: float, tell: Any) -> dict[str, Any]:
    """Area by block and clock, as plain data. Of a cluster one HWC is placed, and nothing else.

    ``tell`` hears of each stage.
    """
    if isinstance(parameters, ClusterParameters):
        kind, whole = "cluster", synthesise_hwc(parameters.hwc, device, seconds=seconds, tell=tell)
        blocks = cluster_blocks(parameters, tell=lambda stage: tell(f"all of the cluster: {stage}"))
        cells = _cluster_cells(whole, blocks, parameters.hwcs)
    elif isinstance(parameters, HwcParameters):
        kind, whole = "hwc", synthesise_hwc(parameters, device, seconds=seconds, tell=tell)
        blocks, cells = hwc_blocks(parameters, tell=tell), area_cells(whole)
    else:
        kind, whole = "pipeline", synthesise_pipeline(parameters, device, seconds=seconds, tell=tell)
        blocks, cells = pipeline_blocks(parameters, tell=tell), area_cells(whole)
    design = design_of(parameters)
    return {
        "kind": kind,
        "cells": {**cells, "design": design},
        "blocks": {name: asdict(block) for name, block in blocks.items()},
    }


def area_cells(found: Synthesis) -> Cells:
    """The cells of a row whose whole hardware was placed."""
    return {
        "luts": found.logic.luts,
        "ffs": found.total.ffs,
        "dsps": found.total.dsps,
        "lut_rams": found.logic.lut_rams,
        "block_rams": found.logic.block_rams,
        "buffer_lut_rams": found.buffer_area.lut_rams,
        "buffer_block_rams": found.buffer_area.block_rams,
        "gates": found.gates.nand2,
        "buffer_bits": found.gates.buffer_bits,
        "queue_bits": found.gates.queue_bits,
        **_clock(found),
    }


def _clock(found: Synthesis) -> Cells:
    return {"clock_mhz": found.clock_mhz, "critical_path": f"{found.critical.start} -> {found.critical.end}"}


def _cluster_cells(one: Synthesis, blocks: Mapping[str, Block], hwcs: int) -> Cells:
    """The cells of a cluster: all of its blocks; its buffers are the HWCs' and the banks; the clock is one HWC's."""
    total = sum(blocks.values(), Block())
    banks = sum((block for name, block in blocks.items() if name.split(".")[0] == BANKS), Block())
    buffers = sum([one.buffer_area] * hwcs, Area()) + banks.area
    buffer_bits = hwcs * one.gates.buffer_bits + banks.gates.memory_bits
    return {
        "luts": total.area.luts,
        "ffs": total.area.ffs,
        "dsps": total.area.dsps,
        "lut_rams": total.area.lut_rams - buffers.lut_rams,
        "block_rams": total.area.block_rams - buffers.block_rams,
        "buffer_lut_rams": buffers.lut_rams,
        "buffer_block_rams": buffers.block_rams,
        "gates": total.gates.nand2,
        "buffer_bits": buffer_bits,
        "queue_bits": total.gates.memory_bits - buffer_bits,
        **_clock(one),
    }


def area_rows(found: Mapping[str, Any]) -> Iterator[Cells]:
    """The blocks of what `synthesised` found, as rows of the table of areas."""
    for name, block in found["blocks"].items():
        area, gates = Area(**block["area"]), block["gates"]
        cells = {
            "design": found["cells"]["design"],
            "block": name or "(top)",
            "kind": found["kind"],
            "lut4_equivalents": area.lut4_equivalents,
            **block["area"],
            "gates": gates["nand2"],
            "flip_flops": gates["flip_flops"],
            "memory_bits": gates["buffer_bits"] + gates["queue_bits"],
        }
        yield {column.name: cells[column.name] for column in AREAS}
