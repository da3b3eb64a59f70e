"""What MkDocs calls while it builds the site: adds the generated pages and their places in the navigation."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # MkDocs loads this file by its path

from mkdocs.structure.files import File, Files

from hwgen import __version__
from manual.inserts import with_inserts
from manual.pages import generated_pages

__all__ = ["on_config", "on_files", "on_page_markdown"]


def on_config(config: Any) -> Any:
    """Say the version on every page, and replace the entry ``API: generated`` by the generated pages."""
    config.site_name = f"{config.site_name} {__version__}"
    api = sorted(name for name in generated_pages() if name.startswith("api/"))
    for entry in config.nav:
        if isinstance(entry, dict) and "API" in entry:
            entry["API"] = [{Path(name).stem: name} for name in api]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages to those in ``docs``."""
    for name, text in generated_pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Put tables, drawings and timing diagrams where a page names them."""
    return with_inserts(markdown)
