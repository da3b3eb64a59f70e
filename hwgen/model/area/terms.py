"""The terms that the area of hardware is a sum of, block by block, and its memories as Yosys maps them on an ECP5.

Each block has terms of its own. A term is a number of things that Yosys makes cells of: bits of a counter, bits that
a multiplexer chooses from, adders. Multipliers and memories need no coefficients: they are known. A memory is 16
words of 4 bits in LUTs, or block RAM of 18 Kibit.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from math import log2

from hwgen.arch.bus import WORD_BITS, WORD_BYTES
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import WORKING_QUEUES
from hwgen.arch.dma import CHUNK_BYTES, CHUNKS_AHEAD, DmaParameters
from hwgen.arch.hwc import OUTPUT_DIMS, WEIGHT_DIMS, HwcParameters
from hwgen.arch.lanes import FEW_LINES, spreads
from hwgen.arch.registers.hwc import PLACES, same_outside, setting_widths
from hwgen.arch.vector.shape import VectorShape

__all__ = [
    "GIVEN",
    "QUANTITIES",
    "REGISTERS",
    "MemoryCells",
    "Structure",
    "Terms",
    "asynchronous",
    "cluster_structure",
    "dma_structure",
    "hwc_memories",
    "hwc_structure",
    "synchronous",
    "vector_structure",
    "widths",
]


QUANTITIES = ("luts", "flip_flops", "lut_rams")
"""What coefficients are fitted for: LUT4 without those of memories, flip-flops, and memories of 16 words of 4 bits
beside those that are known."""

Terms = Mapping[str, float]
"""Numbers of things that Yosys makes cells of, by what they are called: bits of counters, bits that a multiplexer
chooses from, adders."""


@dataclass(frozen=True)
class Structure:
    """The structure of a device.

    Members
    -------
    terms : by block.
    lut_rams, block_rams, dsps : cells that follow from its parameters.
    memory_bits : of the memories that are known, but for the shared memory of a cluster.
    """

    terms: Mapping[str, Terms]
    lut_rams: int = 0
    block_rams: int = 0
    dsps: int = 0
    memory_bits: int = 0


# --- memories ---

LUT_WORDS, LUT_BITS = 16, 4
"""Words and bits of a memory in LUTs (TRELLIS_DPR16X4)."""
BLOCK_WORDS, BLOCK_WIDTH = 512, 36
"""Words and bits of a block RAM (PDPW16KD) at its widest."""
BLOCK_BITS = BLOCK_WORDS * BLOCK_WIDTH
LUT_COST = 4
BLOCK_COST = 32 * LUT_COST
"""Costs of the two by which ``memory_libmap`` chooses, as the files of ``synth_ecp5`` state them."""
CHOICE, EMULATED = 0.5, 1.0
"""The cost of a bit that is chosen among rows of memories in LUTs, and of a bit of a synchronous read made of an
asynchronous one: factors of ``memory_libmap``."""


@dataclass(frozen=True)
class MemoryCells:
    """What a memory takes.

    Members
    -------
    lut_rams, block_rams : cells.
    chosen : bits of the answer times rows of memories in LUTs beside the first: what multiplexers choose from.
    rows : memories in LUTs that are stacked to the depth.
    held : bits of registers that hold an answer which is read synchronously.
    size : all its bits.
    """

    lut_rams: int = 0
    block_rams: int = 0
    chosen: int = 0
    rows: int = 0
    held: int = 0
    size: int = 0


def asynchronous(words: int, bits: int) -> MemoryCells:
    """A memory that answers in the same cycle: always in LUTs."""
    rows = -(-words // LUT_WORDS)
    return MemoryCells(lut_rams=rows * -(-bits // LUT_BITS), chosen=bits * (rows - 1), rows=rows, size=words * bits)


def synchronous(
    words: int, bits: int, *, parts: int = 1, transparent: bool = False, in_luts: bool = False
) -> MemoryCells:
    """A memory that answers in the next cycle: whatever costs less.

    Parameters
    ----------
    words, bits : its size.
    parts : of a word that are written each for itself.
    transparent : a read of what is written in the same cycle gives the new word.
    in_luts : it is made of LUTs whatever that costs.
    """
    luts = asynchronous(words, bits)
    each = -(-bits // parts)
    blocks = min(parts * -(-each // width) * -(-words // (BLOCK_BITS // BLOCK_WIDTH * BLOCK_WIDTH // width))
                 for width in (36, 18, 9))  # fmt: skip
    cost = LUT_COST * luts.lut_rams + CHOICE * luts.chosen + EMULATED * bits
    if in_luts or cost < BLOCK_COST * blocks + (EMULATED * bits if transparent else 0):
        return MemoryCells(luts.lut_rams, 0, luts.chosen, luts.rows, bits, words * bits)
    return MemoryCells(block_rams=blocks, size=words * bits)


BYTE_BITS = 8
GIVEN: Mapping[tuple[str, str, str], float] = {
    ("datapath", "carries", "luts"): 1.0,
    ("datapath", "window", "luts"): 1.0,
    ("datapath", "sums held", "luts"): 1.0,
    ("datapath", "sums held", "flip_flops"): 1.0,
    ("datapath", "sums gated", "luts"): 1.0,
}
"""Coefficients that are known, by block, term and quantity."""
REGISTERS = frozenset(
    {"adders", "products", "products, no tree", "spread", "stages", "window columns", "lines: stored", "banks"}
)
"""Terms of flip-flops alone: the LUT4 of what is in these are other terms'."""
SCALE_BITS = 23
"""Bits of a multiplier, a shift and a way of rounding, in the second word of a channel's record."""


