"""The columns of what was synthesised: the whole of it in a row's own cells, its blocks in a table of their own."""

from collections.abc import Mapping

from hwgen.studies.sweep.tables.column import Column

__all__ = ["AREAS", "AREA_NAMES", "area_columns"]

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
