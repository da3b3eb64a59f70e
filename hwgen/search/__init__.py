"""Which schedule is best."""
