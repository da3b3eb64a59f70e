"""Graphs with quantisers as graphs of integer nodes."""
