"""Every generated header is C99, C11, C++11 and C++20, alone and with the others; C++ calls the drivers."""

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.cluster import ClusterParameters, SystemParameters
from hwgen.arch.layout import Region
from hwgen.arch.registers.cluster import cluster_registers
from hwgen.arch.registers.hwc import hwc_registers
from hwgen.arch.registers.pipeline import pipeline_registers
from hwgen.arch.registers.vector import vector_registers
from hwgen.export.driver.files import REGIONS, Write, c_bytes, c_program, c_programs, c_tiles, driver_files
from hwgen.export.registers.files import register_files
from hwgen.export.system import system_header
from hwgen.lower.network.exchange import Tensor
from tests.export.test_hwc import PARAMETERS
from tests.export.test_pipeline import every_kind

LANGUAGES = {"c99": "c", "c11": "c", "c++11": "c++", "c++20": "c++"}
STRICT = ("-Wall", "-Wextra", "-pedantic", "-Werror")
WRITES = [Write("base", 0x10, 0xFFFF_FFFF, in_memory=True), Write("size", 0x1C4, 0)]

pytestmark = pytest.mark.skipif(
    not (shutil.which("gcc") and shutil.which("g++")), reason="no compiler of C and C++ is installed"
)


def compiled(folder: Path, text: str, language: str, *more: str) -> None:
    """A text, compiled in a folder without a warning."""
    command = ["g++" if LANGUAGES[language] == "c++" else "gcc", f"-std={language}", *STRICT, *more]
    command += ["-x", LANGUAGES[language], "-"]
    done = subprocess.run(command, cwd=folder, input=text, text=True, capture_output=True, check=False)
    assert done.returncode == 0, f"{language}:\n{text}\n{done.stderr}"


def check_headers(folder: Path) -> None:
    """Each header of a generated folder is compiled alone, and all are at once, in every language."""
    headers = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.h"))
    assert headers
    for language in LANGUAGES:
        for named in (*([one] for one in headers), headers):
            text = "".join(f'#include "{one}"\n' for one in named)
            compiled(folder, f"{text}extern int not_empty;\n", language, "-fsyntax-only")


def programs(block: str) -> dict[str, str]:
    """Headers of programs: with all regions, with some of them in another order."""
    regions = {name: Region(WORD_BYTES * place, 12) for place, name in enumerate(REGIONS[block])}
    some = {name: regions[name] for name in ("output", "weights")}
    words = [0, 0xFFFF_FFFF] if block == "cluster" else []
    texts = {
        f"programs/{layer}.h": c_program(block, layer, "0", WRITES, found, words)
        for layer, found in (("conv 1.a", regions), ("int", some))
    }
    if block == "cluster":
        tensor = Tensor("x/y*/", Region(64, 12), 1e-5, -128, (1, 12))
        tensors = {"inputs": [tensor, tensor], "outputs": [tensor]}
        for name in ("net_0", "net_1"):
            texts[f"programs/{name}.h"] = c_program(block, name, "0", WRITES, some, words, tensors=tensors)
        texts["programs/net.h"] = c_programs(block, "net", ["net_0", "net_1"])
        texts["programs/net.weights.h"] = c_bytes("cluster_weights_net", bytes(range(256)))
    return texts


def files(block: str) -> Mapping[str, str]:
    """The C files of a block, with programs."""
    cluster = ClusterParameters(hwc=replace(PARAMETERS, cluster=True), vector=True)
    match block:
        case "hwc":
            bank = hwc_registers(PARAMETERS)
            return {**register_files(bank), **driver_files(bank), **programs(block)}
        case "pipeline":
            bank = pipeline_registers(every_kind()[0])
            program = {"program.h": c_tiles("pipeline", "0", [WRITES, WRITES[:1]])}
            return {**register_files(bank), **driver_files(bank), **program}
    banks = [cluster_registers(cluster), hwc_registers(cluster.hwc), vector_registers(cluster.dma.tcdm_address_bits)]
    registers = {name: text for bank in banks for name, text in register_files(bank).items()}
    system = {"system.h": system_header(SystemParameters(cluster=cluster, clusters=2))}
    return {**registers, **driver_files(banks[0]), **programs(block), **system}


CALLS = {
    "hwc": "hwc_start(&device, &hwc_program_int)",
    "cluster": "cluster_start(&device, cluster_programs_net[1])",
    "pipeline": "pipeline_start(&device, pipeline_program_tiles)",
}
INCLUDES = {"hwc": "programs/int.h", "cluster": "programs/net.h", "pipeline": "program.h"}


@pytest.mark.parametrize("block", CALLS)
def test_headers_and_drivers(block: str, tmp_path: Path) -> None:
    for name, text in files(block).items():
        if name.endswith((".h", ".c")):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
    check_headers(tmp_path)
    driver = (tmp_path / f"{block}_driver.c").read_text(encoding="utf-8")
    for language in ("c99", "c11"):
        compiled(tmp_path, driver, language, "-c", "-o", "driver.o")
    main = f'#include "{INCLUDES[block]}"\nstatic const struct hwgen_device device = {{nullptr, nullptr, 0}};\n'
    compiled(tmp_path, f"{main}int main() {{ return {CALLS[block]}; }}\n", "c++11", "-c", "-o", "main.o")
    subprocess.run(["g++", "driver.o", "main.o", "-o", "main"], cwd=tmp_path, check=True)
