"""All tables of the page of results, with the files that they are from."""

from manual.results import area_tables, paper_tables, tables
from manual.results.tables import Table

__all__ = ["TABLES"]

TABLES: dict[str, Table] = {
    "demo": Table(
        "demo.json",
        "layer | MACs: | I+W+O bytes: | cycles: | MAC utilisation: | counts equal | output exact",
        tables.demo,
    ),
    "busy": Table(
        "model_16.csv model_64.csv model_256.csv",
        "multipliers: | buffers: | HWCs | I+W+O bytes, of the optima: | mean MAC utilisation: | goal | cycles:",
        tables.busy,
    ),
    "nests": Table(
        "stoutchinin-2019_fig8.csv",
        "nest | memory | I, W, O bytes | bytes, 68 rows: | of the optima: | cycles: | mean utilisation:",
        tables.nests,
    ),
    "widths": Table(
        "alexnet_cluster.csv alexnet_16bit.csv",
        "bits: | layer | cycles: | predicted: | utilisation: | MACs in a cycle: | GMAC/s at 500 MHz:",
        tables.widths,
    ),
    "four_hwcs": Table(
        "stoutchinin-2019_four_hwcs.csv",
        "rows | cycles: | predicted: | utilisation, mean: | least: | most: | GMAC/s at 500 MHz:",
        tables.four_hwcs,
    ),
    "designed": Table("designed.json", "row | uJ: | cycles: | MAC utilisation:", tables.designed),
    "cut_down": Table(
        "stacks.csv",
        "stack | tiles | input simulated | input published | channels | MACs simulated: | MACs published:"
        " | off the pace, at most: | may be:",
        tables.cut_down,
    ),
    "all_channels": Table(
        "goetschalckx-2019_rtl.csv",
        "stack | tiles: | line buffers, bytes: | features, bytes: | of these the overlap of tiles: | cycles:",
        tables.all_channels,
    ),
    "full_size": Table(
        "stacks_full_size.csv",
        "tiles: | bytes at the DRAM: | of these the overlap of tiles: | AXI bursts: | row misses:"
        " | cycles predicted: | cycles:",
        tables.full_size,
    ),
    "borders": Table(
        "borders.csv stacks_full_size.csv",
        "tiles: | tile: | slowest stage: | output: | lost at the border:",
        tables.borders,
    ),
    "ways": Table(
        "ways.csv", "network | bytes on chip: | DRAM bytes, layer by layer: | depth-first: | times:", tables.ways
    ),
    "networks": Table(
        "networks.csv",
        "network | million MACs: | hardware, MACs: | hardware, bytes: | elements: | equal: | ties:"
        " | largest difference of the output: | host",
        tables.networks,
    ),
    "planned": Table(
        "networks_planned.csv",
        "network | MACs: | bytes: | programs: | million cycles: | roofline: | utilisation:"
        " | room of feature maps, at least: | MB at the DRAM: | uJ:",
        tables.planned,
    ),
    "network_runs": Table(
        "network_runs.csv",
        "network | nodes: | programs: | cycles predicted: | in the RTL: | off: | utilisation: | bytes at the DRAM:",
        tables.network_runs,
    ),
    "transfers": Table(
        "cecconi-2017_transfers.csv",
        "layer | naive tile | best tile | naive, RTL: | best, RTL: | times: | bytes a cycle, naive:"
        " | best: | moved, naive: | best:",
        paper_tables.transfers,
    ),
    "fig3": Table(
        "cecconi-2017_fig3.csv",
        "layer | naive tile | best tile | no buffering: | naive, single buffer: | naive, halves:"
        " | best, single buffer: | best, halves:",
        paper_tables.fig3,
    ),
    "fig3_rtl": Table(
        "cecconi-2017_rtl.csv",
        "layer | no buffering, predicted: | RTL: | the six other ways, RTL: | off, at most:",
        paper_tables.fig3_rtl,
    ),
    "bursts": Table(
        "sousa-2022_system.csv",
        "layer | of | bursts in view, predicted: | RTL: | counting bytes, predicted: | RTL: | faster:",
        paper_tables.bursts,
    ),
    "bursts_by_network": Table(
        "sousa-2022_system.csv",
        "network | layers: | faster by more than 1 %: | alike: | slower: | all layers, faster: | the paper:",
        paper_tables.bursts_by_network,
    ),
    "own_by_network": Table(
        "sousa-2022_system.csv",
        "network | layers: | in the RTL: | faster by more than 1 %: | alike: | slower:"
        " | all layers, faster: | the paper:",
        paper_tables.own_by_network,
    ),
    "own_slower": Table(
        "sousa-2022_system.csv",
        "layer | of | cycles, bursts in view: | counting bytes: | faster: | why",
        paper_tables.own_slower,
    ),
    "own_rtl": Table(
        "sousa-2022_system.csv",
        "layer | bursts in view, predicted: | RTL: | off: | counting bytes, predicted: | RTL: | off:",
        paper_tables.own_rtl,
    ),
    "four_clusters": Table(
        "four_clusters.csv",
        "row | cycles: | predicted: | MAC utilisation: | longest wait, reads: | writes:",
        paper_tables.four_clusters,
    ),
    "designed_layers": Table(
        "yang-2016_rtl.csv",
        "layer | bytes of the DRAM: | at the HWCs: | vectors at the lanes: | DRAM, uJ: | shared memory:"
        " | local: | MACs: | cycles predicted: | cycles:",
        paper_tables.designed_layers,
    ),
    "connected": Table(
        "yang-2016_rtl.csv",
        "images: | bytes of the DRAM: | for each image: | bytes at the HWC: | vectors at the lanes:"
        " | cycles predicted: | cycles:",
        paper_tables.connected,
    ),
    "hierarchy": Table(
        "hierarchy.csv",
        "memories | layer | mJ: | gap: | seconds: | level by level: | all short strings: | packed:",
        tables.hierarchy,
    ),
    "caches": Table(
        "cpu_accesses.csv",
        "layer | share of its work | L2: blocked: | ATLAS: | MKL, SSE4.2: | MKL, AVX2: | OpenBLAS:"
        " | L3: blocked: | ATLAS: | MKL, SSE4.2: | MKL, AVX2: | OpenBLAS:",
        paper_tables.caches,
    ),
    "hwcs": Table(
        "area.csv", "HWC | LUT4-equivalents: | flip-flops: | DSP 18x18: | block RAM: | MHz: | mark", area_tables.hwcs
    ),
    "vector_units": Table(
        "area.csv",
        "elements in a cycle: | LUT4-equivalents: | flip-flops: | DSP 18x18: | block RAM:",
        area_tables.vector_units,
    ),
    "area_errors": Table(
        "hwgen/model/area/coefficients.json",
        "designs | number: | LUT4 median: | worst: | FF median: | worst: | placed: | MHz median: | worst:"
        " | DSP: | block RAM:",
        area_tables.errors,
    ),
}
