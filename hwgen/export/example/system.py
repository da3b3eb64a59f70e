"""The files of a block's front end, and an example: the front end and a small memory, joined to one module."""

import re
from pathlib import Path

from hwgen.arch.bus import WORD_BYTES
from hwgen.export.joined import FrontEnd, Instance, Port, joined
from hwgen.export.manifest import EXAMPLE

__all__ = ["front_end_files"]

FOLDER = Path(__file__).parent
MEMORIES = {"hwc": "tcdm_memory", "cluster": "axi_memory"}
MEMORY_PORTS = r"\b(?:axi__|tcdm_)\w+(?=,?\n)"
"""The names of a memory's ports, in the header of its module."""
DEPTH_LOG2 = 16
"""Words of the memory at least, as a power of two."""


def front_end_files(front_end: FrontEnd, identity: int, *, memory_bytes: int = 0) -> dict[str, str]:
    """The front end's file, and for a block that has a memory port the example system, by file name.

    ``BLOCK_system`` is a module with the AXI4-Lite port and the interrupt; the memory is inside. ``BLOCK_testbench``
    reads the block's ``identity`` in it. The memory has room for at least ``memory_bytes``.
    """
    block = front_end.block
    files = {f"{front_end.module}.v": front_end.verilog}
    if block not in MEMORIES:
        return files
    memory, ports = MEMORIES[block], front_end.ports
    text = (FOLDER / f"{memory}.v").read_text(encoding="utf-8")
    at_memory = set(re.findall(MEMORY_PORTS, text))
    inside = [(name, not is_input, width) for name, is_input, width in ports if name in at_memory]
    instances = [
        Instance(front_end.module, block, ports),
        Instance(memory, "memory", inside, parameters=_parameters(block, ports, memory_bytes)),
    ]
    system = joined(
        f"{block}_system", instances, [name for name, _, _ in ports if name.startswith(("axi__", "tcdm_"))]
    )
    heading = f"// {block}_system: {front_end.module} and a memory, as an example; generated, do not edit.\n"
    bench = (FOLDER / "testbench.v").read_text(encoding="utf-8")
    bench = bench.replace("block_", f"{block}_").replace("block answers", f"{block} answers")
    return {
        **files,
        f"{EXAMPLE}{block}_system.v": heading + system,
        f"{EXAMPLE}{memory}.v": text,
        f"{EXAMPLE}{block}_testbench.v": bench.replace("@identity@", f"{identity:x}"),
    }


def _parameters(block: str, ports: list[Port], memory_bytes: int) -> dict[str, int]:
    """The memory's, as wide as the block's ports are."""
    widths = {name: width for name, _, width in ports}
    words = -(-memory_bytes // WORD_BYTES)
    depth = {"DepthLog2": max(DEPTH_LOG2, (words - 1).bit_length())}
    if block == "hwc":
        return {**{f"Width{port.upper()}": widths[f"tcdm_{port}__r_rdata"] for port in "iwo"}, **depth}
    return {"DataBits": widths["axi__rdata"], "IdBits": widths["axi__rid"], **depth}
