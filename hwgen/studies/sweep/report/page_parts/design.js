// What a click shows: a row's figures, a picture of its hardware, and its nest.

function showNest(title, rows) {
  const body = openDetail(title);
  if (rows.length > 1) showTogether(body, rows);
  for (const row of rows) {
    make(body, "h3", {}, `${row.layer}, ${row.label}`);
    drawDesign(make(body, "figure", { class: "design" }), row);
    const facts = [
      ["I + W + O, predicted", `${whole(row.total_bytes_predicted)} bytes`],
      ["I + W + O, measured", row.counted ? `${whole(row.total_bytes_measured)} bytes` : "not simulated"],
      ...(row.hwcs === null ? [["traffic / optimum", row.optimum_ratio.toFixed(3)], ["traffic / bound", row.bound_ratio.toFixed(3)]] : [
        ["DRAM, predicted", `${whole(row.dram_total_bytes_predicted)} bytes`],
        ["DRAM, measured", row.counted ? `${whole(row.dram_total_bytes_measured)} bytes` : "not simulated"],
        ["traffic / bound", `${row.bound_ratio.toFixed(3)}, at the DRAM`],
        ["TCDM taken", `${whole(row.tcdm_taken_bytes)} of ${whole(row.tcdm_bytes)} bytes`],
      ]),
      ["cycles", `${whole(row.cycles)} ${row.cycles_measured === null ? "predicted" : "measured"}`],
      ["utilisation", `${row.utilisation.toFixed(3)}: ${(row.macs / row.cycles).toFixed(2)} MACs a cycle`],
      ...(row.energy_predicted ? [["energy, in pJ unless the hardware's file has another unit",
        row.energy_measured ? `${whole(Math.round(row.energy_measured))}, from what was measured` :
          `${whole(Math.round(row.energy_predicted))}, predicted`]] : []),
      ...choiceFacts([row]),
      ["lanes", row.lanes === "auto" ? `${row.hardware_lanes}, the best of all shapes` : `${row.hardware_lanes}, asked for`],
      ["loop order", row.hardware_order],
    ];
    if (row.luts !== null) facts.push([isCluster(row) ? "ECP5, all of the cluster" : "ECP5", `${whole(row.luts)} LUT4, ` +
      `${row.lut_rams + row.buffer_lut_rams} LUT RAMs, ${row.block_rams + row.buffer_block_rams} block RAMs, ` +
      `${row.dsps} DSPs, ${row.clock_mhz} MHz${isCluster(row) ? " (one HWC alone)" : ""}; ${row.critical_path}`]);
    if (row.scale > 1) facts.push(["SCALED", `channels, rows and columns divided by ${row.scale}`]);
    if (row.schedule) facts.push(["schedule", row.schedule]);
    factTable(body, facts);
    if (row.design && blocksOf(row.design).length) drawBlocks(make(body, "div", { class: "pair" }), row.design, 8);
    make(body, "pre", { class: "nest", tabindex: "0" }, row.nest);
  }
}

// What all layers of a point cost together, and how they were chosen: that is what was weighed for one HWC.
function showTogether(host, rows) {
  const on = rows[0].hwcs === null ? "total_moved" : "dram_total_moved";
  make(host, "h3", {}, `${layersText(rows)} together`);
  factTable(host, [
    [rows[0].hwcs === null ? "I + W + O" : "DRAM", `${whole(sumOf(rows, (row) => row[on]))} bytes`],
    ["cycles", whole(sumOf(rows, (row) => row.cycles))],
    ...choiceFacts(rows),
  ]);
}

// How rows of one configuration were chosen, and what both ends would be, by the model, beside the choice.
function choiceFacts(rows) {
  const [{ objective, traffic_slack: slack, hwcs, configuration }] = rows;
  const where = `${hwcs === null ? "" : " at the DRAM"}${configuration === "shared" ? ", of all layers together" : ""}`;
  if (objective === null || rows.some((row) => row.objective !== objective)) return [];
  if (objective !== "balanced") return [["chosen for", `the least traffic${where}`]];
  const facts = [["chosen for", `the fewest cycles within ${percent(slack)} of the least traffic${where}`]];
  const predicted = hwcs === null ? "total_bytes_predicted" : "dram_total_bytes_predicted";
  const [ours, took] = [predicted, "cycles_predicted"].map((name) => sumOf(rows, (row) => row[name]));
  const beside = (value, than) => {
    const share = value / than - 1;
    return Math.abs(share) < 0.0005 ? "the same" : `${share > 0 ? "+" : "−"}${percent(Math.abs(share))}`;
  };
  for (const [name, moves, takes] of [["least traffic", "least_traffic_bytes", "least_traffic_cycles"], ["fewest cycles found", "fewest_cycles_bytes", "fewest_cycles"]]) {
    if (rows.some((row) => row[moves] === null)) continue;
    const [there, spent] = [moves, takes].map((column) => sumOf(rows, (row) => row[column]));
    const inTime = rows.some((row) => row[takes] === null) ? "" : ` in ${whole(spent)} cycles (${beside(spent, took)})`;
    facts.push([name, `${whole(there)} bytes (${beside(there, ours)})${inTime}`]);
  }
  return facts;
}

