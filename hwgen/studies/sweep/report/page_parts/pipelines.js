// Depth-first points: the front of on-chip memory against traffic with the points on it, their cycles, their solutions.

const TRAFFIC_KINDS = [["input", "input"], ["output", "output"], ["skip_out", "skips written"], ["skip_in", "skips read"],
  ["overlap_out", "overlap written"], ["overlap_in", "overlap read"], ["weights", "weights"]];
const NETWORK = ["set", "phases", "input_width", "input_height"];
const networkOf = (row) => JSON.stringify(NETWORK.map((name) => row[name]));
const PIPELINE = [...NETWORK, "multipliers", "dram", "axi_bits", "stalls", "seed"];
const pipelineOf = (row) => JSON.stringify(PIPELINE.map((name) => row[name]));
const networks = unique(data.pipelines.map(networkOf));
const pipelineKinds = unique(data.pipelines.map(pipelineOf));
const stackMeasured = (row) => row.total_bytes_measured !== null;
const stackTraffic = (row) => row.total_bytes_measured ?? row.total_bytes_predicted;
const markNumber = (index) => ({ color: `f${index % 8}`, shape: SHAPES[(index + Math.floor(index / 8)) % 8] });

function networkName(row) {
  const size = `${row.input_width} x ${row.input_height}`;
  return networks.length === 1 ? row.set : [row.set, size, row.phases ? "in phases" : ""].filter(Boolean).join(", ");
}

function pipelineName(row, named = networks.length > 1) {
  const varies = (name) => unique(data.pipelines.map((one) => one[name])).length > 1;
  return [
    named ? networkName(row) : "", `${row.multipliers} multipliers`,
    row.axi_bits === null ? "streams" : `DRAM${varies("dram") && row.dram ? ` (${row.dram})` : ""}, ${row.axi_bits} bits`,
    row.stalls ? "with stalls" : "", varies("seed") ? `seed ${row.seed}` : "",
  ].filter(Boolean).join(", ");
}

// Rows in lists that are equal in what `key` says, in the order of their stacks.
function listed(rows, key) {
  const found = new Map();
  for (const row of rows) found.set(key(row), [...(found.get(key(row)) || []), row]);
  return [...found.values()];
}

// The stacks of each solution on one kind of pipelines; those without a figure are left out.
const runsOf = (rows) => listed(rows.filter((row) => row.stack !== null), (row) => `${pipelineOf(row)} ${row.memory_bytes}`)
  .filter((run) => run.every((row) => stackTraffic(row) !== null));

function drawFront() {
  const [series, keys] = [[], []];
  // The same solution may be the best one for several memories.
  const solutions = listed(runsOf(pipelines), (rows) => JSON.stringify([networkOf(rows[0]), rows[0].on_chip_bytes,
    sumOf(rows, (row) => row.total_bytes_predicted), ...rows.map((row) => [row.stack, row.tiles])]));
  for (const [index, network] of networks.entries()) {
    const mark = markNumber(index);
    const front = data.fronts.filter((row) => networkOf(row) === network).sort((a, b) => a.memory_bytes - b.memory_bytes);
    const some = solutions.filter(([[row]]) => networkOf(row) === network);
    if (!some.length) continue;
    const name = networkName(some[0][0][0]);
    const steps = front.flatMap((row, i) => [
      ...(i ? [{ x: row.memory_bytes, y: front[i - 1].traffic_bytes }] : []), { x: row.memory_bytes, y: row.traffic_bytes }]);
    keys.push({ ...mark, name });
    series.push({ ...mark, line: true, points: steps });
    series.push({ ...mark, line: true, dashed: true, points: front.map((row) => ({ x: row.memory_bytes, y: row.layer_by_layer_bytes })) });
    series.push({ ...mark, points: some.map((runs) => {
      const counted = runs.find((run) => run.every(stackMeasured));
      const [rows, sum] = [counted || runs[0], sumOf(counted || runs[0], stackTraffic)];
      const sizes = memoriesText(runs);
      return {
        x: rows[0].on_chip_bytes, y: sum, hollow: !counted, named: sizes,
        label: `${networkName(rows[0])}, ${sizes}: ${stacksText(rows)}\n` +
          `${whole(sum)} bytes ${counted ? "measured" : "predicted"}, ${whole(rows[0].on_chip_bytes)} on chip`,
        action: () => showSolution(runs),
      };
    }) });
  }
  plot(document.getElementById("front"), {
    title: "On-chip memory against traffic", series: series.filter((one) => one.points.length),
    legend: [...keys, { name: "the front, predicted", color: "bound" }, { name: "layer by layer, at least", color: "bound", dashed: true }],
    x: { label: "on-chip memory, bytes", log: true, format: shortNumber }, y: { label: "bytes to and from the DRAM", log: true },
  });
}

