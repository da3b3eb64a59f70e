"""Where the program starts: nothing is imported before Ctrl-C is looked after."""

from hwgen.cli.program.interrupts import importing

__all__ = ["main"]


def main() -> None:
    """Run the command line; exits with 0 (done, all checks hold), 1 (a check failed) or 2 (bad input, one line)."""
    with importing():
        from hwgen.cli.program.program import run
    run()
