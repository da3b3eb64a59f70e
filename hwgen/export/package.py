"""What a design's folder has for other tools: lint waivers, each with its reason, and the FuseSoC core."""

__all__ = ["CORE_VERSION", "core_file", "waivers"]

CORE_VERSION = "0.1.0"


def waivers(block: str, more: str = "") -> str:
    """Lint waivers for a block's Verilog; ``more`` are further ones."""
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
{more}"""


def core_file(block: str, description: str) -> str:
    """The FuseSoC core of a block."""
    return f"""\
CAPI=2:
name: hwgen:{block}:{block}:{CORE_VERSION}
description: {description}
filesets:
  rtl:
    files: [{block}.v, {block}_axi_lite.v]
    file_type: verilogSource
  waivers:
    files: [{block}.vlt: {{file_type: vlt}}]
targets:
  default:
    filesets: [rtl, "tool_verilator ? (waivers)"]
  lint:
    default_tool: verilator
    filesets: [rtl, waivers]
    tools: {{verilator: {{mode: lint-only, verilator_options: [-Wall]}}}}
    toplevel: {block}
"""
