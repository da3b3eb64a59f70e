"""Transfers of the DMA and the cycles that they take."""
