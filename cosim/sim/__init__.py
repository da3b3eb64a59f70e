"""Simulators: builds, runs, and the processes that they take."""
