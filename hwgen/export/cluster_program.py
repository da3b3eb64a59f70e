"""The program of a layer on a cluster as files: where tensors and registers are as JSON, its words as text."""

from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.layout import Region
from hwgen.arch.registers.cluster import cluster_registers
from hwgen.export.cluster import cluster_digest
from hwgen.export.driver.files import Write, c_program
from hwgen.export.hwc_program import RegionEntry
from hwgen.ir.document import InputError, Name, Value, json_text, load_yaml, validated
from hwgen.lower.cluster.program import ClusterProgram
from hwgen.model.dram.counts import DramLayout

__all__ = ["NETWORK_KIND", "ClusterProgramFile", "cluster_program_files", "read_words"]

KIND, NETWORK_KIND = "cluster_program", "network_program"


class ClusterProgramFile(Value):
    """What software does to run a layer: where the tensors are stored in DRAM, and the values of the registers.

    The program's words, in the file beside this one, are stored at ``program_address``. ``cluster`` is the digest of
    the cluster that it runs on.
    """

    layer: Name
    cluster: str
    regions: dict[str, RegionEntry]
    registers: dict[str, int]

    @classmethod
    def of(cls, program: ClusterProgram, layout: DramLayout | None = None) -> Self:
        """A compiled layer. ``layout`` : of the whole tensors, where the program is that of a share of them."""
        layout = layout or program.layout
        regions = {"input": layout.inputs, "weights": layout.weights, "bias": layout.bias, "output": layout.output,
                   "partial": layout.partial}  # fmt: skip
        return cls(
            layer=program.schedule.layer.name,
            cluster=cluster_digest(program.hardware),
            regions={name: RegionEntry(base=one.base, bytes=one.size) for name, one in regions.items()},
            registers=dict(program.settings),
        )

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read one file; raises `InputError` with one line."""
        data = load_yaml(path)
        if isinstance(data, dict) and data.get("kind") == NETWORK_KIND:
            raise InputError(f"{path}: programs of a quantised network: hwgen run simulates them, from its ONNX file")
        if not isinstance(data, dict) or (data.get("format"), data.get("kind")) != (1, KIND):
            raise InputError(f"{path}: expected a program that hwgen generate writes, format 1 and kind {KIND}")
        return validated(cls, {key: value for key, value in data.items() if key not in ("format", "kind")}, str(path))

    def as_data(self) -> dict[str, Any]:
        """Plain data in the file format."""
        return {"format": 1, "kind": KIND, **self.model_dump(mode="json")}


def cluster_program_files(
    name: str, program: ClusterProgram, share: int | None = None, layout: DramLayout | None = None
) -> dict[str, str]:
    """The files of a layer.

    Parameters
    ----------
    name : what they are called, before the suffix.
    share : the cluster that it is for, of several that share the layer; that is in the names, too.
    layout : of the whole tensors, where the program is that of a share of them.
    """
    file = ClusterProgramFile.of(program, layout)
    name = name if share is None else f"{name}.cluster{share}"
    addresses = cluster_registers(program.hardware).addresses
    writes = [Write(register, addresses[register], value) for register, value in file.registers.items()]
    words = program.words.tolist()
    regions = {region: Region(one.base, one.bytes) for region, one in file.regions.items()}
    regions["program"] = Region(program.layout.program, WORD_BYTES * len(words))
    return {
        f"{name}.json": json_text(file.as_data()),
        f"{name}.h": c_program("cluster", file.layer, file.cluster, writes, regions, words, share=share),
        f"{name}.hex": "".join(f"{word:08x}\n" for word in words),
    }


def read_words(path: Path) -> NDArray[np.uint32]:
    """The words of a program; raises `InputError` with one line."""
    try:
        return np.array([int(line, 16) for line in path.read_text(encoding="ascii").split()], np.uint32)
    except (OSError, ValueError, OverflowError):
        raise InputError(f"{path}: expected the words of a program, 8 hexadecimal digits a line") from None
