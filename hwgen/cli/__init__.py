"""The command ``hwgen``: one module per command, and what the commands share."""

from hwgen.cli.main import main

__all__ = ["main"]
