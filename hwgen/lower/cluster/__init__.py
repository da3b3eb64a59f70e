"""The way from a schedule of two memory levels to the program of a cluster, its counts and its cycles."""
