# amaranth: UnusedElaboratable=no
"""A generated HWC as text: Verilog, register map, summary. All of it is derived from `HwcParameters`."""

import hashlib
import json
from dataclasses import asdict
from functools import lru_cache

from hwgen.arch.hwc import HwcParameters, as_told
from hwgen.arch.registers.errors import HwcError
from hwgen.arch.registers.hwc import HWC_IDENTITY, hwc_registers
from hwgen.export.conversion import MemoryArray, converted, kept_memories, tool_versions
from hwgen.export.driver.files import driver_files
from hwgen.export.example.system import front_end_files
from hwgen.export.joined import FrontEnd, ports_of
from hwgen.export.manifest import core_file, waivers
from hwgen.export.registers.files import register_files
from hwgen.gateware.bus.tcdm import ACCESSES
from hwgen.gateware.hwc.hwc import Hwc
from hwgen.gateware.hwc.output.vector_port import CHANNEL_SCALE, held_lanes
from hwgen.gateware.hwc.output.vector_words import TOTAL_BITS, value_bits
from hwgen.gateware.lib.scaling import STAGE_BITS
from hwgen.ir.document import json_text

__all__ = ["DIGEST", "PROGRAMS", "digest", "digest_in", "files_of", "hwc_memories", "program_digest", "storage",
           "verilog"]  # fmt: skip


DIGEST = "// Parameters and tools: "
PROGRAMS = "// Runs programs for: "
HEADING = 8
"""The lines with the two digests, and in how many first lines they are."""
VECTOR_PORT = ("hwc", "output", "port")
"""The instance that moves vectors."""


@lru_cache(maxsize=32)
def verilog(parameters: HwcParameters, *, keep_init: bool = False) -> str:
    """Verilog of one HWC, top module ``hwc``; the same text for the same parameters, run after run.

    ``keep_init`` : with initial values of the registers, see `converted`.
    """
    return _heading(parameters) + converted(Hwc(parameters), "hwc", keep_init=keep_init)


def _heading(parameters: HwcParameters) -> str:
    order = " ".join(parameters.loops)
    return (
        f"// hwc: loops {order}; I {parameters.input_bytes} B above loop {parameters.input_marker},\n"
        f"// W {parameters.weight_bytes} B above loop {parameters.weight_marker}, "
        f"O {parameters.output_bytes} B above loop {parameters.output_marker}; generated, do not edit.\n"
        f"{DIGEST}{digest(parameters)}\n"
        f"{PROGRAMS}{program_digest(parameters)}\n"
    )


def digest_in(text: str, heading: str = DIGEST) -> str | None:
    """The digest in the heading of an HWC's Verilog; None if it has no such heading."""
    found = (line.removeprefix(heading) for line in text.splitlines()[:HEADING] if line.startswith(heading))
    return next(found, None)


def program_digest(parameters: HwcParameters) -> str:
    """The register ``digest`` of an HWC, as its programs have it."""
    return f"{parameters.digest:#010x}"


def digest(parameters: HwcParameters) -> str:
    """The digest of the parameters and of the tools that the Verilog depends on."""
    named = as_told(asdict(parameters))
    if not parameters.cluster:
        del named["cluster"]  # an HWC that stands alone has no more to it than its other parameters
    text = json.dumps({"parameters": named, "tools": tool_versions()}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@lru_cache(maxsize=32)
def hwc_memories(parameters: HwcParameters) -> tuple[MemoryArray, ...]:
    """Every memory array of an HWC."""
    return kept_memories(asdict(parameters), lambda: Hwc(parameters), "hwc")


def storage(parameters: HwcParameters) -> dict[str, dict[str, int]]:
    """Bytes of an HWC's storage: the three local memories, the bias store, and everything beside them.

    ``memories`` has I, W and O; ``bias_store`` has B, the biases that are kept from tile to tile; ``beside`` has the
    queues of each block, and the vector registers: the vector that is drained, the word or the outputs, still to be
    clipped, that are made of it, the products between multiplication and sum, the biases of a vector's channels, and
    for each row of a vector the outputs that do not fill a word yet. Where sums are scaled there are the scales of
    the channels, too, and what stands between the stages that scale. ``addresses`` has, for each port, those of the
    accesses that are not complete: a fault is reported with its own.
    """
    # Weights lie in banks of bytes, or in lines, which are one memory.
    operands = {("hwc", "weight", "memory"): "W", ("hwc", "weight"): "W"}
    operands |= {("hwc", "datapath"): "O", (*VECTOR_PORT, "bias_store"): "B"}
    operands |= {("hwc", "input", f"memory_{copy}"): "I" for copy in range(parameters.lanes.y * parameters.lanes.c)}
    bits: dict[str, int] = dict.fromkeys("IWOB", 0)
    queues: dict[str, int] = {}
    addresses: dict[str, int] = {}
    for array in hwc_memories(parameters):
        if array.parent in operands:
            bits[operands[array.parent]] += array.bits
        elif array.path[-1] == ACCESSES:
            addresses[array.path[1]] = array.bits
        elif array.parent[:3] != VECTOR_PORT:  # its memories are among the vectors
            block = array.path[1]
            queues[block] = queues.get(block, 0) + array.bits
    vector = parameters.vector_lanes
    vectors = {
        "drained_vector": 32 * len(held_lanes(parameters)),
        "sums_with_biases": TOTAL_BITS * parameters.requantisers,
        "outgoing_word": value_bits(parameters),
        # Of a pair of lanes along c the first one has products of 16-bit operands.
        "products": (24 if parameters.byte_planes else 16) * parameters.lanes.product,
        "biases": 32 * vector.m,
        "outputs_that_wait_for_a_word": 24 * vector.m * vector.y,
    }
    if parameters.scaled:
        vectors |= {"scales": CHANNEL_SCALE.size * vector.m, "scaled_sums": STAGE_BITS * parameters.requantisers}
    beside = {**{f"{block}_queues": size for block, size in queues.items()}, **vectors}
    return {
        "memories": {operand: -(-bits[operand] // 8) for operand in "IWO"},
        "bias_store": {"B": -(-bits["B"] // 8)},
        "beside": {name: -(-size // 8) for name, size in beside.items()},
        "addresses": {name: -(-size // 8) for name, size in addresses.items()},
    }


def files_of(parameters: HwcParameters, text: str | None = None) -> dict[str, str]:
    """One HWC, file by file: Verilog, lint waivers, register map (see `register_files`), FuseSoC core, summary.

    ``text`` : the Verilog, if it has been made before.
    """
    summary = {
        "parameters": asdict(parameters),
        "digest": digest(parameters),
        "storage": storage(parameters),
        "errors": {code.name: code.value for code in HwcError},
    }
    front_end = front_end_files(FrontEnd.of("hwc", ports_of(Hwc(parameters))), HWC_IDENTITY)
    return {
        "hwc.v": text or verilog(parameters),
        **front_end,
        "hwc.vlt": waivers("hwc"),
        "hwc.json": json_text(summary, indent=2),
        **register_files(hwc_registers(parameters)),
        **driver_files(hwc_registers(parameters)),
        "hwc.core": core_file("hwc", "Hardware convolution block", front_end),
    }
