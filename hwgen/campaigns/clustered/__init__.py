"""A quantised network on one cluster: a program for each stretch of layers between nodes of the host."""
