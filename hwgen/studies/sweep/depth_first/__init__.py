"""Depth-first points: for each memory the solution of least traffic, its stacks as pipelines in the RTL."""
