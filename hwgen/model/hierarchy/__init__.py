"""Nests on hierarchies of any depth: counts by the level that serves, needs, energy."""
