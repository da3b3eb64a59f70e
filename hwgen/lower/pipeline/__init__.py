"""From a depth-first solution to a pipeline and its program, tile by tile."""
