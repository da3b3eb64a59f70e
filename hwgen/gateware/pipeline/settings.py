"""The run-time settings of a pipeline: one list from which registers, header and documentation follow."""

from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from hwgen.arch.pipeline import (
    ConvStage,
    GlobalPoolStage,
    JoinStage,
    PipelineParameters,
    PoolStage,
    ShuffleStage,
)
from hwgen.gateware.hwc.settings import Setting
from hwgen.gateware.pipeline.window_walk import WindowSettings

__all__ = ["MULTIPLIER_BITS", "pipeline_settings", "pipeline_settings_signature"]

MULTIPLIER_BITS = 17
AVERAGE_SHIFT_BITS = 6

_WINDOW = {
    "lines": "lines of outputs in the tile",
    "columns": "outputs of a line in the tile",
    "first_line": "line of the last tap of the first output: kernel - 1 - padding",
    "first_column": "column of the last tap of the first output, from the beginning of the map's line",
}
_OUTPUT = (
    Setting("relu", 1, "negative outputs become zero"),
    Setting("ceiling", 7, "the largest output there is, or the bound of a clipped ReLU"),
)
_SUM = (Setting("shift", 5, "bits that the sum is shifted right, with rounding"), *_OUTPUT)
_AVERAGE = (
    Setting("multiplier", MULTIPLIER_BITS, "what the sum is multiplied by"),
    Setting("shift", AVERAGE_SHIFT_BITS, "bits that the product is shifted right, with rounding"),
    *_OUTPUT,
)


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
    for number in range(len(parameters.stages)):
        found += [
            Setting(f"stage{number}_{entry.name}", entry.width, entry.meaning)
            for entry in _stage_settings(parameters, number)
        ]
    return tuple(found)


def _stage_settings(parameters: PipelineParameters, number: int) -> list[Setting]:
    stage, maps = parameters.stages[number], parameters.maps
    match stage:
        case ConvStage():
            return [*_window_settings(parameters, stage), *_SUM]
        case PoolStage():
            return [*_window_settings(parameters, stage), *(_AVERAGE if stage.kind == "average" else ())]
        case GlobalPoolStage():
            return list(_AVERAGE) if stage.kind == "average" else []
        case ShuffleStage():
            width = (maps[stage.reads].line * stage.factor).bit_length()
            return [
                Setting("first_column", width, "first output column, from what the map's first column becomes"),
                Setting("columns", width, "outputs of a line in the tile"),
            ]
        case JoinStage():
            found = [Setting("columns", maps[stage.makes].line.bit_length(), "joined columns of a line in the tile")]
            for place, operand in enumerate(stage.operands):
                if not operand.through_dram:
                    width = maps[operand.reads].line.bit_length()
                    found.append(Setting(f"first_{place}", width, f"first joined column of operand {place}'s line"))
            return [*found, *(_SUM if stage.kind == "add" else ())]


def _window_settings(parameters: PipelineParameters, stage: ConvStage | PoolStage) -> list[Setting]:
    source = parameters.maps[stage.reads]
    signature = WindowSettings(line=source.line, lines=source.lines, kernel=stage.kernel)
    return [Setting(name, signature.members[name].shape, meaning) for name, meaning in _WINDOW.items()]


def pipeline_settings_signature(parameters: PipelineParameters) -> wiring.Signature:
    """The settings as ports, one each, seen from the registers that hold them."""
    return wiring.Signature({setting.name: Out(setting.width) for setting in pipeline_settings(parameters)})
