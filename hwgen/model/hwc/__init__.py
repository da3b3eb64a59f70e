"""Cycles of one HWC."""
