"""The proven optimum of one layer: the space of nests, and branch and bound over it."""
