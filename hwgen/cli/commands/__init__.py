"""One module, or one folder, for each command."""
