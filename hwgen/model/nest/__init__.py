"""Nests on memories of any number of levels: what crosses every marker, in closed form, and lower bounds of it."""
