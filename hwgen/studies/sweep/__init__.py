"""Sweeps over buffers, lanes and loop orders, measured in the RTL, on one machine or on a farm."""
