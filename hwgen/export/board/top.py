"""The top of a board's design: pads, PLL, reset after power-up; and where the pads are, for nextpnr."""

from collections.abc import Mapping
from dataclasses import dataclass

from hwgen.arch.boards import Board, Pins, Pll
from hwgen.arch.serial import BAUD, DIVISOR_BITS, divisor_of

__all__ = ["TOP", "BoardClock", "constraints", "top_verilog"]

TOP = "top"
RESET_CYCLES_LOG2 = 6


@dataclass(frozen=True)
class BoardClock:
    """The clock of a design on a board.

    Members
    -------
    oscillator_mhz : on the board.
    pll : what makes another clock of it; None: the oscillator is the clock.
    """

    oscillator_mhz: float
    pll: Pll | None

    @property
    def mhz(self) -> float:
        """The clock."""
        return self.oscillator_mhz if self.pll is None else self.pll.mhz

    @property
    def divisor(self) -> int:
        """Cycles of a bit of the serial line."""
        return divisor_of(self.mhz)

    @property
    def baud(self) -> float:
        """Bits of the serial line in a second, near to `BAUD`."""
        return self.mhz * 1e6 / self.divisor


def top_verilog(pins: Pins, clock: BoardClock) -> str:
    """Verilog of the module ``top``: it has an instance of ``board``, and nothing that computes."""
    lights = _vector("output", "light", pins.lights)
    high = _vector("output", "high", pins.high)
    ports = "".join(f",\n    {port}" for port in (lights, high) if port)
    values = f"  assign light = {_lit(len(pins.lights))};\n" if pins.lights else ""
    values += f"  assign high = {len(pins.high)}'d{(1 << len(pins.high)) - 1};\n" if pins.high else ""
    return f"""\
// top: pads, clock and reset around the module board; generated, do not edit.
// {clock.mhz:g} MHz, a serial line of {BAUD} baud, as near as the clock comes.
module {TOP} (
    input  clk_in,
    input  rx,
    output tx{ports}
);
{_clocking(clock)}
  reg [{RESET_CYCLES_LOG2}:0] up = 0;  // cycles since the clock is there
  wire rst = !up[{RESET_CYCLES_LOG2}];
  always @(posedge clk) if (!locked) up <= 0; else if (rst) up <= up + 1'b1;

  wire busy, irq;
{values}
  board board (
      .clk(clk),
      .rst(rst),
      .divisor({DIVISOR_BITS}'d{clock.divisor}),
      .rx(rx),
      .tx(tx),
      .busy(busy),
      .irq(irq)
  );
endmodule
"""


def _vector(way: str, name: str, pins: tuple[str, ...]) -> str:
    return f"{way} [{len(pins) - 1}:0] {name}" if pins else ""


def _lit(number: int) -> str:
    """Lights, the first one last: ready, a request of the host under way, a program has ended."""
    shown = ["irq", "busy", "!rst"][-number:]
    return f"{{{number - len(shown)}'d0, {', '.join(shown)}}}" if number > len(shown) else f"{{{', '.join(shown)}}}"


def _clocking(clock: BoardClock) -> str:
    pll = clock.pll
    if pll is None:
        return "  wire clk = clk_in;\n  wire locked = 1'b1;"
    parameters: Mapping[str, str | int] = {
        "PLLRST_ENA": "DISABLED",
        "INTFB_WAKE": "DISABLED",
        "STDBY_ENABLE": "DISABLED",
        "DPHASE_SOURCE": "DISABLED",
        "OUTDIVIDER_MUXA": "DIVA",
        "OUTDIVIDER_MUXB": "DIVB",
        "OUTDIVIDER_MUXC": "DIVC",
        "OUTDIVIDER_MUXD": "DIVD",
        "CLKI_DIV": pll.reference,
        "CLKFB_DIV": pll.feedback,
        "FEEDBK_PATH": "CLKOP",
        "CLKOP_ENABLE": "ENABLED",
        "CLKOP_DIV": pll.output,
        "CLKOP_CPHASE": pll.output // 2,
        "CLKOP_FPHASE": 0,
    }
    given = ",\n".join(
        f'      .{name}("{value}")' if isinstance(value, str) else f"      .{name}({value})"
        for name, value in parameters.items()
    )
    return f"""\
  wire clk, lock;
  reg [1:0] seen = 0;  // the lock has no clock of its own
  always @(posedge clk) seen <= {{seen[0], lock}};
  wire locked = seen[1];
  (* FREQUENCY_PIN_CLKI = "{clock.oscillator_mhz:g}" *)
  (* FREQUENCY_PIN_CLKOP = "{pll.mhz:g}" *)
  (* ICP_CURRENT = "12" *) (* LPF_RESISTOR = "8" *)
  (* MFG_ENABLE_FILTEROPAMP = "1" *) (* MFG_GMCREF_SEL = "2" *)
  EHXPLLL #(
{given}
  ) pll (
      .RST(1'b0),
      .STDBY(1'b0),
      .CLKI(clk_in),
      .CLKFB(clk),
      .CLKOP(clk),
      .CLKINTFB(),
      .PHASESEL0(1'b0),
      .PHASESEL1(1'b0),
      .PHASEDIR(1'b1),
      .PHASESTEP(1'b1),
      .PHASELOADREG(1'b1),
      .PLLWAKESYNC(1'b0),
      .ENCLKOP(1'b0),
      .LOCK(lock)
  );"""


def constraints(board: Board, pins: Pins) -> str:
    """The pads and the oscillator in nextpnr's LPF."""
    places = {"clk_in": pins.clock, "rx": pins.rx, "tx": pins.tx}
    for name, some in (("light", pins.lights), ("high", pins.high)):
        places |= {f"{name}[{number}]": pin for number, pin in enumerate(some)}
    lines = [f"# {board.device}, package {board.package}; generated, do not edit."]
    for port, pin in places.items():
        pulled = " PULLMODE=UP" if port == "rx" else ""
        lines += [f'LOCATE COMP "{port}" SITE "{pin}";', f'IOBUF PORT "{port}" IO_TYPE=LVCMOS33{pulled};']
    lines.append(f'FREQUENCY PORT "clk_in" {board.oscillator_mhz:g} MHZ;')
    return "\n".join(lines) + "\n"
