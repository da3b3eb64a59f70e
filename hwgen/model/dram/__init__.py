"""What the DRAM sees of a schedule: beats, bursts, blocks, row misses, time."""
