"""The models of the papers, as published."""
