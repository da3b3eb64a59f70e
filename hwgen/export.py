"""Verilog, register map and C header of a generated block: the only user of Yosys and of Amaranth's back ends."""

import warnings
from functools import lru_cache

from amaranth._toolchain.yosys import find_yosys
from amaranth.back import rtlil

from hwgen.gateware.hwc import Hwc
from hwgen.gateware.params import HwcParameters

__all__ = ["verilog"]


@lru_cache(maxsize=32)
def verilog(parameters: HwcParameters) -> str:
    """SystemVerilog of one HWC, top module ``hwc``; the same text for the same parameters, run after run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = rtlil.convert(Hwc(parameters), name="hwc", emit_src=False)
    # Every combinational signal becomes a continuous assignment: Icarus 11 neither leaves it X at time 0, as it does
    # with always @*, nor runs for ever, as it does with an always_comb that depends on constants alone.
    script = [
        f"read_rtlil <<rtlil\n{text}\nrtlil",
        "proc -norom",
        "opt_expr",
        "opt_clean",
        "memory_collect",
        "attrmap -remove generator -remove top -remove src -remove amaranth.hierarchy -remove amaranth.decoding",
        "attrmap -modattr -remove generator -remove top -remove src",
        "write_verilog -sv",
    ]
    return find_yosys(lambda version: version >= (0, 40)).run(["-q", "-"], "\n".join(script), ignore_warnings=True)
