"""Programs as constants in C: no two of them are one in a file that includes both."""

import re
import subprocess
from pathlib import Path

from hwgen.arch.layout import Region
from hwgen.export.driver.files import REGIONS, Write, c_bytes, c_program, c_tiles

TYPES = f"""
#include <stdint.h>
struct hwc_write {{ uint32_t address, value, in_memory; }};
struct hwc_region {{ uint32_t base, bytes; }};
struct hwc_program {{
    const struct hwc_write *writes; uint32_t count; struct hwc_region {", ".join(REGIONS["hwc"])};
}};
"""


def header(layer: str, value: int, share: int | None = None) -> str:
    return c_program("hwc", layer, "0", [Write("a", 4, value)], {"weights": Region(0, value)}, share=share)


def test_headers_of_layers_whose_names_meet_are_all_there(tmp_path: Path) -> None:
    """One file includes them all, and gets the program of each."""
    names = ["conv1.1", "conv1_1", "conv1-1", "A_b", "a_b", "a_b_writes"]
    text = TYPES
    (tmp_path / "hwc_driver.h").touch()
    (tmp_path / "programs").mkdir()
    for number, name in enumerate(names):
        (tmp_path / "programs" / f"{number}.h").write_text(header(name, 100 + number), encoding="ascii")
        text += f'#include "programs/{number}.h"\n'
    symbols = {
        name: re.findall(r"struct hwc_program (\w+) =", header(name, 100 + at))[0] for at, name in enumerate(names)
    }
    used = " + ".join(f"{symbol}.count" for symbol in symbols.values())
    (tmp_path / "all.c").write_text(f"{text}\nint main(void) {{ return {used}; }}\n", encoding="ascii")
    subprocess.run(["gcc", "-Werror", "-c", "all.c", "-o", "all.o"], cwd=tmp_path, check=True)
    assert len(set(symbols.values())) == len(names)
    assert (symbols["conv1_1"], symbols["a_b"]) == ("hwc_program_conv1_1", "hwc_program_a_b")


def guard(text: str) -> str:
    return re.findall(r"#ifndef (\w+)", text)[0]


def test_other_content_has_another_include_guard() -> None:
    """Two programs of one name are an error of the compiler, not one program."""
    assert guard(header("a", 1)) == guard(header("a", 1))
    assert guard(header("a", 1)) != guard(header("a", 2))
    assert guard(c_bytes("weights", b"1")) != guard(c_bytes("weights", b"2"))
    tiles = [c_tiles("pipeline", "0", [[Write("a", 4, value)]]) for value in (1, 2)]
    assert guard(tiles[0]) != guard(tiles[1])


def test_shares_of_a_layer_are_named_by_their_cluster() -> None:
    assert "struct hwc_program hwc_program_a_cluster1 =" in header("a", 1, share=1)
    assert "hwc_program_a_cluster1 =" not in header("a_cluster1", 1)
