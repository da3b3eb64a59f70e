"""What was computed, as figures and tables beside what was published."""
