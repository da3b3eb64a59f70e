"""The cluster: HWCs and a DMA on a banked TCDM, controlled by a program from DRAM."""
