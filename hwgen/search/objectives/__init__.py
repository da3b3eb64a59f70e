"""Objectives of the searches: what each one sums, and what bounds it."""
