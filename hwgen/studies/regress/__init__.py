"""Regressions: many layers, clusters and pipelines in the simulator, each result kept as soon as it is there."""
