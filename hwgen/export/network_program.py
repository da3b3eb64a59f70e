"""The program of a whole network on a cluster as files: its weights, and where inputs and outputs are."""

import json
from collections.abc import Mapping, Sequence

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.layout import Region
from hwgen.arch.registers.cluster import cluster_registers
from hwgen.export.cluster import cluster_digest
from hwgen.export.driver.programs import Tensor, Write, c_bytes, c_program, identifier
from hwgen.lower.network.program import NetworkProgram

__all__ = ["network_program_files"]

KIND = "network_program"


def network_program_files(
    name: str, program: NetworkProgram, weights: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
) -> dict[str, str | bytes]:
    """The files of a network, by name.

    Parameters
    ----------
    weights : of all layers with their biases, multipliers, shifts and tables; from address 0 on.
    inputs, outputs : of int8; the caller stores the inputs before each start, and reads the outputs after it.
    """
    addresses = cluster_registers(program.hardware).addresses
    writes = [Write(register, addresses[register], value) for register, value in program.settings.items()]
    words = program.words.tolist()
    regions = {
        "input": inputs[0].region,
        "weights": Region(0, len(weights)),
        "output": outputs[0].region,
        "program": Region(program.address, WORD_BYTES * len(words)),
    }
    digest, tensors = cluster_digest(program.hardware), {"inputs": inputs, "outputs": outputs}
    document = {
        "format": 1,
        "kind": KIND,
        "network": name,
        "cluster": digest,
        "memory": program.dram_end,
        "regions": {region: _region(regions[region]) for region in ("weights", "program")},
        **{side: [_tensor(one) for one in found] for side, found in tensors.items()},
        "registers": program.settings,
    }
    return {
        f"{name}.json": json.dumps(document, indent=1) + "\n",
        f"{name}.h": c_program("cluster", name, digest, writes, regions, words, tensors=tensors),
        f"{name}.hex": "".join(f"{word:08x}\n" for word in words),
        f"{name}.weights.bin": weights,
        f"{name}.weights.h": c_bytes(f"cluster_weights_{identifier(name)}", weights),
    }


def _region(one: Region) -> Mapping[str, int]:
    return {"base": one.base, "bytes": one.size}


def _tensor(one: Tensor) -> Mapping[str, object]:
    return {
        "name": one.name,
        "shape": list(one.shape),
        **_region(one.region),
        "scale": one.scale,
        "zero_point": one.zero_point,
    }