def hwc_structure(p: HwcParameters) -> Structure:
    """The structure of an HWC."""
    memories = hwc_memories(p)
    found = {
        "control": _control(p),
        "datapath": _datapath(p, memories),
        "fill": _fill(p, memories),
        "placer": _placer(p),
        "weight": _weight(p, memories),
        "output": _output(p, memories),
        "ports": _ports(p),
        "sequencer": _sequencer(p),
    }
    return Structure(
        found,
        sum(number * one.lut_rams for number, one in memories.values()),
        sum(number * one.block_rams for number, one in memories.values()),
        _dsps(p),
        sum(number * one.size for number, one in memories.values()),
    )


_known_widths: dict[Hashable, Mapping[str, int]] = {}
MOST_KNOWN = 1 << 12


def widths(p: HwcParameters) -> Mapping[str, int]:
    """The widths of the settings (`setting_widths`), kept: HWCs whose memories differ have them alike, mostly."""
    key = (
        *(
            p.loops,
            p.input_marker,
            p.weight_marker,
            p.output_marker,
            p.lanes,
            p.operand_bits,
            p.position_bits,
            p.ports,
        ),
        *(p.bias_words > 0, p.cluster, p.scaled, p.column_window, p.constants, p.setting_bits),
        *(bits(p.input_elements), p.output_index_bits),
    )
    found = _known_widths.get(key)
    if found is None:
        if len(_known_widths) >= MOST_KNOWN:
            _known_widths.clear()
        found = _known_widths[key] = setting_widths(p)
    return found


def _address_bits(p: HwcParameters) -> int:
    """The same as `hwgen.arch.registers.hwc.address_bits`."""
    if p.cluster:
        return WORD_BITS
    return max(width for name, width in widths(p).items() if name.endswith(PLACES))


