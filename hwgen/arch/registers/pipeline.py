"""The register bank of a depth-first pipeline."""

from collections.abc import Iterator

from hwgen.arch.pipeline import PipelineParameters
from hwgen.arch.pipeline.maps import MOST_LINE
from hwgen.arch.pipeline.movers import movers_of
from hwgen.arch.registers.bank import Access, Bank, BankBuilder, Content, Register, queued, setting, value_register
from hwgen.arch.registers.control import control_register, identity_register, status_register
from hwgen.arch.registers.errors import PipelineError

__all__ = ["PIPELINE_IDENTITY", "mover_registers", "pipeline_registers", "tile_settings"]

PIPELINE_IDENTITY = 0x46555331
"""Reads "FUS1"."""
SETTINGS_BASE = 0x40
LINES_BITS = MOST_LINE.bit_length()


def pipeline_registers(parameters: PipelineParameters) -> Bank:
    """Every register of a pipeline."""
    builder = BankBuilder("pipeline", "Registers of a pipeline: the settings of a tile, its start and its status")
    builder.place(
        0,
        [
            identity_register(PIPELINE_IDENTITY),
            control_register(
                "Starts a tile, in a run of its own or after the tiles of the run",
                "Loads the weights",
                more="Another tile follows the one that starts: the run goes on",
                queues=True,
            ),
            status_register(PipelineError, queues="A part has yet to take the settings of the last start"),
            value_register("fault_address", 32, "Address of the register access that failed", Access.RO),
            value_register("cycles", 32, "Clock cycles of the last run or load", Access.RO),
            setting("watchdog", 32, "Cycles without any movement after which a run has failed; 0: never"),
        ],
    )
    builder.place(SETTINGS_BASE, _settings(parameters))
    return builder.bank()


def tile_settings(bank: Bank) -> tuple[Register, ...]:
    """The registers that describe a tile: the pipeline's settings without the watchdog."""
    return tuple(register for register in bank if register.address >= SETTINGS_BASE)


def mover_registers(parameters: PipelineParameters) -> tuple[Register, ...]:
    """The registers that say what the movers move; none without movers."""
    names = {content.name for content in _mover_settings(parameters)}
    return tuple(register for register in pipeline_registers(parameters) if register.name in names)


def _mover_settings(parameters: PipelineParameters) -> Iterator[Content]:
    """The settings of the movers in register order; none without movers."""
    for mover in movers_of(parameters) if parameters.movers is not None else ():
        for runs in mover.runs:
            what = f"of map {runs.name.rpartition('map')[2]}'s overlap" if mover.maps else "of the stream"
            yield setting(f"{runs.name}_address", 32, f"Byte address of the first run {what}")
            if runs.pitched:
                yield setting(
                    f"{runs.name}_pitch", 32, f"Bytes from the beginning of a run {what} to that of the next"
                )
            if runs.counted:
                yield setting(f"{runs.name}_lines", LINES_BITS, f"Runs {what}")
            yield setting(f"{runs.name}_bytes", 32, f"Bytes of a run {what}; 0: nothing is moved")


def _settings(parameters: PipelineParameters) -> Iterator[Content]:
    """The settings of a tile, in register order. Those of arithmetic are the same for all tiles of a run."""
    for number, one in enumerate(parameters.maps):
        name, bits = f"map{number}", one.line.bit_length()
        yield queued(setting(f"{name}_line", bits, "Columns of a line in the tile, overlap included"))
        yield queued(setting(f"{name}_lines", one.lines.bit_length(), "Lines in the tile"))
        if one.overlap_in:
            meaning = "Columns that the overlap port brings: the first of each line"
            yield queued(setting(f"{name}_overlap", bits, meaning))
        if one.overlap_out:
            yield queued(setting(f"{name}_saved", bits, "Columns that the overlap port takes: the last of each line"))
    for number, stage in enumerate(parameters.stages):
        for entry in stage.settings(parameters.maps):
            found = setting(f"stage{number}_{entry.name}", entry.width, entry.meaning)
            yield found if entry.lasting else queued(found)
    yield from map(queued, _mover_settings(parameters))
