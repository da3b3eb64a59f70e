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
    # Combinational logic stays always @*, so that a simulator skips the branches that are not taken. Icarus 11 does not
    # run these at time 0; without initial values every register changes from X to its reset value under reset, which
    # does run them. (An always_comb would run at time 0, but for ever where it depends on constants alone.)
    script = [
        f"read_rtlil <<rtlil\n{text}\nrtlil",
        "proc -nomux -norom",
        "memory_collect",
        "attrmap -remove generator -remove top -remove src -remove amaranth.hierarchy -remove amaranth.decoding",
        "attrmap -modattr -remove generator -remove top -remove src",
        "attrmap -remove init",
        "write_verilog",
    ]
    return find_yosys(lambda version: version >= (0, 40)).run(["-q", "-"], "\n".join(script), ignore_warnings=True)
