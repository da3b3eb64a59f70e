"""Every generated page of the site."""

from functools import cache

from manual.api import api_pages
from manual.commands import commands_page

__all__ = ["generated_pages"]


@cache
def generated_pages() -> dict[str, str]:
    """Markdown by file name, relative to ``docs``."""
    return {"commands.md": commands_page(), **api_pages()}
