"""Nests with one level of buffers: the literal walk, the closed form, and lower bounds."""
