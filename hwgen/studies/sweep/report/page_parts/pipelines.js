// Depth-first points: the front of on-chip memory against traffic with the points on it, their cycles, their solutions.

const TRAFFIC_KINDS = [["input", "input"], ["output", "output"], ["skip_out", "skips written"], ["skip_in", "skips read"],
  ["overlap_out", "overlap written"], ["overlap_in", "overlap read"], ["weights", "weights"]];
const stackMeasured = (row) => row.total_bytes_measured !== null;
const stackTraffic = (row) => row.total_bytes_measured ?? row.total_bytes_predicted;

// Rows in lists that are equal in what `key` says, in the order of their stacks.
function listed(rows, key) {
  const found = new Map();
  for (const row of rows) found.set(key(row), [...(found.get(key(row)) || []), row]);
  return [...found.values()];
}

// The stacks of each solution on one kind of pipelines; those without a figure are left out.
const runsOf = (rows) => listed(rows.filter((row) => row.stack !== null), (row) => row.run)
  .filter((run) => run.every((row) => stackTraffic(row) !== null));

function drawPipelines() {
  const chosen = new Set(pipelines.map((row) => row.run));
  const runs = data.runs.filter((run) => chosen.has(run.run));
  document.getElementById("front-section").hidden = !runs.length;
  if (!runs.length) return;
  const named = (name) => unique(runs.map((run) => run[name]));
  const fronts = data.fronts.filter((row) => named("network").includes(row.network));
  drawChart(document.getElementById("front"), "front", { runs, fronts }, { keys: named("network") });
  drawChart(document.getElementById("pipeline-cycles"), "pipeline-cycles", { runs }, { keys: named("pipeline") });
}

function memoriesText(runs) {
  const sizes = unique(runs.map(([row]) => row.memory_bytes)).sort(ascending);
  return sizes.length > 2 ? `${bytes(sizes[0])} to ${bytes(sizes[sizes.length - 1])}` : sizes.map(bytes).join(", ");
}

const stacksText = (rows) => `${rows.length === 1 ? "one stack" : `${rows.length} stacks`}, tiles: ${rows.map((row) => row.tiles).join(", ")}`;

// The runs of one solution: its stacks, their memory and traffic; then its cycles on each kind of pipelines.
function showSolution(runs) {
  const counted = runs.find((run) => run.every(stackMeasured)) || runs[0];
  const [first] = counted;
  const body = openDetail(`${first.network}, ${memoriesText(runs)}: ${stacksText(counted)}`);
  factTable(body, [
    ["on chip", `${whole(first.on_chip_bytes)} bytes`],
    ["weights", first.weights === "resident" ? "resident: all of them on chip for good" : "fetched: once for each stack"],
    ["traffic, predicted", `${whole(sumOf(counted, (row) => row.total_bytes_predicted))} bytes`],
    ["traffic, measured", counted.every(stackMeasured) ? `${whole(sumOf(counted, (row) => row.total_bytes_measured))} bytes` : "not simulated"],
    ...(first.solution ? [["solution", first.solution]] : []),
  ]);
  make(body, "h3", {}, "Traffic by kind");
  drawBars(make(body, "figure", { class: "plot" }), counted.map((row) => (
    { bar: row.stack, note: shortNumber(stackTraffic(row)), parts: row.parts })));
  for (const row of counted) showStack(body, row, runs);
}

function showStack(host, row, runs) {
  make(host, "h3", {}, `${row.number}. ${row.stack}`);
  const kinds = TRAFFIC_KINDS.filter(([kind]) => row[`${kind}_bytes_predicted`]);
  const counted = (kind) => (row[`${kind}_bytes_measured`] === null ? "" : `, measured ${whole(row[`${kind}_bytes_measured`])}`);
  factTable(host, [
    ["rows", `${row.layers}, in ${row.tiles === 1 ? "one tile" : `${row.tiles} tiles`}`],
    ["on chip while it runs", `${whole(row.stack_bytes)} bytes: rings ${whole(row.ring_bytes)}, the rest weights`],
    ["rings", row.rings.split(", ").filter((one) => !one.endsWith(" 0")).map((one) => one.replace(/ (\d+)$/, (_, size) => `: ${whole(Number(size))}`)).join(", ") || "none"],
    ...(row.through_dram ? [["through the DRAM", row.through_dram]] : []),
    ...kinds.map(([kind, name]) => [name, `${whole(row[`${kind}_bytes_predicted`])} bytes predicted${counted(kind)}`]),
    ...listed(runs.flatMap((run) => run.filter((one) => one.stack === row.stack)), (row) => row.pipeline).map((same) => (
      same.find(stackMeasured) || same[0])).map((one) => [
      one.pipeline,
      `${whole(one.cycles_measured ?? one.cycles_predicted)} cycles ${one.cycles_measured === null ? "predicted" : "measured"}, ` +
        `utilisation ${one.utilisation.toFixed(3)}${one.reason ? `; ${one.status}: ${one.reason}` : ""}`,
    ]),
    ...(row.luts === null ? [] : [["ECP5", `${whole(row.luts)} LUT4, ${row.lut_rams + row.buffer_lut_rams} LUT RAMs, ` +
      `${row.block_rams + row.buffer_block_rams} block RAMs, ${row.dsps} DSPs, ${row.clock_mhz} MHz; ${row.critical_path}`]]),
  ]);
  if (row.design && blocksOf(row.design).length) drawBlocks(make(host, "div", { class: "pair" }), row.design, 8);
}

function drawPipelineTable() {
  const main = ["stack", "set", "memory_bytes", "multipliers", "dram", "number", "tiles", "weights", "status", "stack_bytes", "ring_bytes",
    "total_bytes_predicted", "total_bytes_measured", "dram_row_misses_measured", "cycles_predicted", "cycles_measured",
    "utilisation", "luts", "dsps", "block_rams", "clock_mhz", "reason"];
  const columns = columnsOf(data.pipeline_columns, data.pipelines, main);
  const runs = new Map(runsOf(pipelines).flatMap((run) => run.map((row) => [row, run])));
  drawTable(document.getElementById("pipelines"), "pipelines", data.pipeline_columns, columns, pipelines,
    (row) => (runs.has(row) ? () => showSolution([runs.get(row)]) : null));
}
