"""The movers of a pipeline: its streams from and to a DRAM behind one AXI4 port."""
