"""Mappings of other tools: a module for each tool, and the value that all of them are read as."""
