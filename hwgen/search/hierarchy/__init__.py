"""The best schedule of one layer on a hierarchy of any depth, with a proven lower bound."""
