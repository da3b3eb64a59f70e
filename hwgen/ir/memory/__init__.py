"""Memory hierarchies of any depth, and the energy and area of their memories."""
