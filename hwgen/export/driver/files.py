"""The C driver of a block, file by file: what all blocks have in common, and what this one has of its own."""

from pathlib import Path

from hwgen.arch.registers.bank import Bank
from hwgen.export.driver.programs import REGIONS

__all__ = ["DEVICE", "driver_files"]

DEVICE = "hwgen_device.h"
FOLDER = Path(__file__).parent
COUNTERS = {"hwc": ("cycles", "stall_"), "cluster": ("cycles", "busy_", "wait_"), "pipeline": ("cycles",)}
"""The prefixes of the names of a block's counters."""


def driver_files(bank: Bank) -> dict[str, str]:
    """``BLOCK_driver.h`` and ``BLOCK_driver.c`` for a register bank, and `DEVICE`, which they include."""
    block = bank.name
    counters = [register.name for register in bank if register.name.startswith(COUNTERS[block])]
    header = _filled("block_driver.h", block, {
        "types": _text(f"{block}_types.h"),
        "regions": f"    struct hwgen_region {', '.join(REGIONS.get(block, ()))};",
        "calls": _text(f"{block}_calls.h"),
        "counters": "\n".join(f"    uint32_t {name};" for name in counters),
    })  # fmt: skip
    source = _filled("block_driver.c", block, {
        "calls": _text(f"{block}_calls.c"),
        "counters": "\n".join(
            f"    counters->{name} = HWGEN_READ(device, {block.upper()}_{name.upper()});" for name in counters
        ),
    })  # fmt: skip
    return {DEVICE: _text(DEVICE) + "\n", f"{block}_driver.h": header, f"{block}_driver.c": source}


def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8").rstrip("\n")


def _filled(name: str, block: str, parts: dict[str, str]) -> str:
    """A file whose names begin with ``block_``, with those of this block, and parts in the places of their names."""
    text = _text(name).replace("block_", f"{block}_").replace("BLOCK_", f"{block.upper()}_")
    for part, content in parts.items():
        text = text.replace(f"/* @{part}@ */", content)
    return text + "\n"
