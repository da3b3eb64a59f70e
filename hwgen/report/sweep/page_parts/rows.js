// The rows of the sweep, figures derived from a row, and the dialog that shows the nest of a row.

const data = JSON.parse(document.getElementById("data").textContent);
for (const row of data.rows) {
  for (const { name } of data.columns) row[name] ??= null;
}
const known = data.rows.filter((row) => row.total_bytes_predicted !== null);
const clusters = known.filter((row) => row.configuration === "cluster");
const engines = known.filter((row) => row.configuration === "hwce");
const blocks = known.filter((row) => !["hwce", "cluster"].includes(row.configuration));
const LANES = 16;
const PORT_BYTES = 12;
const unique = (values) => [...new Set(values)];
const layers = unique(data.rows.map((row) => row.layer));
const whole = (number) => number.toLocaleString("en");
const measured = (row) => row.total_bytes_measured !== null;
const traffic = (row) => (measured(row) ? row.total_bytes_measured : row.total_bytes_predicted);
const cycles = (row) => row.cycles_measured ?? row.cycles_predicted;
const stall = (row, cause) => row[`${cause}_measured`] ?? row[`${cause}_predicted`];
// Where the cycles go: column, label, colour.
const CAUSES = ["input", "weight", "output"].map((cause) => [`stall_${cause}`, `waiting for ${cause}`, cause]);
const CLUSTER_CAUSES = [["wait_load", "waiting for loads", "input"], ["wait_store", "waiting for stores", "output"]];
const OPERANDS = { I: ["read"], W: ["read"], O: ["read_partial", "write_partial", "write"] };

function predicted(row, operand) {
  return operand === "total" ? row.total_bytes_predicted : moved(row, operand, "predicted");
}

function moved(row, operand, source = measured(row) ? "measured" : "predicted") {
  return OPERANDS[operand].reduce((sum, direction) => sum + row[`tcdm_${operand}_${direction}_bytes_${source}`], 0);
}

// --- a click shows the nest ---

function showNest(title, rows) {
  document.getElementById("detail-title").textContent = title;
  const body = document.getElementById("detail-body");
  body.replaceChildren();
  for (const row of rows) {
    make(body, "h3", {}, `${row.layer}, ${row.label}`);
    const facts = [
      ["I + W + O, predicted", `${whole(row.total_bytes_predicted)} bytes`],
      ["I + W + O, measured", measured(row) ? `${whole(row.total_bytes_measured)} bytes` : "not simulated"],
      ...(row.hwcs === null ? [["of the optimum", row.optimum_ratio.toFixed(3)]] : [
        ["DRAM, predicted", `${whole(row.dram_total_bytes_predicted)} bytes, ${row.bound_ratio.toFixed(3)} of the bound`],
        ["DRAM, measured", measured(row) ? `${whole(row.dram_total_bytes_measured)} bytes` : "not simulated"],
        ["TCDM taken", `${whole(row.tcdm_taken_bytes)} of ${whole(row.tcdm_bytes)} bytes`],
      ]),
      ["cycles", `${whole(cycles(row))}, utilisation ${row.utilisation.toFixed(3)}`],
      ["HWC", `${row.hardware_order}; I ${row.input_buffer_bytes}, W ${row.weight_buffer_bytes}, O ${row.output_buffer_bytes} bytes`],
    ];
    if (row.luts !== null) facts.push(["ECP5", `${whole(row.luts)} LUT4, ` +
      `${row.lut_rams + row.buffer_lut_rams} LUT RAMs, ${row.block_rams + row.buffer_block_rams} block RAMs, ` +
      `${row.dsps} DSPs, ${row.clock_mhz} MHz; ${row.critical_path}`]);
    if (row.scale > 1) facts.push(["SCALED", `channels, rows and columns divided by ${row.scale}`]);
    const table = make(body, "table");
    for (const [name, value] of facts) {
      const line = make(table, "tr");
      make(line, "th", {}, name);
      make(line, "td", {}, value);
    }
    make(body, "pre", { class: "nest" }, row.nest);
  }
  document.getElementById("detail").showModal();
}

function trafficText(row) {
  return `${row.layer}, ${row.label}: ${whole(traffic(row))} bytes ${measured(row) ? "measured" : "predicted"}`;
}
