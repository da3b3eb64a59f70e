"""The way from nodes of an integer graph to programs of the vector unit."""
