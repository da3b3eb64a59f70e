"""The top of a board's design and its pads: the clock of every board, ports and constraints of one name, lint."""

import re
import subprocess
from pathlib import Path

import pytest

from hwgen.arch.boards import BOARDS, pll_of
from hwgen.export.board.top import BoardClock, constraints, top_verilog
from hwgen.tools.toolchain import environment

STUBS = """
module board(input clk, input rst, input [15:0] divisor, input rx, output tx, output busy, output irq);
  assign {tx, busy, irq} = {rx && !rst, clk, divisor[0]};
endmodule
(* blackbox *)
module EHXPLLL #(
    parameter CLKI_DIV = 1, CLKFB_DIV = 1, CLKOP_DIV = 1, CLKOP_CPHASE = 0, CLKOP_FPHASE = 0,
    parameter PLLRST_ENA = "", INTFB_WAKE = "", STDBY_ENABLE = "", DPHASE_SOURCE = "", OUTDIVIDER_MUXA = "",
    parameter OUTDIVIDER_MUXB = "", OUTDIVIDER_MUXC = "", OUTDIVIDER_MUXD = "", FEEDBK_PATH = "", CLKOP_ENABLE = ""
) (
    input RST, STDBY, CLKI, CLKFB, PHASESEL0, PHASESEL1, PHASEDIR, PHASESTEP, PHASELOADREG, PLLWAKESYNC, ENCLKOP,
    output CLKOP, CLKINTFB, LOCK
);
endmodule
"""
WORKING = [name for name, board in BOARDS.items() if board.pins is not None]


@pytest.mark.parametrize("name", WORKING)
@pytest.mark.parametrize("mhz", [None, 50.0])
def test_ports_and_pads_are_the_same(name: str, mhz: float | None, tmp_path: Path) -> None:
    board = BOARDS[name]
    assert board.pins is not None
    clock = BoardClock(board.oscillator_mhz, None if mhz is None else pll_of(board.oscillator_mhz, mhz))
    text, pads = top_verilog(board.pins, clock), constraints(board, board.pins)
    (tmp_path / "top.v").write_text(text + STUBS, encoding="utf-8")
    lint = ["verilator", "--lint-only", "-Wall", "-Wno-DECLFILENAME", "-Wno-UNUSEDSIGNAL", "-Wno-UNUSEDPARAM",
            "-Wno-UNDRIVEN", "-Wno-PROCASSINIT", "-Wno-PINCONNECTEMPTY", "--top-module", "top", "top.v"]  # fmt: skip
    ran = subprocess.run(
        lint, env=environment("verilator"), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    sites = dict(re.findall(r'^LOCATE COMP "([^"]+)" SITE "(\w+)";$', pads, re.MULTILINE))
    assert len(set(sites.values())) == len(sites)
    assert [sites[port] for port in ("clk_in", "rx", "tx")] == [board.pins.clock, board.pins.rx, board.pins.tx]
    lights = [sites[f"light[{number}]"] for number in range(len(board.pins.lights))]
    assert lights == list(board.pins.lights)
    assert sorted(re.findall(r'^IOBUF PORT "([^"]+)" IO_TYPE=LVCMOS33', pads, re.MULTILINE)) == sorted(sites)
    assert f'FREQUENCY PORT "clk_in" {board.oscillator_mhz:g} MHZ;' in pads
    assert ("EHXPLLL" in text) == (mhz is not None)


def test_the_line_is_a_million_bits_a_second_or_near_it() -> None:
    assert BoardClock(25, None).divisor == 25
    assert BoardClock(25, None).baud == 1_000_000
    for mhz in (12.5, 31.25, 40, 46.875, 62.5, 100):
        clock = BoardClock(25, pll_of(25, mhz))
        assert clock.mhz == mhz
        assert clock.baud == pytest.approx(1_000_000, rel=0.045)
    assert "divisor(16'd50)" in top_verilog(BOARDS["ulx3s_85f"].pins, BoardClock(25, pll_of(25, 50)))  # type: ignore[arg-type]
