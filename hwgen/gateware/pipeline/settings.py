"""The run-time settings of a pipeline: one list from which registers, header and documentation follow."""

from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from hwgen.arch.pipeline import PipelineParameters
from hwgen.gateware.hwc.settings import Setting

__all__ = ["pipeline_settings", "pipeline_settings_signature"]


def pipeline_settings(parameters: PipelineParameters) -> tuple[Setting, ...]:
    """Every run-time setting of a pipeline, in register order."""
    found = []
    for number, one in enumerate(parameters.maps):
        name = f"map{number}"
        found += [
            Setting(f"{name}_line", one.line.bit_length(), "columns of a line in the tile, overlap included"),
            Setting(f"{name}_lines", one.lines.bit_length(), "lines"),
        ]
        if one.overlap_in:
            found.append(
                Setting(
                    f"{name}_overlap", one.line.bit_length(), "columns that the overlap port brings, the first ones"
                )
            )
        if one.overlap_out:
            found.append(
                Setting(f"{name}_saved", one.line.bit_length(), "columns that the overlap port takes, the last ones")
            )
    for number, stage in enumerate(parameters.stages):
        found += [
            Setting(f"stage{number}_{entry.name}", entry.width, entry.meaning)
            for entry in stage.settings(parameters.maps)
        ]
    return tuple(found)


def pipeline_settings_signature(parameters: PipelineParameters) -> wiring.Signature:
    """The settings as ports, one each, seen from the registers that hold them."""
    return wiring.Signature({setting.name: Out(setting.width) for setting in pipeline_settings(parameters)})
