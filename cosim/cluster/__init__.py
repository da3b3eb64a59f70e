"""A cluster in the simulator, and an interpreter of its programs."""
