"""The stages of a pipeline, a module for each kind."""
