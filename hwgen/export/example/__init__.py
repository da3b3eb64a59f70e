"""An example of a system around a block, in plain Verilog: its AXI4-Lite front end, and a memory."""
