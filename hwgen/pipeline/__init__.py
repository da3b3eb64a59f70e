"""Depth-first solutions on pipelines: read, planned tile by tile, lowered, interpreted."""
