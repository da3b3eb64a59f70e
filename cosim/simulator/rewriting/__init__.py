"""What long simulations have for the exported Verilog and for Verilator's C++: the same values, computed faster."""
