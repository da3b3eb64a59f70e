"""What the project claims about speed, measured: ``python -m benchmarks``."""
