"""Frozen values that all other rooms read: layers, networks, schedules, hardware, counts. Imports nothing of ours."""
