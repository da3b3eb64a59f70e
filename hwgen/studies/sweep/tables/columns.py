"""The columns of a sweep's results: name, type, unit and meaning of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from hwgen.ir.counts import directions_at, quantities_at
from hwgen.ir.document import SEAL
from hwgen.ir.level import UNITS

__all__ = ["AREAS", "AREA_NAMES", "COLUMNS", "CURVES", "DIGEST", "FORMAT", "Column", "area_columns", "traffic_column"]


Kind = Literal["text", "integer", "number", "truth"]


@dataclass(frozen=True)
class Column:
    """One column; a cell may be empty where the row has no such figure.

    ``key``: whether rows that differ in it are kept apart when a folder's sweeps are put into one table.
    """

    name: str
    kind: Kind
    unit: str
    meaning: str
    key: bool = False


DIGEST = Column(
    SEAL, "text", "", "of the row's other cells: a row that has another one was changed since it was written"
)
"""The last column of every table in a file; the program's rows do not have it."""


# --- areas ---

MEANINGS = ("logic", "queues", "buffers", "clock")


def area_columns(what: str, meanings: Mapping[str, str]) -> tuple[Column, ...]:
    """Cells, gates and clock of ``what`` a row runs on; meanings of ``logic``, ``queues``, ``buffers``, ``clock``."""
    logic, queues, buffers, clock = (meanings[name] for name in MEANINGS)
    return (
        Column("luts", "integer", "LUT4", logic),
        Column("ffs", "integer", "flip-flops", f"of {what} on an ECP5"),
        Column("dsps", "integer", "18x18 multipliers", f"of {what} on an ECP5"),
        Column("lut_rams", "integer", "16x4 memories", queues),
        Column("block_rams", "integer", "18 Kibit memories", queues),
        Column("buffer_lut_rams", "integer", "16x4 memories", buffers),
        Column("buffer_block_rams", "integer", "18 Kibit memories", buffers),
        Column("gates", "integer", "NAND2", f"of {what} without its memories, for no technology"),
        Column("buffer_bits", "integer", "bits", buffers.replace(" on an ECP5", "")),
        Column("queue_bits", "integer", "bits", queues.replace(" on an ECP5", "")),
        Column("clock_mhz", "number", "MHz", clock),
        Column("critical_path", "text", "", "the registers between which the clock is limited"),
        Column("design", "text", "", "what was synthesised: its name in areas.csv, which has its blocks"),
    )


AREA_NAMES = tuple(column.name for column in area_columns("", dict.fromkeys(MEANINGS, "")))

AREAS: tuple[Column, ...] = (
    Column("design", "text", "", "what was synthesised: a digest of its parameters", key=True),
    Column("block", "text", "", "the block, by its instance; (top): what is in none", key=True),
    Column("kind", "text", "", "hwc, cluster or pipeline"),
    Column("lut4_equivalents", "integer", "LUT4", "LUT4, and six for each memory of 16 words"),
    Column("luts", "integer", "LUT4", "on an ECP5; two for a carry cell"),
    Column("ffs", "integer", "flip-flops", "on an ECP5"),
    Column("dsps", "integer", "18x18 multipliers", "on an ECP5"),
    Column("lut_rams", "integer", "16x4 memories", "on an ECP5"),
    Column("block_rams", "integer", "18 Kibit memories", "on an ECP5"),
    Column("gates", "integer", "NAND2", "logic and flip-flops in NAND gates of two inputs, for no technology"),
    Column("flip_flops", "integer", "", "that are part of the gates"),
    Column("memory_bits", "integer", "bits", "of all memories; no part of the gates"),
)


# --- rows ---

FORMAT = 6
"""Version of the tables; it changes when a column changes."""

STATUS = {
    "ok": "every count is the predicted one, the output is exact",
    "predicted": "not simulated",
    "differs": "a count or an output is not the predicted one",
    "failed": "could not be simulated or synthesised",
    "infeasible": "no HWC of this configuration runs the layers",
    "pending": "not finished when the table was written",
    "left out": "does not run on this engine",
}


def traffic_column(operand: str, direction: str, quantity: str, source: str, level: str = "tcdm") -> str:
    """Name of the column of one count."""
    return f"{level}_{operand}_{direction}_{quantity}_{source}"