def hwc_memories(p: HwcParameters) -> dict[str, tuple[int, MemoryCells]]:
    """Its memories by name: how many there are alike, and each."""
    output = synchronous(p.output_depth, WORD_BITS * p.lanes.sums, transparent=True)
    copies, held = p.lanes.y * p.lanes.c, p.block_ram or spreads(p.lanes) or p.input_reads == 1
    found = {**_banks("I", copies, p.input_banks, p.input_depth, held=held), "O": (1, output)}
    if p.weight_lines:
        stored = p.weight_lines.stored
        parts = max(1, stored // min(p.weight_lines.word, stored))
        found["W"] = 1, synchronous(p.weight_depth, 8 * stored, parts=parts, in_luts=p.weights_in_luts)
    else:
        held = p.block_ram or p.weight_reads == 1
        found |= _banks("W", 1, p.weight_banks, p.weight_bytes // p.weight_banks, held=held)
    if p.bias_words:
        found["kept biases"] = 1, synchronous(p.record_words * p.bias_words, WORD_BITS)
    ports = p.ports.each
    flat, ahead = (p.input_elements - 1).bit_length() + 1, p.input_words_ahead
    lines = p.weight_lines
    place = 1 + max(1, (lines.stored // lines.word - 1).bit_length()) if lines else 0
    rows, vector = p.vector_lanes.m * p.vector_lanes.y, p.vector_lanes
    address = _address_bits(p)
    found |= {
        f"accesses {i}": (1, asynchronous(p.in_flight + 2, address - bits(port // 8) + (i == 2)))
        for i, port in enumerate(ports)
    }
    found |= {
        "answers I": (1, asynchronous(ahead, p.ports.I)),
        "entries I": (1, asynchronous(ahead, 5 + flat + p.ports.input_bytes + bits(p.lanes.c))),
        "entries W": (1, asynchronous(p.weight_words_ahead, 2 + place if lines else 0)),
    }
    if vector.m > 1:
        found["biases"] = 1, asynchronous(vector.m, WORD_BITS)
        if p.scaled:
            found["scales"] = 1, asynchronous(vector.m, SCALE_BITS)
    if rows > FEW_LINES:
        found["waiting"] = 1, asynchronous(rows, 8 * (WORD_BYTES - 1))
    if p.ports.O > WORD_BITS:
        sub = bits(p.ports.O // WORD_BITS)
        found |= {
            "wide words": (1, asynchronous(max(2, rows), 9 * p.ports.output_bytes)),
            "wide answers": (1, asynchronous(p.in_flight + 2, p.ports.O)),
        }
        if (p.in_flight + 2) * 2 * sub > LUT_WORDS:  # of fewer bits Yosys makes flip-flops
            found["wide entries"] = 1, asynchronous(p.in_flight + 2, 2 * sub)
    return found


def bits(numbers: int) -> int:
    """Bits of numbers below a power of two."""
    return (numbers - 1).bit_length()


def _banks(name: str, copies: int, banks: int, depth: int, *, held: bool) -> dict[str, tuple[int, MemoryCells]]:
    """Banks of bytes; ``held``: what they answer is in a register at once, or all of them read where one points to.

    The latter is so where a byte is read alone, and always of the last one: Yosys makes such a read synchronous.
    """
    read = synchronous if held else asynchronous
    return {name: (copies * (banks - 1), read(depth, 8)), f"last {name}": (copies, synchronous(depth, 8))}


def _dsps(p: HwcParameters) -> int:
    """Multipliers: those of the lanes, of addresses, of sizes of tiles, of steps of a vector, of scales, and thirds
    of a column in a word of more than four bytes."""
    lanes = p.lanes
    steps = (lanes.y > 1 and lanes.m > 1) + (lanes.x > 1 and lanes.m * lanes.y > 1)
    loads = 2 + (lanes.m > 1 and lanes.y > 1) + (lanes.x > 1)
    addresses = 2 + 2 + p.loads_sums * loads
    sizes = 0 if p.weight_lines else len(WEIGHT_DIMS) - 1
    thirds = (p.ports.input_bytes > WORD_BYTES) + (p.ports.input_bytes > 2 * WORD_BYTES)
    return lanes.product + addresses + sizes + steps + 2 * p.requantisers * p.scaled + thirds


def _nest(p: HwcParameters, order: Iterable[int], name: str = "nest") -> dict[str, float]:
    """Counters of a nest's loops, and the bits of the entries that they are reloaded from."""
    inside = list(order)
    entries = {j: 1 + len(same_outside([p.loops[i] for i in inside], at)) for at, j in enumerate(inside)}
    return {
        f"{name}: loops": len(inside),
        f"{name}: bits": sum(p.dim_bits[p.loops[j]] + 1 for j in inside),
        f"{name}: entries": sum(p.dim_bits[p.loops[j]] * (entries[j] - 1) for j in inside),
    }


def _control(p: HwcParameters) -> Terms:
    of_all, constants = widths(p), dict(p.constants)
    held = [width for name, width in of_all.items() if name not in constants]
    return {
        "1": 1,
        "bits": sum(held),
        "registers": len(held),
        "read back": sum(held) * p.read_back,
        "second": sum(held) * p.second_settings,
        "alone": not p.cluster,
    }


def _datapath(p: HwcParameters, memories: Mapping[str, tuple[int, MemoryCells]]) -> Terms:
    lanes, output = p.lanes, memories["O"][1]
    across, channels, copies = lanes.y * lanes.x, lanes.c > 1, lanes.y * lanes.c
    pads = not p.pads_before and (p.scaled or p.column_window or not channels)
    # Operands of many multipliers have a register of their own, and what chooses them is the datapath's.
    apart = spreads(lanes) * copies
    return {
        "1": 1,
        "carries": _carries(p),
        "sums": lanes.sums,
        "sums loaded": lanes.sums * p.loads_sums,
        "sums held": WORD_BITS * lanes.sums * p.holds_sums,
        "sums gated": WORD_BITS * lanes.sums * p.lane_registers * (not channels),
        "adders": (lanes.c - 1) * lanes.sums,
        "products": lanes.product,
        "products, no tree": lanes.product * (not channels),
        "pixels": copies * lanes.x * pads,
        "counts": channels * lanes.c,
        "read apart": apart * _choice(p.input_banks, p.input_reads),
        "window": p.column_window * BYTE_BITS * lanes.c * min(lanes.m, lanes.c),
        "window lanes": p.column_window * lanes.c,
        "window columns": p.column_window * lanes.c * (lanes.c - 1),
        "spread": (lanes.m * lanes.c + across * lanes.c) * spreads(lanes),
        "rows": lanes.y * p.position_bits,
        "columns": lanes.x * p.position_bits,
        "wide products": lanes.product * p.wide_halves,
        "wide sums": lanes.sums * p.wide_halves,
        "wide pairs": lanes.product * p.byte_planes,
        "stages": (lanes.c.bit_length() - 1 + spreads(lanes)),
        "memory: held": output.held,
    }


def _carries(p: HwcParameters) -> int:
    """LUT4 of adders with their carries, two for each pair of bits: those that sum products along c, in pairs, each
    level a bit wider than the one before, and one of 32 bits for each sum."""
    found, width, values = WORD_BITS, 2 * BYTE_BITS, p.lanes.c
    while values > 1:
        values //= 2
        found += values * 2 * -(-min(WORD_BITS, width) // 2)
        width += 1
    return found * p.lanes.sums


def _choice(banks: int, reads: int) -> int:
    """LUT4 that choose consecutive bytes out of banks: half as many for a bit as there are banks for one byte."""
    return BYTE_BITS * (banks // 2 if reads == 1 else _turned(banks, reads))


def _turned(banks: int, reads: int) -> int:
    """Bytes that are turned by each bit of the first one's bank until ``reads`` of them are in order."""
    return sum(min(banks, reads + (1 << bit) - 1) for bit in range(bits(banks)))


def _fill(p: HwcParameters, memories: Mapping[str, tuple[int, MemoryCells]]) -> Terms:
    lanes, one = p.lanes, memories["I"][1]
    copies, banks, word = lanes.y * lanes.c, p.input_banks, p.ports.input_bytes
    select = bits(banks)
    late = select if spreads(lanes) else int(p.input_reads > 1)
    line = max(1, (p.input_depth - 1).bit_length())
    held = one.block_rams == 0 or not (p.block_ram or spreads(lanes))
    return {
        "1": 1,
        "word": word,
        "turns": 9 * banks * (select if word > WORD_BYTES else 0) * (1 + p.byte_planes),
        "writes": 9 * banks * (word if word <= WORD_BYTES else 0) * (1 + p.byte_planes),
        "write lines": banks * line * (1 + p.byte_planes),
        "read lines": lanes.y * banks * line,
        "copies": copies,
        "rotated": 0 if spreads(lanes) else copies * _choice(banks, p.input_reads),
        "read": copies * 8 * p.input_reads,
        "memory: chosen": copies * banks * one.chosen,
        "memory: rows": copies * banks * one.rows,
        "memory: banks": copies * banks * (one.block_rams > 0),
        "held": held * copies * 8 * min(banks, p.input_reads + (1 << late) - 1),
        "address": (p.input_elements - 1).bit_length(),
        "wide": word * p.wide,
    }


def _placer(p: HwcParameters) -> Terms:
    order = range(min(p.input_marker + 1, len(p.loops)))
    bits, flat = p.position_bits, (p.input_elements - 1).bit_length() + 1
    steps = sum(p.loops[j] in WEIGHT_DIMS for j in order) * bits + sum(p.loops[j] in "yx" for j in order) * (bits + 1)
    return {
        "1": 1,
        **_nest(p, order),
        "steps": steps,
        "positions": bits,
        "flat": flat,
        "port": p.ports.input_bytes,
        "port, positions": p.ports.input_bytes * bits,
        "columns slide": p.columns_slide,
        "columns slide, positions": p.columns_slide * bits,
        "channels": (p.lanes.c > 1) * p.lanes.c,
        "wide": p.wide,
        "in flight": p.in_flight,
        "in a cluster": p.cluster,
    }


def _weight(p: HwcParameters, memories: Mapping[str, tuple[int, MemoryCells]]) -> Terms:
    word, (number, one) = p.ports.weight_bytes, memories["W"]
    order = list(range(min(p.weight_marker + 1, len(p.loops))))
    found = {
        "memory: chosen": number * one.chosen,
        "memory: rows": number * one.rows,
        "memory: held": number * one.held * (p.weight_lines is not None),
        "memory: banks": number * (one.block_rams > 0),
        "word": word,
        "depth": (p.weight_depth - 1).bit_length(),
        "wide": p.wide,
        "in flight": p.in_flight,
    }
    if p.weight_lines:
        order += [j for j in range(p.weight_marker + 1, len(p.loops)) if p.loops[j] in WEIGHT_DIMS]
        return {
            **found, "lines: 1": 1, **_nest(p, order), "lines: stored": p.weight_lines.stored,
            "lines: parts": p.weight_lines.stored // p.weight_lines.word,
            "lines: wide": p.wide * word,
        }  # fmt: skip
    banks = p.weight_banks
    return {
        **found,
        "dense: 1": 1,
        **_nest(p, order),
        "dense: rotated": BYTE_BITS * _turned(banks, p.weight_reads),
        "dense: read": 8 * p.weight_reads,
        "dense: lines": banks * max(1, (p.weight_bytes // banks - 1).bit_length()),
        "dense: sizes": p.weight_bytes.bit_length() * p.position_bits,
        "dense: begins": WORD_BITS * sum(p.loops[j] in "yx" for j in order if j != p.weight_marker),
    }


def _output(p: HwcParameters, memories: Mapping[str, tuple[int, MemoryCells]]) -> Terms:
    vector, inside = p.vector_lanes, p.output_tile_loops
    order = [*range(p.output_marker), *(j for dim in OUTPUT_DIMS for j in inside if p.loops[j] == dim)]
    word = p.ports.output_bytes
    held = vector.product if p.loads_sums or (p.wide and p.requantisers > 1) else vector.product - p.requantisers
    return {
        "1": 1,
        **_nest(p, order),
        "steps": p.position_bits * sum(p.loops[j] in OUTPUT_DIMS for j in order),
        "positions": p.position_bits,
        "index": p.output_index_bits * sum(p.loops[j] in OUTPUT_DIMS for j in inside),
        "held": held,
        "held, loaded": held * p.loads_sums,
        "chosen": vector.product,
        "sums": p.lanes.sums,
        "sums, of block RAM": p.lanes.sums * (memories["O"][1].block_rams > 0),
        "sums chosen": memories["O"][1].chosen,
        "log of lanes": log2(vector.product),
        "outputs in a cycle": p.requantisers,
        "scaled": p.scaled,
        "outputs in a cycle, scaled": p.requantisers * p.scaled,
        "wide": p.wide,
        "outputs in a cycle, wide": p.requantisers * p.wide,
        "rows": vector.y,
        "columns": vector.x > 1,
        "wide words": word * (p.ports.O > WORD_BITS),
        "wide words, in flight": word * (p.ports.O > WORD_BITS) * p.in_flight,
        "kept biases": p.bias_words > 0,
        "kept biases: chosen": memories["kept biases"][1].chosen if p.bias_words else 0,
        "kept biases: held": memories["kept biases"][1].held if p.bias_words else 0,
        "loads sums": p.loads_sums,
        "in a cluster": p.cluster,
    }


def _ports(p: HwcParameters) -> Terms:
    words = p.ports.input_bytes, p.ports.weight_bytes, p.ports.output_bytes
    return {"1": 1, "enables": sum(words), "data": words[2], "in flight": p.in_flight, "in a cluster": p.cluster}


def _sequencer(p: HwcParameters) -> Terms:
    flat = (p.input_elements - 1).bit_length() + 1
    inside = range(p.input_marker + 1, len(p.loops))
    inner = [j for j in inside if p.loops[j] in "yxkl"]
    weights = [j for j in range(p.weight_marker + 1, len(p.loops)) if p.loops[j] in WEIGHT_DIMS]
    outputs = [j for j in p.output_tile_loops if p.loops[j] in OUTPUT_DIMS]
    return {
        "1": 1,
        **_nest(p, range(len(p.loops))),
        "rows and columns": p.position_bits * len(inner),
        "places": flat * sum(p.loops[j] in "ykc" for j in inside),
        "lane rows": flat * p.lanes.y,
        "columns of phases": flat * sum(p.loops[j] == "l" for j in inside),
        "weights": (p.weight_bytes - 1).bit_length() * len(weights),
        "weights, dense": (p.weight_bytes - 1).bit_length() * len(weights) * (p.weight_lines is None),
        "outputs": p.output_index_bits * len(outputs),
        "output index": p.output_index_bits,
        "sizes": sum(bits for bits in p.size_bits.values()),
        "wide": p.wide,
        "in a cluster": p.cluster,
    }


# --- what is around the HWCs of a cluster, and the vector unit ---

READERS = ("_i", "_w")
"""How the names of masters end that never write; those of the DMA's store channel read alone, too."""


def cluster_structure(p: ClusterParameters) -> Structure:
    """The structure of what is around the HWCs: TCDM and interconnect, queues of commands, DMA, vector unit."""
    dma = dma_structure(p.dma)
    vector = vector_structure(p.vector_shape, p.dma.tcdm_address_bits) if p.vector else Structure({})
    return Structure(
        {"interconnect": _interconnect(p), "queues": _queues(p), **dma.terms, **vector.terms},
        dma.lut_rams + vector.lut_rams,
        _tcdm_block_rams(p) + len(WORKING_QUEUES) + dma.block_rams + vector.block_rams,
        dma.dsps + vector.dsps,
    )


def dma_structure(p: DmaParameters) -> Structure:
    """The structure of a DMA."""
    program = synchronous(CHUNKS_AHEAD * CHUNK_BYTES // p.beat_bytes, p.axi_bits)
    return Structure(
        {
            "dma": {
                "1": 1,
                "ports": p.ports,
                "turns": p.beat_bytes * bits(p.beat_bytes),
                "address": p.tcdm_address_bits,
                "address, ports": p.tcdm_address_bits * p.ports,
            }
        },
        block_rams=program.block_rams,
        dsps=4,
    )


def vector_structure(shape: VectorShape, address_bits: int) -> Structure:
    """The structure of a vector unit in a TCDM whose byte addresses have ``address_bits``."""
    return Structure(
        {
            "vector": {
                "1": 1,
                "elements": shape.elements,
                "wide": shape.wide,
                "outputs": shape.outputs,
                "strips": shape.has_strips * shape.elements,
                "word": shape.word_bytes - WORD_BYTES,
                "address": address_bits,
            }
        },
        block_rams=shape.outputs if shape.word_bytes == WORD_BYTES else 0,  # tables, of which wide words are in LUTs
        dsps=1 + 2 * shape.outputs,
    )


def _interconnect(p: ClusterParameters) -> Terms:
    """Every master asks every bank, and hears from every bank."""
    tcdm = p.tcdm
    banks, words, line = tcdm.banks, tcdm.words_of, bits(max(2, tcdm.depth))
    writers = sum(not name.endswith(READERS) and not name.startswith("store") for name in p.masters)
    widths = sorted(set(words))
    return {
        "1": 1,
        "banks": banks,
        "masters": tcdm.masters,
        "lines": banks * tcdm.masters * line,
        "written": banks * writers * WORD_BITS,
        "answers": banks * (tcdm.masters - writers / 2) * WORD_BITS,
        "asked": banks * tcdm.masters,
        "contests": sum(banks // width * tcdm.masters for width in widths),
    }


def _queues(p: ClusterParameters) -> Terms:
    """Queues of commands, registers, and what lets HWCs read together."""
    shared = p.multicast * p.hwcs
    return {
        "1": 1,
        "units": p.units,
        "masters": p.tcdm.masters,
        "shared": shared,
        "shared words": shared * (p.hwc.ports.I + p.hwc.ports.W) / WORD_BITS,
        "shared pairs": shared * p.hwcs,
    }


def _tcdm_block_rams(p: ClusterParameters) -> int:
    """Block RAMs of the TCDM, whose words are written byte by byte: one of 36 bits, two of 18, or four of 9 each."""
    depth = p.tcdm.depth
    return p.tcdm.banks * (1 if depth <= BLOCK_WORDS else 2 if depth <= 1 << 10 else 4 * -(-depth // (1 << 11)))