function memoriesText(runs) {
  const sizes = unique(runs.map(([row]) => row.memory_bytes)).sort(ascending);
  return sizes.length > 2 ? `${bytes(sizes[0])} to ${bytes(sizes[sizes.length - 1])}` : sizes.map(bytes).join(", ");
}

function drawPipelineCycles() {
  const series = [];
  for (const run of listed(runsOf(pipelines), ([first]) => pipelineOf(first))) {
    const mark = markNumber(pipelineKinds.indexOf(pipelineOf(run[0][0])));
    const spentBy = (row) => row.cycles_measured ?? row.cycles_predicted;
    const points = run.sort(([a], [b]) => a.on_chip_bytes - b.on_chip_bytes).map((rows) => ({
      x: rows[0].on_chip_bytes, y: sumOf(rows, spentBy), hollow: !rows.every((row) => row.cycles_measured !== null),
      label: `${bytes(rows[0].memory_bytes)}, ${pipelineName(rows[0])}\n${whole(sumOf(rows, spentBy))} cycles ` +
        (rows.every((row) => row.cycles_measured !== null) ? "measured" : "predicted"),
      action: () => showSolution([rows]),
    }));
    series.push({ ...mark, name: pipelineName(run[0][0]), line: true, points: points.filter((point) => point.y > 0) });
  }
  plot(document.getElementById("pipeline-cycles"), {
    title: "Cycles of depth-first points", series: series.filter((one) => one.points.length),
    x: { label: "on-chip memory, bytes", log: true }, y: { label: "cycles", zero: true },
  });
}

const stacksText = (rows) => `${rows.length === 1 ? "one stack" : `${rows.length} stacks`}, tiles: ${rows.map((row) => row.tiles).join(", ")}`;

// The runs of one solution: its stacks, their memory and traffic; then its cycles on each kind of pipelines.
function showSolution(runs) {
  const counted = runs.find((run) => run.every(stackMeasured)) || runs[0];
  const [first] = counted;
  const body = openDetail(`${networkName(first)}, ${memoriesText(runs)}: ${stacksText(counted)}`);
  factTable(body, [
    ["on chip", `${whole(first.on_chip_bytes)} bytes`],
    ["weights", first.weights === "resident" ? "resident: all of them on chip for good" : "fetched: once for each stack"],
    ["traffic, predicted", `${whole(sumOf(counted, (row) => row.total_bytes_predicted))} bytes`],
    ["traffic, measured", counted.every(stackMeasured) ? `${whole(sumOf(counted, (row) => row.total_bytes_measured))} bytes` : "not simulated"],
    ...(first.solution ? [["solution", first.solution]] : []),
  ]);
  make(body, "h3", {}, "Traffic by kind");
  const kinds = TRAFFIC_KINDS.map(([kind, name], index) => ({ kind, name, color: `f${index}` }))
    .filter(({ kind }) => counted.some((row) => row[`${kind}_bytes_predicted`]));
  bars(make(body, "figure", { class: "plot" }), {
    title: "Bytes of each stack by kind", most: Math.max(1, ...counted.map(stackTraffic)), format: shortNumber,
    legend: kinds.map((one) => ({ ...one, field: true })),
    rows: counted.map((row) => ({
      name: row.stack, note: shortNumber(stackTraffic(row)), action: () => {},
      parts: kinds.map((one) => {
        const value = row[`${one.kind}_bytes_measured`] ?? row[`${one.kind}_bytes_predicted`];
        return { ...one, value, label: `${whole(value)} bytes: ${one.name}` };
      }),
    })),
  });
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
    ...listed(runs.flatMap((run) => run.filter((one) => one.stack === row.stack)), pipelineOf).map((same) => (
      same.find(stackMeasured) || same[0])).map((one) => [
      pipelineName(one, false),
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
  const all = document.getElementById("all-columns").checked;
  const filled = data.pipeline_columns.filter(({ name }) => data.pipelines.some((row) => row[name] !== null));
  const rank = (name) => main.indexOf(name) + (main.includes(name) ? 0 : main.length + 1);
  const columns = filled.filter(({ name }) => all || main.includes(name))
    .sort((a, b) => (all ? (b.name === "stack") - (a.name === "stack") : rank(a.name) - rank(b.name)));
  const runs = new Map(runsOf(pipelines).flatMap((run) => run.map((row) => [row, run])));
  drawTable(document.getElementById("pipelines"), "pipelines", data.pipeline_columns, columns, pipelines,
    (row) => (runs.has(row) ? () => showSolution([runs.get(row)]) : null));
}

function drawPipelines() {
  drawFront();
  drawPipelineCycles();
}
