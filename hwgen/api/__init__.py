"""What scripts, notebooks and the commands call: `hwgen` has its names."""
