"""Generated files in a folder, and what Verilator's lint says of them."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from hwgen.tools.toolchain import verilator_root

__all__ = ["lint", "written"]


def written(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """The folder, with these files in it and in folders inside."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def lint(folder: Path, *files: str, top: str) -> str:
    """All that Verilator says with every warning on; nothing if all is clean."""
    root = verilator_root()
    command = [str(root / "bin" / "verilator_bin"), "--lint-only", "--quiet-stats", "-Wall", "--top-module", top]
    environment = {"VERILATOR_ROOT": str(root)}
    done = subprocess.run(
        [*command, *files], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr
