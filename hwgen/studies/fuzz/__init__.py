"""Random hardware, layers, networks and options through the public commands, each pair of values together."""
