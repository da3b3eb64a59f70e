"""The C driver of a block, file by file, and programs as constants in C, in the types of the drivers."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hwgen.arch.layout import Region
from hwgen.arch.registers.bank import Bank
from hwgen.ir.names import c_name
from hwgen.lower.network.exchange import Tensor

__all__ = ["REGIONS", "Write", "c_bytes", "c_program", "c_programs", "c_tiles", "driver_files"]


WORDS_A_LINE, BYTES_A_LINE = 8, 16
REGIONS = {
    "hwc": ("input", "weights", "bias", "output", "partial"),
    "cluster": ("input", "weights", "bias", "output", "partial", "program"),
}
"""Where a program has its tensors and itself: members of ``struct BLOCK_program``, in their order."""


@dataclass(frozen=True)
class Write:
    """A register to write; ``in_memory``: the address of the memory is added to the value."""

    name: str
    address: int
    value: int
    in_memory: bool = False

    def line(self) -> str:
        """The element of an array of them."""
        return f"    {{0x{self.address:03x}u, 0x{self.value:x}u, {int(self.in_memory)}u}}, /* {self.name} */"


def c_program(
    block: str,
    layer: str,
    hardware: str,
    writes: Sequence[Write],
    regions: Mapping[str, Region],
    words: Sequence[int] = (),
    *,
    share: int | None = None,
    folder: str = "../",
    tensors: Mapping[str, Sequence[Tensor]] | None = None,
) -> str:
    """The header of a layer's program.

    Parameters
    ----------
    hardware : the digest of the block that it is for.
    regions : where the tensors are, by the names of `REGIONS`; one that is left out is empty.
    words : what leads the block, if registers alone do not.
    share : the cluster that it is for, of several that share the layer.
    folder : from the header to the driver.
    tensors : of a network, inputs and outputs, by the name of their array; there is none of no elements.
    """
    name = f"{block}_program_{c_name(layer)}{'' if share is None else f'_cluster{share}'}"
    what = "layer" if tensors is None else "network"
    lines = [f"/* The program of {what} {layer} for the {block} {hardware}. Generated, do not edit. */"]
    content = [
        f"static const struct {block}_write {name}_writes[] = {{",
        *(write.line() for write in writes),
        "};",
        "",
    ]
    if words:
        content += [f"static const uint32_t {name}_words[] = {{", *_words(words), "};", ""]
    # No designators: C++ has them since 2020 only, and in the order of the members.
    content += [f"static const struct {block}_program {name} = {{", f"    {name}_writes, {len(writes)}u,"]
    content += [f"    {name}_words,"] if words else []
    assert set(regions) <= set(REGIONS[block]), "regions that no program has"
    for region in REGIONS[block]:
        one = regions.get(region, Region(0, 0))
        content += [f"    {{0x{one.base:x}u, {one.size}u}}, /* {region} */"]
    content += ["};"]
    for array, entries in ((array, entries) for array, entries in (tensors or {}).items() if entries):
        content += ["", f"static const struct hwgen_tensor {name}_{array}[] = {{"]
        content += [*map(_tensor_line, entries), "};"]
    for number, tensor in enumerate((tensors or {}).get("inputs", ())):
        content += ["", *_laying_out(f"{name}_input{number}", tensor)]
    return "\n".join([*lines, *_guarded(name, f"{folder}{block}_driver.h", content)])


def c_programs(block: str, network: str, programs: Sequence[str], *, share: int | None = None) -> str:
    """A header that includes those of the programs of a network, and names them in order.

    ``share`` : see `c_program`.
    """
    own, suffix = ("", "") if share is None else (f"_cluster{share}", f".cluster{share}")
    name = f"{block}_programs_{c_name(network)}{own}"
    lines = [f"static const struct {block}_program *const {name}[] = {{"]
    lines += [*(f"    &{block}_program_{c_name(program)}{own}," for program in programs), "};"]
    others = [f'#include "{program}{suffix}.h"' for program in programs[1:]]
    what = f"The programs of network {network}; what software does between them is in {network}.json."
    return "\n".join(
        [f"/* {what} Generated, do not edit. */", *_guarded(name, f"{programs[0]}{suffix}.h", [*others, "", *lines])]
    )


def c_bytes(name: str, content: bytes) -> str:
    """A header with bytes as the array ``name``."""
    rows = (content[first : first + BYTES_A_LINE] for first in range(0, len(content), BYTES_A_LINE))
    lines = [f"static const uint8_t {name}[] = {{", *("    " + " ".join(f"{byte}," for byte in row) for row in rows)]
    return "\n".join(["/* Generated, do not edit. */", *_guarded(name, "<stdint.h>", [*lines, "};"])])


def c_tiles(block: str, hardware: str, tiles: Sequence[Sequence[Write]]) -> str:
    """The header of a program that is one list of registers for each tile."""
    name = f"{block}_program"
    content: list[str] = []
    for number, writes in enumerate(tiles):
        content += [f"static const struct {block}_write {name}_tile{number}[] = {{"]
        content += [*(write.line() for write in writes), "};", ""]
    content += [f"static const struct {block}_tile {name}_tiles[] = {{"]
    content += [f"    {{{name}_tile{number}, {len(writes)}u}}," for number, writes in enumerate(tiles)]
    lines = [f"/* The tiles of a stack for the {block} {hardware}. Generated, do not edit. */"]
    return "\n".join([*lines, *_guarded(name, f"{block}_driver.h", [*content, "};"])])


def _guarded(name: str, include: str, content: Sequence[str]) -> list[str]:
    # With a digest: of two programs of one name the second would be left out without a word.
    guard = f"{name.upper()}_{hashlib.sha256(chr(10).join(content).encode()).hexdigest()[:8].upper()}_H"
    named = include if include.startswith("<") else f'"{include}"'
    return [f"#ifndef {guard}", f"#define {guard}", "", f"#include {named}", "", *content, "", "#endif", ""]


def _words(words: Sequence[int]) -> list[str]:
    rows = (words[first : first + WORDS_A_LINE] for first in range(0, len(words), WORDS_A_LINE))
    return ["    " + " ".join(f"0x{word:08x}u," for word in row) for row in rows]


def _laying_out(name: str, tensor: Tensor) -> list[str]:
    """The bytes of an input as it is stored, and its layout."""
    layer = tensor.layer
    if layer is None:
        rows, columns = 1, tensor.region.size
        taps, stride, before, of = (1, 1), (1, 1), (0, 0), (1, rows, columns)
    else:
        own, form = layer.of_network, layer.form.taps_as_channels
        laid = form != "columns", form != "rows"
        taps = (own.kernel[0] if laid[0] else 1, own.kernel[1] if laid[1] else 1)
        stride = (own.stride[0] if laid[0] else 1, own.stride[1] if laid[1] else 1)
        before = (own.padding[0] if laid[0] else 0, own.padding[1] if laid[1] else 0)
        rows, columns = layer.input_height, layer.input_width
        of = (own.input_channels, own.input_height, own.input_width)
    values = (of, (rows, columns), taps, stride, before)
    return [
        f"enum {{ {name}_bytes = {tensor.region.size} }};",
        f"static const struct hwgen_layout {name}_layout = {{",
        f"    {', '.join('{' + ', '.join(map(str, one)) + '}' for one in values)}, {tensor.zero_point}",
        "};",
    ]


def _tensor_line(tensor: Tensor) -> str:
    """The element of an array of them."""
    scale, shape = str(np.float32(tensor.scale)), " x ".join(map(str, tensor.shape))
    name = re.sub(r"[^\w.:-]", "_", tensor.name, flags=re.ASCII)
    region = f"{{0x{tensor.region.base:x}u, {tensor.region.size}u}}"
    return f"    {{{region}, {scale}f, {tensor.zero_point}}}, /* {name}: {shape} */"


# --- files of the driver ---

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
