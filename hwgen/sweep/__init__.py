"""Sweeps: which buffers, lanes and loop orders cost what, measured in the RTL, on one machine or on a farm."""
