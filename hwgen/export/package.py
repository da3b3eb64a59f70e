"""What a design's folder has for other tools: lint waivers, each with its reason, and the FuseSoC core."""

from collections.abc import Iterable
from typing import Any

from hwgen.ir.document import dump_yaml

__all__ = ["CORE_VERSION", "EXAMPLE", "core_file", "waivers"]

CORE_VERSION = "0.1.0"
EXAMPLE = "example/"
"""The folder of what tries a block."""


def waivers(block: str) -> str:
    """Lint waivers for a block's Verilog."""
    return f"""\
`verilator_config
// The generator names every intermediate value and keeps whole structures together: not all of it is used.
lint_off -rule UNUSEDSIGNAL -file "*{block}*.v"
// One file holds the whole hierarchy, its modules named by their place in it.
lint_off -rule DECLFILENAME -file "*{block}*.v"
// Amaranth computes at full width and extends narrower operands by itself, as Verilog does.
lint_off -rule WIDTHEXPAND -file "*{block}*.v"
// Yosys writes "is zero" as a logical not of the whole vector.
lint_off -rule WIDTHTRUNC -file "*{block}*.v"
// Every case is preceded by an assignment of the default value.
lint_off -rule CASEINCOMPLETE -file "*{block}*.v"
// A place in a word is compared with a number that it reaches in wider words only.
lint_off -rule CMPCONST -file "*{block}*.v"
"""


def core_file(block: str, description: str, more: Iterable[str] = ()) -> str:
    """The FuseSoC core of a block.

    ``more`` : Verilog files beside the block's own; the target ``sim`` runs those in the folder `EXAMPLE`.
    """
    sources = [f"{block}.v", *(name for name in more if not name.startswith(EXAMPLE))]
    example = [name for name in more if name.startswith(EXAMPLE)]
    core: dict[str, Any] = {
        "name": f"hwgen:{block}:{block}:{CORE_VERSION}",
        "description": description,
        "filesets": {
            "rtl": {"files": sources, "file_type": "verilogSource"},
            "waivers": {"files": [{f"{block}.vlt": {"file_type": "vlt"}}]},
        },
        "targets": {
            "default": {"filesets": ["rtl", "tool_verilator ? (waivers)"]},
            "lint": {
                "flow": "lint",
                "flow_options": {"tool": "verilator", "verilator_options": ["-Wall"]},
                "filesets": ["rtl", "waivers"],
                "toplevel": block,
            },
        },
    }
    if example:
        core["filesets"]["example"] = {"files": example, "file_type": "verilogSource"}
        core["targets"]["sim"] = {
            "flow": "sim",
            "flow_options": {"tool": "icarus", "iverilog_options": ["-g2012"]},
            "filesets": ["rtl", "example"],
            "toplevel": f"{block}_testbench",
        }
    return "CAPI=2:\n" + dump_yaml(core)
