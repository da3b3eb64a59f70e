"""A design for a board as files: Verilog, pads and PLL, pin constraints, the host program and what it loads."""
