"""The columns of depth-first points: a row for each stack on its pipeline, and the front that the points are on."""

from hwgen.ir.level import UNITS
from hwgen.studies.sweep.tables.columns import Column, area_columns

__all__ = ["AT_DRAM", "FRONTS", "KINDS_OF_TRAFFIC", "PIPELINES", "PIPELINE_STATUS"]

PIPELINE_STATUS = {
    "ok": "every count is the predicted one, the output is exact",
    "predicted": "not simulated",
    "differs": "a count or an output is not the predicted one",
    "failed": "could not be simulated or synthesised",
    "infeasible": "no solution fits the memory, or a pipeline has no stage for a row",
    "pending": "not finished when the table was written",
}
KINDS_OF_TRAFFIC = {
    "input": "feature maps that the stack reads",
    "output": "feature maps that it writes",
    "skip_out": "operands of joins that are written to the DRAM for that",
    "skip_in": "operands of joins that are read from the DRAM",
    "overlap_out": "columns that a later tile needs, written",
    "overlap_in": "columns of an earlier tile, read",
    "weights": "weights, where they are fetched",
}
AT_DRAM = ("bytes", "beats", "axi_bursts", "blocks", "row_misses")
"""What is counted at the DRAM of pipelines with movers: of all streams, with the biases and all weights."""

NETWORK: tuple[Column, ...] = (
    Column("set", "text", "", "the network", key=True),
    Column("phases", "truth", "", "its transposed convolutions run as a convolution and a pixel shuffle", key=True),
    Column("input_width", "integer", "pixels", "of the network's input", key=True),
    Column("input_height", "integer", "pixels", "of the network's input", key=True),
)


AREA = area_columns(
    "the pipeline",
    {
        "logic": "of the pipeline's logic on an ECP5; rings of maps and memories of stages are apart",
        "queues": "of the pipeline's queues on an ECP5",
        "buffers": "of rings of maps and memories of stages on an ECP5",
        "clock": "from register to register, placed and routed",
    },
)


def _traffic() -> list[Column]:
    sources = {"predicted": "by the model", "measured": "counted in the RTL"}
    return [
        Column(f"{kind}_bytes_{source}", "integer", "bytes", f"{meaning}, {how}")
        for kind, meaning in {**KINDS_OF_TRAFFIC, "total": "all kinds together"}.items()
        for source, how in sources.items()
    ]


def _what(name: str) -> str:
    return "with the biases and all weights" if name == "bytes" else "all streams"


def _at_dram() -> list[Column]:
    sources = {"predicted": "by the model", "measured": "counted on AXI"}
    return [
        Column(f"dram_{name}_{source}", "integer", UNITS[name], f"of a pipeline on a DRAM: {_what(name)}, {how}")
        for name in AT_DRAM
        for source, how in sources.items()
    ]


PIPELINES: tuple[Column, ...] = (
    Column("point", "text", "", "digest of everything that the row depends on"),
    Column("status", "text", "", "; ".join(f"{name}: {meaning}" for name, meaning in PIPELINE_STATUS.items())),
    Column("reason", "text", "", "what is wrong"),
    *NETWORK,
    Column("memory_bytes", "integer", "bytes", "on-chip memory asked for: rings and weights", key=True),
    Column("dram", "text", "", "timing of the DRAM that the pipeline is on; empty: the harness serves its streams",
           key=True),
    Column("axi_bits", "integer", "bits", "width of the port to that DRAM", key=True),
    Column("multipliers", "integer", "", "of each pipeline, at most", key=True),
    Column("stalls", "truth", "", "streams stall at random in the simulation", key=True),
    Column("seed", "integer", "", "of the operands", key=True),
    Column("stack", "text", "", "the stack: its first and last row; empty: there is no solution", key=True),
    Column("simulator", "text", "", "empty: not simulated"),
    Column("question", "text", "", "the sweep that the row is from: its name in provenance.json"),
    Column("number", "integer", "", "of the stack in the solution, from 1"),
    Column("stacks", "integer", "", "of the solution"),
    Column("layers", "integer", "", "rows of the network in the stack"),
    Column("tiles", "integer", "", "into how many tiles its lines are cut"),
    Column("weights", "text", "", "of the solution: resident: all on chip for good; fetched: once for each stack"),
    Column("on_chip_bytes", "integer", "bytes", "that the solution takes of the memory asked for"),
    Column("stack_bytes", "integer", "bytes", "on chip while the stack runs: rings and weights"),
    Column("ring_bytes", "integer", "bytes", "of these the rings of the stack's feature maps"),
    Column("rings", "text", "bytes", "each feature map's ring"),
    Column("weight_bytes", "integer", "bytes", "weights of the stack's rows"),
    Column("in_flight_bytes", "integer", "bytes", "beside the rings: the newest pixel of each feature map, and lines "
           "of pixel shuffles"),
    Column("through_dram", "text", "", "operands of joins that go through the DRAM instead of their ring"),
    Column("macs", "integer", "", "multiply-accumulates of the stack's rows"),
    *_traffic(),
    Column("bias_bytes_measured", "integer", "bytes", "biases, which are counted apart"),
    *_at_dram(),
    Column("equal", "truth", "", "every count measured is the predicted one"),
    Column("output_exact", "truth", "", "what the stack writes is the reference's, bit for bit"),
    Column("cycles_predicted", "integer", "cycles", "of all tiles, by the model"),
    Column("cycles_measured", "integer", "cycles", "of all tiles, by the pipeline's own counter"),
    Column("slowest_stage_cycles", "integer", "cycles", "that the slowest stage computes"),
    Column("utilisation", "number", "", "multiply-accumulates by what the multipliers asked for could do in the "
           "measured cycles, else in the predicted ones"),
    *AREA,
    Column("solution", "text", "", "the solution's file in the folder of the results"),
)  # fmt: skip

FRONTS: tuple[Column, ...] = (
    *NETWORK,
    Column("memory_bytes", "integer", "bytes", "on chip: rings and weights; a point of the front", key=True),
    Column("question", "text", "", "the sweep that the row is from: its name in provenance.json"),
    Column("traffic_bytes", "integer", "bytes", "to and from the DRAM: the least within this memory"),
    Column("weights", "text", "", "resident or fetched"),
    Column("stacks", "integer", "", "of the solution"),
    Column("tiles", "text", "", "of each stack, in order"),
    Column("layer_by_layer_bytes", "integer", "bytes", "what no execution layer by layer goes below with as much "
           "memory, weights and skips for nothing"),
)  # fmt: skip
