"""Amaranth generators. They know parameters and registers, not schedules, layers or files."""
