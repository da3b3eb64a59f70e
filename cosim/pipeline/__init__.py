"""A depth-first pipeline in the simulator."""