def _traffic(level: str, where: str, counted: str) -> list[Column]:
    return [
        Column(
            traffic_column(operand, direction, quantity, source, level),
            "integer",
            UNITS[quantity],
            f"{operand} {direction} at the {where}, {how}",
        )
        for operand, directions in directions_at(level).items()
        for direction in directions
        for quantity in quantities_at(level)
        for source, how in (("predicted", "by the model"), ("measured", counted))
    ]


def _stalls() -> list[Column]:
    causes = {
        **{f"stall_{cause}": f"the datapath waited for the {cause}" for cause in ("input", "weight", "output")},
        "wait_load": "on a cluster: the HWCs waited for what the DMA loads",
        "wait_store": "on a cluster: the HWCs waited for room that the DMA's stores leave",
    }
    return [
        Column(f"{name}_{source}", "integer", "cycles", f"{meaning}, {source}")
        for name, meaning in causes.items()
        for source in ("predicted", "measured")
    ]


AREA = area_columns(
    "the HWC, or of all of the cluster",
    {
        "logic": "of the HWC's logic on an ECP5; buffers are apart; on a cluster of the logic of all of it",
        "queues": "of the HWC's queues and bias store on an ECP5; on a cluster of all HWCs, and of what is "
        "around them but the banks",
        "buffers": "of the three local memories on an ECP5; on a cluster of all of its HWCs, and of the banks",
        "clock": "from register to register, placed and routed; on a cluster that of one of its HWCs, placed alone: "
        "a whole cluster is not placed",
    },
)
"""What is synthesised with --synth."""

