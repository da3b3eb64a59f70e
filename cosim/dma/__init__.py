"""The DMA in the simulator."""
