// Which columns the tables have.

// The columns of a table that are not empty: those of `main` in its order, or all of them after its first.
function columnsOf(columns, rows, main) {
  const filled = columns.filter(({ name }) => rows.some((row) => row[name] !== null));
  if (!document.getElementById("all-columns").checked) return main.flatMap((name) => filled.filter((column) => column.name === name));
  return filled.sort((a, b) => (b.name === main[0]) - (a.name === main[0]));
}

function drawTables() {
  const nothing = () => null;
  const main = ["layer", "set", "configuration", "buffer_bytes", "lanes", "hardware_lanes", "order", "objective", "traffic_slack", "hwcs", "tcdm_bytes", "scale", "status",
    "dram_total_bytes_predicted", "dram_total_bytes_measured", "total_bytes_predicted", "total_bytes_measured",
    "optimum_ratio", "bound_ratio", "cycles_predicted", "cycles_measured", "utilisation", "energy_predicted", "energy_measured",
    "least_traffic_bytes", "least_traffic_cycles", "fewest_cycles_bytes", "fewest_cycles", "luts", "dsps", "clock_mhz", "reason"];
  const several = (name) => !["set", "order", "objective", "traffic_slack", "scale"].includes(name) || unique(data.rows.map((row) => row[name])).length > 1;
  const columns = columnsOf(data.columns, data.rows, main.filter(several));
  drawTable(document.getElementById("results"), "results", data.columns, columns, shown,
    (row) => (row.nest ? () => showNest(`${row.layer}, ${row.label}`, [row]) : null));
  const layers = new Set(shown.map((row) => [row.set, row.scale, row.layer].join()));
  const ordered = [...data.curve_columns].sort((a, b) => (b.name === "layer") - (a.name === "layer"));
  drawTable(document.getElementById("curves"), "curves", data.curve_columns, ordered.filter(({ name }) => name !== "question"),
    data.curves.filter((row) => layers.has([row.set, row.scale, row.layer].join())), nothing);
  const described = ["name", "kind", "unit", "meaning"].map((name) => ({ name, meaning: "", unit: "" }));
  drawTable(document.getElementById("schema"), "schema", described, described,
    [...(data.rows.length ? data.columns : []), ...(data.pipelines.length ? data.pipeline_columns : [])], nothing);
  if (data.pipelines.length) drawPipelineTable();
}
