"""The vector unit of a cluster: what a job of it is."""
