"""Amaranth generators. This room knows parameters and registers, not schedules, layers or files."""
