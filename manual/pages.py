"""Every generated page of the site."""

from functools import cache

from manual.api import api_pages
from manual.commands import commands_page
from manual.integration import instantiation_page, ports_page
from manual.registers import WITH_REGISTERS, register_page

__all__ = ["generated_pages"]


@cache
def generated_pages() -> dict[str, str]:
    """Markdown by file name, relative to ``docs``."""
    return {
        "commands.md": commands_page(),
        "ports.md": ports_page(),
        "instantiation.md": instantiation_page(),
        **{f"registers/{top}.md": register_page(top) for top in WITH_REGISTERS},
        **api_pages(),
    }
