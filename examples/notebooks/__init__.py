"""Notebooks, and the network and the picture that they take; `docs/notebooks.md` has them with what they show."""
