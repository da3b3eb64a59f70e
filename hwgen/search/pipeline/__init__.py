"""Depth-first execution: the exact front of on-chip memory against traffic."""
