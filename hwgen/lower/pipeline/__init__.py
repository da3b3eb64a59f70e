"""Lowering of depth-first solutions: a pipeline for each stack, and its program tile by tile."""
