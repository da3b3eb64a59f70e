// The rows of the sweeps, figures derived from a row, and the marks by which configurations are told apart.

const data = JSON.parse(document.getElementById("data").textContent);
for (const [rows, columns] of [[data.rows, data.columns], [data.pipelines, data.pipeline_columns]]) {
  for (const row of rows) {
    for (const { name } of columns) row[name] ??= null;
  }
}
for (const row of data.pipelines) row.configuration = "depth-first";
const PORT_BYTES = 12;
const unique = (values) => [...new Set(values)];
const whole = (number) => number.toLocaleString("en");
const ascending = (a, b) => a - b;
const sumOf = (rows, value) => rows.reduce((sum, row) => sum + value(row), 0);
const measured = (row) => row.total_bytes_measured !== null;
const traffic = (row) => (measured(row) ? row.total_bytes_measured : row.total_bytes_predicted);
const dramTraffic = (row) => row.dram_total_bytes_measured ?? row.dram_total_bytes_predicted;
const cycles = (row) => row.cycles_measured ?? row.cycles_predicted;
const stall = (row, cause) => row[`${cause}_measured`] ?? row[`${cause}_predicted`];
const lanesOf = (row) => (row.hardware_lanes.match(/\d+/g) || ["1"]).reduce((product, one) => product * Number(one), 1);
// Where the cycles go: column, label, colour.
const CAUSES = ["input", "weight", "output"].map((cause) => [`stall_${cause}`, `waiting for ${cause}`, cause]);
const CLUSTER_CAUSES = [["wait_load", "waiting for loads", "input"], ["wait_store", "waiting for stores", "output"]];
const OPERANDS = { I: ["read"], W: ["read"], O: ["read_partial", "write_partial", "write"] };

function moved(row, operand, source = measured(row) ? "measured" : "predicted", level = "tcdm") {
  if (operand === "total") return row[`${level === "dram" ? "dram_" : ""}total_bytes_${source}`];
  return OPERANDS[operand].reduce((sum, direction) => sum + row[`${level}_${operand}_${direction}_bytes_${source}`], 0);
}

// Shares of the cycles: lanes that multiply what counts, lanes that have nothing to do meanwhile, and waiting.
function spent(row) {
  const all = cycles(row);
  const useful = row.utilisation;
  const waits = (row.hwcs === null ? CAUSES : CLUSTER_CAUSES)
    .map(([cause, name, color]) => ({ name, color, value: stall(row, cause) / all, cycles: stall(row, cause) }));
  const idle = Math.max(0, 1 - useful - sumOf(waits, (one) => one.value));
  return [{ name: "useful lanes", color: "useful", value: useful }, { name: "idle lanes", color: "idle", hatched: true, value: idle }, ...waits];
}

// --- families: configurations that differ in their buffers alone (clusters: and in HWCs and shared memory) ---

const known = data.rows.filter((row) => row.total_bytes_predicted !== null);
const isPipeline = (row) => row.configuration === "depth-first";
const isCluster = (row) => row.configuration === "cluster";
const sets = unique(known.map((row) => row.set));
const FAMILY = ["set", "scale", "seed", "configuration", "lanes", "order", "objective", "traffic_slack", "dram", "banks", "axi_bits"];
const familyOf = (row) => JSON.stringify(FAMILY.map((name) => row[name]));
const families = unique(known.map(familyOf));
const SEARCHED = ["objective", "traffic_slack"]; // of a nest that nobody searched for they are null
const varied = FAMILY.filter((name) => unique(known.map((row) => row[name])
  .filter((value) => value !== null || !SEARCHED.includes(name))).length > 1);
const percent = (share) => `${Number((100 * share).toPrecision(3))} %`;

function familyName(row) {
  const parts = {
    set: row.set, scale: row.scale > 1 ? `1/${row.scale}` : "full size", seed: `seed ${row.seed}`,
    configuration: { shared: "one HWC", "per-layer": "an HWC each", hwce: "HWCE", cluster: "clusters" }[row.configuration] || row.configuration,
    lanes: row.lanes === "auto" ? "lanes chosen" : row.lanes, order: row.order, objective: row.objective,
    traffic_slack: row.traffic_slack === null ? "" : `within ${percent(row.traffic_slack)}`, dram: row.dram || "", banks: row.banks === null ? "" : `${row.banks} banks`,
    axi_bits: row.axi_bits === null ? "" : `${row.axi_bits} bits`,
  };
  return varied.map((name) => parts[name]).filter(Boolean).join(", ") || (row.lanes === "auto" ? parts.configuration : parts.lanes);
}

function markOf(row) {
  const index = families.indexOf(familyOf(row));
  return { color: `f${index % 8}`, shape: SHAPES[(index + Math.floor(index / 8)) % 8] };
}

// The rows of each configuration that has all the layers there are of its set and scale among the rows.
function groupsOf(rows) {
  const groups = new Map();
  for (const row of rows) groups.set(row.label, [...(groups.get(row.label) || []), row]);
  const complete = ([first, ...more]) => {
    const same = rows.filter((row) => row.set === first.set && row.scale === first.scale);
    return unique([first, ...more].map((row) => row.layer)).length === unique(same.map((row) => row.layer)).length;
  };
  return [...groups.values()].filter(complete);
}

function byFamily(groups, at) {
  const found = new Map();
  for (const group of groups) {
    const key = familyOf(group[0]);
    found.set(key, [...(found.get(key) || []), group]);
  }
  return [...found.values()].map((some) => some.sort((a, b) => at(a[0]) - at(b[0])));
}

function layersText(rows) {
  const names = unique(rows.map((row) => row.layer));
  return names.length === 1 ? names[0] : `${names.length} layers`;
}

function trafficText(row) {
  return `${row.layer}, ${row.label}\n${whole(traffic(row))} bytes ${measured(row) ? "measured" : "predicted"}`;
}
