"""Frozen values that every other room reads: layers, networks, schedules, hardware, counts. Imports nothing of ours."""
