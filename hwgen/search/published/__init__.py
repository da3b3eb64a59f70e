"""The search methods of the papers."""
