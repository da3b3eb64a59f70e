"""The scatter-gather DMA between DRAM and TCDM."""
