"""``hwgen doctor``: what is installed, what is missing, which command needs it, and where what is kept lies."""

from hwgen.api.installation import doctor as examined
from hwgen.cli.console import Json, print_json
from hwgen.cli.printers.installation import print_installation

__all__ = ["doctor"]


def doctor(*, as_json: Json = False) -> int:
    """Show what is installed, what is missing and which command needs it, and where caches are.

    The exit status is 1 where schedules cannot be run in the default simulator.
    """
    found = examined()
    if as_json:
        print_json(found.document())
    else:
        print_installation(found)
    return 0 if found.works else 1
