"""Studies: many points or many runs, with their commands; the core works without them."""
