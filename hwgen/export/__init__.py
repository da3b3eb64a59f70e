"""Generated hardware as files: Verilog, register maps. The only user of Yosys and of Amaranth's back ends."""
