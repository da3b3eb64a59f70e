"""Cosimulation: generated hardware in a simulator, inside a harness that counts every access, against the model."""
