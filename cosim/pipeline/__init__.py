"""Depth-first pipelines in the simulator."""
