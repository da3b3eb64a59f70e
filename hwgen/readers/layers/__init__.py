"""Graphs as layer sets."""
