"""The register bank of a depth-first pipeline."""

from collections.abc import Iterator

from hwgen.arch.pipeline import PipelineParameters
from hwgen.arch.registers.bank import Access, Bank, BankBuilder, Content, Register, setting, value_register
from hwgen.arch.registers.control import control_register, identity_register, status_register
from hwgen.arch.registers.errors import PipelineError

__all__ = ["PIPELINE_IDENTITY", "pipeline_registers", "tile_settings"]

PIPELINE_IDENTITY = 0x46555331
"""Reads "FUS1"."""
SETTINGS_BASE = 0x40


def pipeline_registers(parameters: PipelineParameters) -> Bank:
    """Every register of a pipeline."""
    builder = BankBuilder("pipeline", "Registers of a pipeline: the settings of a tile, its start and its status")
    builder.place(
        0,
        [
            identity_register(PIPELINE_IDENTITY),
            control_register("Starts a tile", "Loads the weights"),
            status_register(PipelineError),
            value_register("fault_address", 32, "Address of the register access that failed", Access.RO),
            value_register("cycles", 32, "Clock cycles of the last tile or load", Access.RO),
            setting("watchdog", 32, "Cycles without any movement after which a tile has failed; 0: never"),
        ],
    )
    builder.place(SETTINGS_BASE, _settings(parameters))
    return builder.bank()


def tile_settings(bank: Bank) -> tuple[Register, ...]:
    """The registers that describe a tile: the pipeline's settings without the watchdog."""
    return tuple(register for register in bank if register.address >= SETTINGS_BASE)


def _settings(parameters: PipelineParameters) -> Iterator[Content]:
    """The settings of a tile, in register order."""
    for number, one in enumerate(parameters.maps):
        name, bits = f"map{number}", one.line.bit_length()
        yield setting(f"{name}_line", bits, "Columns of a line in the tile, overlap included")
        yield setting(f"{name}_lines", one.lines.bit_length(), "Lines in the tile")
        if one.overlap_in:
            yield setting(f"{name}_overlap", bits, "Columns that the overlap port brings: the first of each line")
        if one.overlap_out:
            yield setting(f"{name}_saved", bits, "Columns that the overlap port takes: the last of each line")
    for number, stage in enumerate(parameters.stages):
        for entry in stage.settings(parameters.maps):
            yield setting(f"stage{number}_{entry.name}", entry.width, entry.meaning)
