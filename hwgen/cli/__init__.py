"""The command ``hwgen``: one module per command, and the answers that all of them give alike."""

from hwgen.cli.main import main

__all__ = ["main"]
