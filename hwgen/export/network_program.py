"""The programs of a whole network on a cluster as files: its weights, and where inputs and outputs are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.layout import Region
from hwgen.arch.registers.cluster import cluster_registers
from hwgen.export.cluster import cluster_digest
from hwgen.export.cluster_program import NETWORK_KIND
from hwgen.export.driver.files import Write, c_bytes, c_program, c_programs
from hwgen.ir.document import json_text
from hwgen.ir.layer import Layer
from hwgen.ir.names import c_name
from hwgen.lower.network.exchange import Tensor
from hwgen.lower.system.networks import PlacedProgram

__all__ = ["Exchanged", "network_program_files", "program_names"]


@dataclass(frozen=True, eq=False)
class Exchanged:
    """A program, and its maps of int8: the caller stores the inputs before each start, and reads the outputs then."""

    program: PlacedProgram
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]


def program_names(network: str, count: int) -> list[str]:
    """Names of the programs of a network, in order."""
    return [network] if count == 1 else [f"{network}_{number}" for number in range(count)]


def network_program_files(
    name: str,
    programs: Sequence[Exchanged],
    weights: bytes,
    host: Sequence[Mapping[str, object]] = (),
    *,
    cluster: int | None = None,
) -> dict[str, str | bytes]:
    """The files of a network, by name.

    Parameters
    ----------
    programs : in the order in which they run.
    weights : of all layers with their biases, multipliers, shifts and tables; from address 0 on.
    host : what software does before, between and after them.
    cluster : of several, the one that they are for; the files of the first one have the weights of all.
    """
    names = program_names(name, len(programs))
    suffix = "" if cluster is None else f".cluster{cluster}"
    first = programs[0].program
    document = {
        "format": 1,
        "kind": NETWORK_KIND,
        "network": name,
        "cluster": cluster_digest(first.hardware),
        "memory": first.dram_end,
        "weights": {"base": 0, "bytes": len(weights)},
        "programs": [_document(*one) for one in zip(names, programs, strict=True)],
        "host": list(host),
    }
    files: dict[str, str | bytes] = {f"{name}{suffix}.json": json_text(document)}
    for own, one in zip(names, programs, strict=True):
        files[f"{own}{suffix}.h"] = _header(own, one, len(weights), cluster)
        files[f"{own}{suffix}.hex"] = "".join(f"{word:08x}\n" for word in one.program.words.tolist())
    if len(programs) > 1:
        files[f"{name}{suffix}.h"] = c_programs("cluster", name, names, share=cluster)
    if cluster:
        return files
    return files | {
        f"{name}.weights.bin": weights,
        f"{name}.weights.h": c_bytes(f"cluster_weights_{c_name(name)}", weights),
    }


def _place(program: PlacedProgram) -> Region:
    return Region(program.address, WORD_BYTES * len(program.words))


def _header(name: str, one: Exchanged, weights: int, cluster: int | None) -> str:
    program = one.program
    addresses = cluster_registers(program.hardware).addresses
    writes = [Write(register, addresses[register], value) for register, value in program.settings.items()]
    regions = {"weights": Region(0, weights), "program": _place(program)}
    tensors = {"inputs": one.inputs, "outputs": one.outputs}
    first = {side.removesuffix("s"): found[0].region for side, found in tensors.items() if found}
    digest = cluster_digest(program.hardware)
    words = program.words.tolist()
    return c_program("cluster", name, digest, writes, {**first, **regions}, words, share=cluster, tensors=tensors)


def _document(name: str, one: Exchanged) -> Mapping[str, object]:
    return {
        "name": name,
        "program": _region(_place(one.program)),
        "inputs": [_tensor(tensor) for tensor in one.inputs],
        "outputs": [_tensor(tensor) for tensor in one.outputs],
        "registers": one.program.settings,
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
        **({} if one.layer is None else {"laid_out": _laid_out(one.layer)}),
    }


def _laid_out(layer: Layer) -> Mapping[str, object]:
    """How an input is laid out for a layer: from what, and the window of whose taps there are copies."""
    own = layer.of_network
    return {
        "shape": [own.input_channels, own.input_height, own.input_width],
        **layer.form.as_data(),
        "kernel": list(own.kernel),
        "stride": list(own.stride),
        "padding": list(own.padding),
    }
