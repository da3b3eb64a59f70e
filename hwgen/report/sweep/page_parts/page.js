// Fills the page: choices, plots, tables.

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
