// The page of a choice: the chart, the table, and what a click on a cluster shows.

const data = JSON.parse(document.getElementById("data").textContent);
const kept = new Map([["sort-clusters", "area"]]); // the column by which the table is sorted
const keep = (name, value) => kept.set(name, value);

function showCluster({ hardware }) {
  const row = data.rows.find((one) => one.hardware === hardware);
  const body = openDetail(`${row.hardware}${row.chosen ? ", chosen" : ""}`);
  drawCluster(make(body, "figure", { class: "design" }), row);
  factTable(body, [
    ["images a second", `${row.images_a_second.toFixed(1)} at ${row.mhz.toFixed(1)} MHz`],
    ["cycles in the RTL", row.measured === null ? `not run; about ${whole(row.expected)}` : whole(row.measured)],
    ["cycles planned", `${whole(row.cycles)}; bound ${whole(row.bound)}`],
    row.area_unit === "mm2" ? ["area, estimated", `${row.area.toFixed(3)} mm2`]
      : ["ECP5, estimated", `${whole(row.lut4)} LUT4, ${row.dsps} DSPs, ${row.brams} block RAMs, ${row.mhz_estimated.toFixed(1)} MHz`],
    [row.banks ? "DRAM" : "memory", `${whole(row.bytes)} bytes an image`],
    ["energy", `${(row.energy / 1e6).toFixed(2)} uJ an image`],
    ["on the host", `${row.host} nodes`],
  ]);
  make(body, "h3", {}, "Where the time goes, planned");
  drawNodes(body, row);
}

// A bar for each node: cycles that its multiply-accumulates take if all lanes work, then the rest.
function drawNodes(body, row) {
  const legend = make(body, "div", { class: "legend" });
  for (const [colour, name] of [["useful", "all lanes at work"], ["input", "the rest"], ["f1", "vector unit"]]) {
    const key = make(legend, "span");
    make(key, "i", { style: `--c: var(--${colour})` });
    key.append(name);
  }
  const lines = make(body, "div", { class: "lines" });
  const most = Math.max(...row.nodes.map(([, , cycles]) => cycles));
  for (const [name, kind, cycles, macs] of row.nodes) {
    const line = make(lines, "div", { class: "line" });
    const label = make(line, "span", { class: "layer", title: `${name}, ${kind}` });
    make(label, "b", {}, name.replace(/_QuantizeLinear_Output$/, ""));
    label.append(" ");
    make(label, "small", {}, kind);
    const track = make(line, "span", { class: "track" });
    const useful = Math.min(cycles, macs / row.multipliers);
    const bar = (colour, from, size) => size > 0 && make(track, "i", { style:
      `--c: var(--${colour}); left: ${(100 * from) / most}%; width: ${(100 * size) / most}%` });
    bar("useful", 0, useful);
    bar(macs ? "input" : "f1", useful, cycles - useful);
    make(line, "span", { class: "note" }, `${whole(cycles)}`);
  }
}

// DRAM, shared memory in banks, and what works on it: HWCs with their lanes and buffers, and the vector unit. Of an
// HWC alone the memory is its host's.
function drawCluster(host, row) {
  const image = make(host, "svg", { viewBox: "0 0 480 230", role: "img", "aria-label": row.text.replaceAll("\n", ", ") });
  const text = (x, y, words, more = {}) => make(image, "text", { x, y, ...more }, words);
  const box = (x, y, width, height, kind = "box") => make(image, "rect", { class: kind, x, y, width, height, rx: 4 });
  const alone = row.banks === 0;
  if (!alone) {
    box(1, 70, 54, 60);
    text(28, 104, "DRAM", { "text-anchor": "middle" });
    make(image, "path", { class: "curve", style: "--c: var(--bound)", d: "M55 100H92" });
    text(74, 92, `${row.axi_bits} bit`, { "text-anchor": "middle", class: "soft" });
    text(144, 214, `${row.banks} banks`, { "text-anchor": "middle", class: "soft" });
  }
  box(92, 8, 104, 214);
  text(144, 26, alone ? "memory" : "shared memory", { "text-anchor": "middle" });
  text(144, 42, alone ? "of the host" : bytes(row.tcdm_bytes), { "text-anchor": "middle", class: "soft" });
  const height = 150 / row.banks;
  for (let i = 0; i < row.banks; i += 1) {
    box(112, 50 + i * height, 64, height * 0.8, "lane");
  }
  const units = row.hwcs + (row.vector_elements ? 1 : 0);
  const each = 222 / units;
  for (let i = 0; i < units; i += 1) {
    const y = 4 + i * each;
    make(image, "path", { class: "curve", style: "--c: var(--bound)", d: `M196 ${y + each / 2}H226` });
    box(226, y + 2, 252, each - 4);
    if (i === row.hwcs) {
      text(238, y + each / 2 + 4, `vector unit, ${row.vector_elements} element${row.vector_elements > 1 ? "s" : ""} a cycle`);
      continue;
    }
    text(238, y + each / 2 - 4, `HWC: ${row.lanes_m * row.lanes_c} lanes`);
    text(238, y + each / 2 + 12, `${row.lanes_m} x ${row.lanes_c}: m, c`, { class: "soft" });
    const cell = Math.min(7, 96 / row.lanes_c, (each - 12) / row.lanes_m);
    for (let lane = 0; lane < row.lanes_m * row.lanes_c; lane += 1) {
      const [down, along] = [Math.floor(lane / row.lanes_c), lane % row.lanes_c];
      make(image, "rect", { class: "lane busy", x: 372 + along * cell, y: y + each / 2 + (down - row.lanes_m / 2) * cell, width: cell * 0.8, height: cell * 0.8 });
    }
  }
  make(host, "figcaption", {}, `Buffers of each HWC: I ${bytes(row.I_buffer)}, W ${bytes(row.W_buffer)}, O ${bytes(row.O_buffer)}; ports of ${row.port_bits} bits.`);
}

function drawFront() {
  drawChart(document.getElementById("front"), "front", { rows: data.rows, cloud: data.cloud, asked: data.asked });
}

setUpDetail();
setUpMarks(showCluster);
drawTable(document.getElementById("clusters"), "clusters", data.columns, data.columns, data.rows, (row) => () => showCluster(row));
drawFront();
let width = document.querySelector("main").clientWidth;
new ResizeObserver(() => {
  const now = document.querySelector("main").clientWidth;
  if (now !== width) { width = now; drawFront(); }
}).observe(document.querySelector("main"));
