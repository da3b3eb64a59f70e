"""The page of a run of a network."""
