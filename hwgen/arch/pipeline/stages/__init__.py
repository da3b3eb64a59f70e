"""The kinds of stages, a module each."""
