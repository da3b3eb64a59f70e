"""Timing diagrams: recorded from the gateware, kept as WaveDrom JSON, drawn as SVG."""
