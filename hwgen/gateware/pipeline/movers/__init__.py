"""The movers of a pipeline: its streams from and to a DRAM at one AXI4 port."""
