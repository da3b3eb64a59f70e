"""The page of a choice of hardware."""
