"""The integer reference: what the hardware must leave in memory, bit for bit."""
