"""The layers of a quantised network: where each runs, and their runs."""
