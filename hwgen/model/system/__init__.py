"""Cycles of several clusters on one DRAM, burst by burst and beat by beat."""
