"""Weights in the shared memory: in fetch order, densely or in lines."""
