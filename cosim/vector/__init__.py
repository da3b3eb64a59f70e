"""The vector unit of a cluster in the simulator."""
