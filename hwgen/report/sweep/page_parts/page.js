// What is on the page: the plots of the sweep's rows, their nests, and the tables.

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
// What the cycles go on: the column, what it is called, its colour.
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

function show(title, rows) {
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

function told(row) {
  return `${row.layer}, ${row.label}: ${whole(traffic(row))} bytes ${measured(row) ? "measured" : "predicted"}`;
}

// --- plots ---

function drawTraffic() {
  const layer = document.getElementById("traffic-layer").value;
  const wanted = layer ? [layer] : layers;
  const sumOf = (rows, value) => rows.reduce((sum, row) => sum + value(row), 0);
  const gather = (rows, key) => {
    const groups = new Map();
    for (const row of rows.filter((one) => wanted.includes(one.layer))) {
      groups.set(key(row), [...(groups.get(key(row)) || []), row]);
    }
    return [...groups.values()].filter((group) => unique(group.map((row) => row.layer)).length === wanted.length);
  };
  const curves = gather(data.curves, (row) => row.buffer_bytes);
  const points = gather(blocks, (row) => row.label);
  // Configurations that differ in their buffers alone, by size: a line each.
  const kindOf = ([row]) => [row.configuration, row.lanes, row.order].join();
  const families = unique(points.map(kindOf)).map((kind) => points.filter((rows) => kindOf(rows) === kind)
    .sort(([a], [b]) => a.buffer_bytes - b.buffer_bytes));
  const what = { I: (row) => moved(row, "I"), W: (row) => moved(row, "W"), O: (row) => moved(row, "O"), total: traffic };
  const series = [];
  for (const [operand, value] of Object.entries(what)) {
    const name = operand === "total" ? "I + W + O" : operand;
    series.push({
      name, color: operand, line: true, thin: true,
      points: curves.map((rows) => ({ x: rows[0].buffer_bytes, y: sumOf(rows, (row) => row[`${operand}_bytes`]) })),
    });
    for (const family of families) {
      series.push({
        color: operand, line: true,
        points: family.map((rows) => ({ x: rows[0].buffer_bytes, y: sumOf(rows, (row) => predicted(row, operand)) })),
      });
    }
    series.push({
      color: operand,
      points: points.map((rows) => ({
        x: rows[0].buffer_bytes, y: sumOf(rows, value), hollow: !rows.every(measured),
        label: `${rows[0].label}, ${layer || "all layers"}, ${name}: ${whole(sumOf(rows, value))} bytes ` +
          (rows.every(measured) ? "measured" : "predicted"),
        action: () => show(`${rows[0].label}: ${layer || "all layers"}`, rows),
      })),
    });
  }
  series.push({
    name: "lower bound", color: "bound", line: true, dashed: true,
    points: curves.map((rows) => ({ x: rows[0].buffer_bytes, y: sumOf(rows, (row) => row.bound_bytes) })),
  });
  for (const one of series) one.points = one.points.filter((point) => point.y > 0);
  plot(document.getElementById("traffic"), {
    title: "Traffic against buffer size", series: series.filter((one) => one.points.length || one.name),
    x: { label: "local buffers", log: true, format: bytes,
      ticks: unique([...data.curves, ...blocks].map((row) => row.buffer_bytes)).filter((b) => Number.isInteger(Math.log2(b))).sort((a, b) => a - b) },
    y: { label: "bytes", log: true },
  });
}

function drawStalls() {
  const label = document.getElementById("stalls-group").value;
  const rows = known.filter((row) => row.label === label);
  const causes = rows.some((row) => row.hwcs !== null) ? CLUSTER_CAUSES : CAUSES;
  bars(document.getElementById("stalls"), {
    title: "Cycles by what they are spent on", most: 1, format: (tick) => `${Math.round(tick * 100)} %`,
    legend: [["computing, start and end", "compute"], ...causes.map(([, name, color]) => [name, color])],
    rows: rows.map((row) => {
      const all = cycles(row);
      const parts = causes.map(([cause, name, color]) => ({ value: stall(row, cause) / all, color,
        label: `${whole(stall(row, cause))} of ${whole(all)} cycles ${name}` }));
      const rest = 1 - parts.reduce((sum, part) => sum + part.value, 0);
      parts.unshift({ value: rest, color: "compute", label: `${(100 * rest).toFixed(1)} % computing, start and end` });
      return { name: row.layer, note: row.utilisation.toFixed(3), parts, action: () => show(row.layer, [row]) };
    }),
  });
}

function drawRoofline() {
  const points = [...blocks, ...engines].map((row) => ({
    x: row.macs / traffic(row), y: row.macs / cycles(row), hollow: !measured(row), row,
    label: `${told(row)}, ${(row.macs / cycles(row)).toFixed(2)} MACs a cycle`, action: () => show(row.layer, [row]),
  }));
  const xs = points.map((point) => point.x);
  const [low, high] = [Math.min(...xs, 0.6), Math.max(...xs, 4)];
  plot(document.getElementById("roofline"), {
    title: "Roofline",
    series: !points.length ? [] : [
      { name: "roof", color: "bound", line: true,
        points: [low, LANES / PORT_BYTES, high].map((x) => ({ x, y: Math.min(LANES, x * PORT_BYTES) })) },
      { name: "HWC", color: "total", points: points.filter((point) => point.row.configuration !== "hwce") },
      ...(engines.length ? [{ name: "HWCE", color: "mark",
        points: points.filter((point) => point.row.configuration === "hwce") }] : []),
    ],
    x: { label: "MACs for each byte moved", log: true },
    y: { label: "MACs a cycle", log: true },
  });
}

function drawPareto() {
  const placed = data.groups.filter((group) => group.area !== null && group.configuration !== "hwce");
  const byArea = placed.length > 0;
  document.getElementById("pareto-text").textContent = byArea
    ? "Logic and memories in gates (NANDs of two inputs, four transistors; six for a bit of memory) against the " +
      "traffic of all layers. The line joins the configurations that no other one beats in both."
    : "Nothing was synthesised: bytes of buffer stand for the area. The line joins what no other configuration beats.";
  const groups = byArea ? placed : data.groups.filter((group) => group.configuration !== "hwce");
  const area = (group) => (byArea ? group.area : group.buffer_bytes);
  const sorted = [...groups].sort((a, b) => area(a) - area(b) || a.traffic - b.traffic);
  const front = sorted.filter((group, index) => sorted.slice(0, index).every((one) => one.traffic > group.traffic));
  const points = (some) => some.map((group) => ({
    x: area(group), y: group.traffic, named: front.includes(group) ? group.label : undefined,
    label: `${group.label}: ${whole(group.traffic)} bytes`,
    action: () => show(group.label, known.filter((row) => row.label === group.label)),
  }));
  plot(document.getElementById("pareto"), {
    title: "Area against traffic",
    series: [
      { name: "no other one beats it", color: "mark", line: true, points: points(front) },
      { name: "beaten", color: "bound", points: points(groups.filter((group) => !front.includes(group))) },
    ],
    x: byArea ? { label: "gates" } : { label: "local buffers", log: true, format: bytes,
      ticks: unique(groups.map((group) => group.buffer_bytes)).sort((a, b) => a - b) },
    y: { label: "bytes, all layers" },
  });
}

// --- clusters ---

function drawDram() {
  const layer = document.getElementById("dram-layer").value;
  const rows = clusters.filter((row) => !layer || row.layer === layer);
  const wanted = layer ? 1 : unique(clusters.map((row) => row.layer)).length;
  const points = unique(rows.map((row) => row.label)).map((label) => rows.filter((row) => row.label === label))
    .filter((group) => group.length === wanted);
  const byTcdm = unique(clusters.map((row) => row.tcdm_bytes)).length > 1;
  const at = ([row]) => (byTcdm ? row.tcdm_bytes : row.hwcs);
  // Configurations that differ in that alone, in its order: a line each.
  const kindOf = ([row]) => [row.buffer_bytes, row.lanes, row.order, byTcdm ? row.hwcs : row.tcdm_bytes].join();
  const families = unique(points.map(kindOf)).map((kind) => points.filter((group) => kindOf(group) === kind)
    .sort((a, b) => at(a) - at(b)));
  const sumOf = (group, value) => group.reduce((sum, row) => sum + value(row), 0);
  const bytesOf = (row, operand, source) => OPERANDS[operand]
    .reduce((sum, direction) => sum + row[`dram_${operand}_${direction}_bytes_${source}`], 0);
  const what = {
    I: ["I", (row, source) => bytesOf(row, "I", source)],
    W: ["W", (row, source) => bytesOf(row, "W", source)],
    O: ["O", (row, source) => bytesOf(row, "O", source)],
    total: ["I + W + O", (row, source) => row[`dram_total_bytes_${source}`]],
    mark: ["I + W + O at the TCDM", (row, source) => row[`total_bytes_${source}`]],
  };
  const series = [];
  for (const [color, [name, value]] of Object.entries(what)) {
    for (const [index, family] of families.entries()) {
      series.push({
        name: index ? undefined : name, color, line: true,
        points: family.map((group) => ({ x: at(group), y: sumOf(group, (row) => value(row, "predicted")) })),
      });
    }
    series.push({
      color,
      points: points.map((group) => {
        const counted = group.every(measured);
        const sum = sumOf(group, (row) => value(row, measured(row) ? "measured" : "predicted"));
        return {
          x: at(group), y: sum, hollow: !counted, action: () => show(`${group[0].label}: ${layer || "all layers"}`, group),
          label: `${group[0].label}, ${layer || "all layers"}, ${name}: ${whole(sum)} bytes ${counted ? "measured" : "predicted"}`,
        };
      }),
    });
  }
  for (const [index, family] of families.entries()) {
    series.push({
      name: index ? undefined : "lower bound", color: "bound", line: true, dashed: true,
      points: family.map((group) => ({ x: at(group), y: sumOf(group, (row) => row.bound_bytes) })),
    });
  }
  for (const one of series) one.points = one.points.filter((point) => point.y > 0);
  plot(document.getElementById("dram"), {
    title: "Traffic of clusters", series: series.filter((one) => one.points.length),
    x: { label: byTcdm ? "shared memory" : "HWCs", log: true, format: byTcdm ? bytes : shortNumber,
      ticks: unique(points.map(at)).sort((a, b) => a - b) },
    y: { label: "bytes", log: true },
  });
}

function drawClusterRoofline() {
  const points = clusters.map((row) => ({
    x: row.macs / (row.dram_total_bytes_measured ?? row.dram_total_bytes_predicted), y: row.macs / cycles(row),
    hollow: !measured(row), row, action: () => show(row.layer, [row]),
    label: `${row.layer}, ${row.label}: ${(row.macs / cycles(row)).toFixed(2)} MACs a cycle`,
  }));
  const xs = points.map((point) => point.x);
  const roofs = unique(clusters.map((row) => [row.hwcs, row.axi_bits / 8].join())).map((kind) => kind.split(",").map(Number));
  const [low, high] = [Math.min(...xs, 1), Math.max(...xs, 16)];
  plot(document.getElementById("cluster-roofline"), {
    title: "Roofline of clusters",
    series: !points.length ? [] : [
      ...roofs.map(([hwcs, port], index) => ({
        name: index ? undefined : "roof", color: "bound", line: true,
        points: unique([low, (LANES * hwcs) / port, Math.max(high, (LANES * hwcs) / port)])
          .map((x) => ({ x, y: Math.min(LANES * hwcs, x * port) })),
      })),
      { name: "clusters", color: "total", points },
    ],
    x: { label: "MACs for each byte of DRAM", log: true },
    y: { label: "MACs a cycle", log: true },
  });
}

function drawEngines() {
  const size = Number(document.getElementById("engines-size").value);
  const pairs = engines.filter((row) => row.buffer_bytes === size)
    .map((theirs) => [theirs, blocks.find((row) => row.buffer_bytes === size && row.layer === theirs.layer)])
    .filter(([, ours]) => ours);
  const ratios = pairs.map(([theirs, ours]) => traffic(theirs) / traffic(ours));
  bars(document.getElementById("engines"), {
    title: "HWCE over HWC", most: Math.max(1, ...ratios) * 1.05, format: shortNumber,
    rows: pairs.map(([theirs, ours], index) => ({
      name: ours.layer, note: ratios[index].toFixed(2),
      parts: [{ value: ratios[index], color: "mark", label: `${whole(traffic(theirs))} over ${whole(traffic(ours))} bytes` }],
      action: () => show(ours.layer, [theirs, ours]),
    })),
  });
}

// --- tables ---

function save(name, kind, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function csvOf(columns, rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows.map((row) => columns.map((name) => row[name]))]
    .map((line) => line.map(cell).join(",")).join("\n") + "\n";
}

function drawTable(host, name, columns, shown, rows, opens) {
  host.replaceChildren();
  const tools = make(host, "p", { class: "download" });
  const names = columns.map((column) => column.name);
  make(tools, "button", {}, "Download CSV").addEventListener("click", () => save(`${name}.csv`, "text/csv", csvOf(names, rows)));
  make(tools, "button", {}, "Download JSON").addEventListener("click", () => save(`${name}.json`, "application/json", JSON.stringify(rows.map((row) => Object.fromEntries(names.map((one) => [one, row[one]]))), null, 1)));
  const table = make(host, "table");
  const head = make(make(table, "thead"), "tr");
  const body = make(table, "tbody");
  let sorted = { name: null, up: true };
  const fill = () => {
    const order = [...rows];
    if (sorted.name) {
      order.sort((a, b) => {
        const [x, y] = [a[sorted.name], b[sorted.name]];
        if (x === null || y === null) return (x === null) - (y === null);
        const way = typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y;
        return sorted.up ? way : -way;
      });
    }
    body.replaceChildren();
    for (const row of order) {
      const line = make(body, "tr");
      for (const column of shown) {
        const value = row[column.name];
        const number = typeof value === "number";
        make(line, "td", number ? { class: "number" } : {}, value === null || value === undefined ? "" : number ? whole(value) : String(value));
      }
      if (opens && row.nest) {
        line.setAttribute("data-row", "");
        line.addEventListener("click", () => show(row.layer, [row]));
      }
    }
  };
  for (const column of shown) {
    const cell = make(head, "th", { scope: "col", title: [column.meaning, column.unit].filter(Boolean).join(", ") });
    make(cell, "button", {}, column.name).addEventListener("click", () => {
      sorted = { name: column.name, up: sorted.name === column.name ? !sorted.up : true };
      for (const other of head.children) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", sorted.up ? "ascending" : "descending");
      fill();
    });
  }
  fill();
}

function drawTables() {
  const main = ["status", "configuration", "buffer_bytes", "lanes", "hwcs", "tcdm_bytes", "layer",
    "dram_total_bytes_predicted", "dram_total_bytes_measured", "total_bytes_predicted", "total_bytes_measured",
    "optimum_ratio", "bound_ratio", "cycles_measured", "utilisation", "luts", "dsps", "clock_mhz", "reason"];
  const all = document.getElementById("all-columns").checked;
  const filled = data.columns.filter(({ name }) => data.rows.some((row) => row[name] !== null));
  const shown = filled.filter(({ name }) => (all ? name !== "schedule" : main.includes(name)))
    .sort((a, b) => (all ? 0 : main.indexOf(a.name) - main.indexOf(b.name)));
  drawTable(document.getElementById("results"), "results", data.columns, shown, data.rows, true);
  drawTable(document.getElementById("curves"), "curves", data.curve_columns, data.curve_columns, data.curves, false);
  const described = ["name", "kind", "unit", "meaning"].map((name) => ({ name, meaning: "", unit: "" }));
  drawTable(document.getElementById("schema"), "schema", described, described, data.columns, false);
}

// --- the page ---

function choices(id, entries, redraw) {
  const select = document.getElementById(id);
  for (const [value, text] of entries) make(select, "option", { value }, text);
  select.addEventListener("change", redraw);
}

function drawPlots() {
  if (blocks.length) {
    for (const draw of [drawTraffic, drawPareto]) draw();
  }
  if (blocks.length || engines.length) drawRoofline();
  if (engines.length) drawEngines();
  if (clusters.length) {
    for (const draw of [drawDram, drawClusterRoofline]) draw();
  }
  drawStalls();
}

function start() {
  const wrong = data.rows.filter((row) => !["ok", "predicted", "left out", "pending"].includes(row.status));
  const pending = data.rows.filter((row) => row.status === "pending").length;
  const simulated = data.rows.filter((row) => row.status === "ok").length;
  const summary = document.getElementById("summary");
  summary.textContent = `${data.rows.length} rows; in ${simulated} every count measured in the RTL is the predicted one ` +
    `and the output is exact. ${data.provenance.scale === 1 ? "Layers at full size." : `SCALED layers: ${data.provenance.size}.`}`;
  if (pending) make(summary, "strong", {}, ` Not finished: ${pending} rows are still to come.`);
  if (wrong.length) make(summary, "span", { class: "wrong" }, ` ${wrong.length} rows are not as they should be.`);
  choices("traffic-layer", [...(layers.length > 1 ? [["", "all layers"]] : []), ...layers.map((one) => [one, one])], drawTraffic);
  choices("stalls-group", unique(known.map((row) => row.label)).map((one) => [one, one]), drawStalls);
  choices("engines-size", unique(engines.map((row) => row.buffer_bytes)).map((one) => [one, bytes(one)]), drawEngines);
  choices("dram-layer", [["", "all layers"], ...unique(clusters.map((row) => row.layer)).map((one) => [one, one])], drawDram);
  const sections = { traffic: blocks, pareto: blocks, roofline: [...blocks, ...engines], engines, clusters };
  for (const [name, rows] of Object.entries(sections)) document.getElementById(`${name}-section`).hidden = !rows.length;
  document.getElementById("all-columns").addEventListener("change", drawTables);
  document.getElementById("provenance").textContent = JSON.stringify(data.provenance, null, 1);
  drawPlots();
  drawTables();
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth !== width) { width = window.innerWidth; drawPlots(); }
  });
}

start();
