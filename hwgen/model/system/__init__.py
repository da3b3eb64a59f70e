"""Cycles of one or more clusters on one DRAM, burst by burst and beat by beat."""