COLUMNS: tuple[Column, ...] = (
    Column("point", "text", "", "digest of everything that the row depends on"),
    Column("status", "text", "", "; ".join(f"{name}: {meaning}" for name, meaning in STATUS.items())),
    Column("reason", "text", "", "what is wrong"),
    Column("set", "text", "", "the layer set", key=True),
    Column("layer", "text", "", "the layer's name", key=True),
    Column("configuration", "text", "", "one HWC for all layers (shared), one for each (per-layer), the HWCE's nest, "
           "a cluster of HWCs made for each layer; hardware NAME: an HWC that was given, not built-in with a digest",
           key=True),
    Column("buffer_bytes", "integer", "bytes", "local buffers asked for: most bytes of I, W and O together, of "
           "each HWC", key=True),
    Column("hwcs", "integer", "", "HWCs of the cluster", key=True),
    Column("tcdm_bytes", "integer", "bytes", "the cluster's shared memory", key=True),
    Column("banks", "integer", "", "banks of the cluster's shared memory", key=True),
    Column("axi_bits", "integer", "bits", "width of the cluster's port to the DRAM", key=True),
    Column("dram", "text", "", "timing of the cluster's DRAM; empty: a beat in every cycle", key=True),
    Column("lanes", "text", "", "shape of the lanes asked for; auto: the one that suits the layers", key=True),
    Column("order", "text", "", "loop order asked for; best: the best one", key=True),
    Column("objective", "text", "", "what was searched for: cycles: the fewest; balanced: the fewest within the "
           "slack of the least traffic; traffic: the least traffic; on a cluster that at the DRAM; empty: nothing",
           key=True),
    Column("traffic_slack", "number", "", "with balanced: by what share traffic may exceed the least", key=True),
    Column("scale", "integer", "", "1: the layer at full size; else its channels, rows and columns by so much",
           key=True),
    Column("seed", "integer", "", "of the operands", key=True),
    Column("simulator", "text", "", "empty: not simulated"),
    Column("question", "text", "", "the sweep that the row is from: its name in provenance.json"),
    Column("hardware_lanes", "text", "", "the HWC's lanes"),
    Column("hardware_order", "text", "", "the HWC's loops, outermost first, with its buffers above them"),
    Column("input_buffer_bytes", "integer", "bytes", "the HWC's memory for I"),
    Column("weight_buffer_bytes", "integer", "bytes", "the HWC's memory for W"),
    Column("output_buffer_bytes", "integer", "bytes", "the HWC's memory for O"),
    Column("allocated_bytes", "integer", "bytes", "the three memories together"),
    Column("bias_store_bytes", "integer", "bytes", "the HWC's store for biases, beside the three memories"),
    Column("input_need_bytes", "integer", "bytes", "what the schedule needs of them for I"),
    Column("weight_need_bytes", "integer", "bytes", "what the schedule needs of them for W"),
    Column("output_need_bytes", "integer", "bytes", "what the schedule needs of them for O"),
    Column("macs", "integer", "", "multiply-accumulates of the layer"),
    *_traffic("tcdm", "shared memory", "counted on the bus"),
    Column("total_bytes_predicted", "integer", "bytes", "I, W and O at the shared memory, by the model"),
    Column("total_bytes_measured", "integer", "bytes", "I, W and O at the shared memory, counted on the bus"),
    Column("total_with_bias_predicted", "integer", "bytes", "the same with the biases, by the model"),
    Column("total_with_bias_measured", "integer", "bytes", "the same with the biases, counted on the bus"),
    *_traffic("dram", "DRAM", "counted on AXI"),
    Column("dram_total_bytes_predicted", "integer", "bytes", "I, W and O at the DRAM, by the model"),
    Column("dram_total_bytes_measured", "integer", "bytes", "I, W and O at the DRAM, counted on AXI"),
    Column("dram_total_with_bias_predicted", "integer", "bytes", "the same with the biases, by the model"),
    Column("dram_total_with_bias_measured", "integer", "bytes", "the same with the biases, counted on AXI"),
    Column("tcdm_taken_bytes", "integer", "bytes", "what a cluster's schedule takes of the shared memory"),
    Column("search_complete", "truth", "", "on a cluster: no tile that may be better was left out of the search"),
    Column("equal", "truth", "", "every count measured is the predicted one"),
    Column("output_exact", "truth", "", "the output is the reference's, bit for bit"),
    Column("cycles_predicted", "integer", "cycles", "from start to interrupt, by the model"),
    Column("cycles_measured", "integer", "cycles", "from start to interrupt"),
    Column("utilisation", "number", "", "multiply-accumulates by what the lanes could do in the measured cycles, "
           "else in the predicted ones"),
    Column("energy_predicted", "number", "pJ", "of all levels and of the multiply-accumulates, by the model; on a "
           "cluster whose file has energies, in their unit"),
    Column("energy_measured", "number", "pJ", "the same from the bytes counted on the buses; what the local buffers "
           "serve to the datapath is predicted"),
    *_stalls(),
    Column("least_traffic_bytes", "integer", "bytes", "with balanced: the layer's traffic where that is least, of "
           "all layers of one HWC together; of a cluster, at the DRAM"),
    Column("least_traffic_cycles", "integer", "cycles", "the cycles that it takes then, by the model"),
    Column("fewest_cycles_bytes", "integer", "bytes", "with balanced: the layer's traffic where the fewest cycles "
           "were found for any traffic, of all layers of one HWC together"),
    Column("fewest_cycles", "integer", "cycles", "the cycles that it takes then, by the model"),
    Column("optimum_bytes", "integer", "bytes", "the best schedule of the pure model: no lanes, buffers to the byte"),
    Column("optimum_ratio", "number", "", "traffic by that of the optimum"),
    Column("compulsory_bytes", "integer", "bytes", "everything moved once"),
    Column("bound_bytes", "integer", "bytes", "no schedule moves less with this memory; of a cluster, at the DRAM"),
    Column("bound_ratio", "number", "", "traffic by the bound, at least 1; of a cluster, that at the DRAM"),
    *AREA,
    Column("schedule", "text", "", "the schedule's file in the folder of the results"),
)  # fmt: skip

CURVES: tuple[Column, ...] = (
    Column("set", "text", "", "the layer set", key=True),
    Column("layer", "text", "", "the layer's name", key=True),
    Column("scale", "integer", "", "1: the layer at full size", key=True),
    Column("buffer_bytes", "integer", "bytes", "local buffers, I, W and O together", key=True),
    Column("question", "text", "", "the sweep that the row is from: its name in provenance.json"),
    Column("I_bytes", "integer", "bytes", "traffic of I in the best schedule of the pure model"),
    Column("W_bytes", "integer", "bytes", "traffic of W"),
    Column("O_bytes", "integer", "bytes", "traffic of O and its partial sums"),
    Column("total_bytes", "integer", "bytes", "all three"),
    Column(
        "bound_bytes",
        "integer",
        "bytes",
        "what no schedule goes below with as much memory; of a cluster, at the DRAM",
    ),
)
