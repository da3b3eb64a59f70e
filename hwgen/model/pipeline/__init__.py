"""Depth-first execution: line buffers, traffic and cycles of a pipeline."""
