"""A device's Verilog with something between its core and the world that misbehaves to order."""

import re

__all__ = ["GREEDY", "HONEST", "LYING", "disguised"]

HONEST, LYING, GREEDY = range(3)
"""LYING: wrong user bits on every address, wrong kinds of accesses. GREEDY: one beat more for the burst of loads that
begins at `greedy_at`; the core does not see it."""

_WRAPPER = """
module {module}({names});
{declared}
  reg [1:0] mode = {way};
  wire lies = mode == 2'd1;
  wire loads = axi__arid == 0;
  wire takes = loads && mode == 2'd2 && axi__araddr == 32'd{greedy_at};
  wire [7:0] awuser, aruser, arlen;
  wire rvalid, rready, rlast, swallows;
{kinds}  reg [63:0] longer = 0;
  reg [7:0] last[0:63], beat = 0;
  reg [5:0] asked = 0, ended = 0;
  assign axi__awuser = lies ? ~awuser : awuser;
  assign axi__aruser = lies ? ~aruser : aruser;
  assign axi__arlen = takes ? arlen + 8'd1 : arlen;
  assign swallows = axi__rvalid && axi__rid == 0 && axi__rlast && longer[ended];
  assign rvalid = axi__rvalid && !swallows;
  assign rlast = axi__rid == 0 && longer[ended] ? beat == last[ended] : axi__rlast;
  assign axi__rready = rready || swallows;
  always @(posedge clk) begin
    if (cfg__req && cfg__gnt && !cfg__wen && cfg__add == 32'd{address_of_mode}) mode <= cfg__wdata[1:0];
    if (rst) begin
      asked <= 0;
      ended <= 0;
    end else begin
      if (axi__arvalid && axi__arready && loads) begin
        longer[asked] <= takes;
        last[asked] <= arlen;
        asked <= asked + 6'd1;
      end
      if (axi__rvalid && axi__rready && axi__rid == 0) begin
        beat <= axi__rlast ? 8'd0 : beat + 8'd1;
        if (axi__rlast) ended <= ended + 6'd1;
      end
    end
  end
  honest_{module} core ({connected});
endmodule
"""


_WITHOUT_REGISTERS = """
  wire cfg__req = 0, cfg__gnt = 0, cfg__wen = 0;
  wire [31:0] cfg__add = 0, cfg__wdata = 0;
"""


def disguised(
    verilog: str, greedy_at: int, address_of_mode: int = 0, *, module: str = "cluster_core", way: int = HONEST
) -> str:
    """The same device, which does what the lowest two bits say that were last written to a register.

    ``module``: its name. ``way``: what it does before; one without registers does that all the time.
    """
    found = re.search(rf"^module {module}\((.*?)\);\n(.*?)^endmodule", verilog, re.DOTALL | re.MULTILINE)
    assert found is not None
    names = [name.strip() for name in found[1].replace("\n", " ").split(",")]
    ports = re.findall(r"^  ((?:input|output)(?: \[[0-9:]+\])?) (\w+);$", found[2], re.MULTILINE)
    declared = {name: kind for kind, name in ports}
    assert set(declared) == set(names)
    inner = {"axi__awuser": "awuser", "axi__aruser": "aruser", "axi__arlen": "arlen", "axi__rvalid": "rvalid",
             "axi__rready": "rready", "axi__rlast": "rlast", "moves": "kinds"}  # fmt: skip
    kinds = ""
    if "moves" in declared:
        wire = declared["moves"].replace("output", "wire")
        kinds = f"  {wire} kinds;\n  assign moves = lies ? ~kinds : kinds;\n"
    shown = "\n".join(f"  {kind.replace('output', 'output wire')} {name};" for name, kind in declared.items())
    text = _WRAPPER.format(
        module=module,
        way=way,
        names=", ".join(names),
        declared=shown if "cfg__req" in declared else shown + _WITHOUT_REGISTERS,
        connected=", ".join(f".{name}({inner.get(name, name)})" for name in names),
        kinds=kinds,
        greedy_at=greedy_at,
        address_of_mode=address_of_mode,
    )
    return verilog.replace(f"module {module}(", f"module honest_{module}(") + text
