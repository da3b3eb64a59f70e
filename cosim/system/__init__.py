"""Several clusters on one DRAM in the simulator."""
