"""Quantised networks as small integer graphs, with their weights; and what reads them."""