// Memories of the HWC with what the schedule needs of them, the lanes with their mean work, and the bytes between.
function drawDesign(host, row) {
  const lanes = Object.fromEntries([...row.hardware_lanes.matchAll(/([a-z])(\d+)/g)].map(([, dim, n]) => [dim, Number(n)]));
  const total = row.lane_count;
  const columns = (lanes.x || 1) * (lanes.y || 1) * (lanes.k || 1) * (lanes.l || 1);
  const lines = total / columns;
  const image = make(host, "svg", { viewBox: "0 0 480 214", role: "img", "aria-label":
    `HWC with lanes ${row.hardware_lanes}, buffers of ${row.input_buffer_bytes}, ${row.weight_buffer_bytes} and ${row.output_buffer_bytes} bytes` });
  const text = (x, y, words, more = {}) => make(image, "text", { x, y, ...more }, words);
  const cluster = isCluster(row);
  make(image, "rect", { class: "box", x: 1, y: 8, width: 62, height: 198, rx: 4 });
  text(32, 100, cluster ? "TCDM" : "shared", { "text-anchor": "middle" });
  text(32, 116, cluster ? bytes(row.tcdm_bytes) : "memory", { "text-anchor": "middle", class: cluster ? "soft" : null });
  make(image, "rect", { class: "box", x: 128, y: 8, width: 350, height: 198, rx: 4 });
  text(470, 24, cluster ? `${row.hwcs} HWCs like this` : "HWC", { "text-anchor": "end", class: "soft" });
  const memories = [["I", "input"], ["W", "weight"], ["O", "output"]];
  const largest = Math.max(1, ...memories.map(([, name]) => row[`${name}_buffer_bytes`]));
  memories.forEach(([operand, name], index) => {
    const [size, need] = [row[`${name}_buffer_bytes`], row[`${name}_need_bytes`] ?? 0];
    const y = 38 + 56 * index;
    const width = size ? Math.max(6, (104 * size) / largest) : 0;
    const style = `--c: var(--${operand})`;
    text(144, y - 5, `${operand}  ${bytes(size)}`);
    make(image, "rect", { class: "memory", x: 144, y, width, height: 20, style });
    make(image, "rect", { class: "bar", x: 144, y, width: size ? (width * Math.min(need, size)) / size : 0, height: 20, style });
    if (need) text(144, y + 34, `${whole(need)} B used`, { class: "soft" });
    const out = operand === "O";
    make(image, "path", { class: "curve", style, d: out ? `M140 ${y + 10}H70` : `M66 ${y + 10}H136` });
    make(image, "path", { class: "mark", style, d: out ? `M66 ${y + 10}l9 -5v10Z` : `M140 ${y + 10}l-9 -5v10Z` });
    text(96, y + 4, shortNumber(row[`${operand}_moved`]), { "text-anchor": "middle" });
    text(96, y + 24, "bytes", { "text-anchor": "middle", class: "soft" });
    make(image, "path", { class: "curve thin", style, d: out ? `M294 112H272V${y + 10}H${146 + width}` : `M${146 + width} ${y + 10}H272V112H294` });
  });
  const cell = Math.min(22, 164 / columns, 116 / lines);
  const [left, top] = [300, 112 - (cell * lines) / 2];
  const busy = row.utilisation * total;
  for (let i = 0; i < total; i += 1) {
    const place = { x: left + cell * (i % columns), y: top + cell * Math.floor(i / columns), width: cell - 1.5, height: cell - 1.5, rx: 1 };
    make(image, "rect", { class: "lane", ...place });
    const part = Math.min(1, Math.max(0, busy - i));
    if (part) make(image, "rect", { class: "lane busy", ...place, width: place.width * part });
  }
  text(300, top - 10, `${total} lanes: ${row.hardware_lanes}`);
  text(300, top + cell * lines + 16, `${busy.toFixed(1)} at work on average`, { class: "soft" });
}
