// Which rows each chart draws, what its legend lists, and what a click on it opens.

function drawRows() {
  const of = (name) => figures.filter((row) => data.charts[name].kinds.includes(row.kind));
  const families = (rows) => ({ keys: unique(rows.map((row) => row.family)) });
  const draw = (name, rows, tables = {}, signals = families(rows)) => {
    document.getElementById(`${name}-section`).hidden = !rows.length;
    if (rows.length) drawChart(document.getElementById(name), name, { rows, ...tables }, signals);
  };
  for (const name of ["cycles", "pareto", "roofline", "cluster-roofline"]) if (data.charts[name]) draw(name, of(name));
  if (data.charts.traffic) {
    const rows = of("traffic");
    const layers = new Set(rows.map((row) => [row.set, row.scale, row.layer].join()));
    const curves = data.curves.filter((row) => layers.has([row.set, row.scale, row.layer].join()));
    const { keys } = families(rows);
    const names = { total: "I + W + O", I: "I", W: "W", O: "O" };
    const single = keys.length > 1 ? Object.entries(names) : [];
    const what = choices("traffic-what", "traffic", [["", [...single.slice(0, 1), ["each", "I, W, O and their sum"], ...single.slice(1)]]]);
    draw("traffic", rows, { curves }, { what, keys: what === "each" ? Object.values(names) : keys });
  }
  if (data.charts.dram) {
    const at = unique(of("dram").map((row) => row.tcdm_bytes)).length > 1 ? "tcdm_bytes" : "hwcs";
    draw("dram", of("dram"), {}, { at });
  }
  drawStalls();
  drawEngines();
}

// rows: with a name `bar`, a `note`, and `parts`
function drawBars(host, bars, share = false) {
  drawChart(host, "bars", { bars }, { share, keys: unique(bars.flatMap((row) => row.parts.map((part) => part.on))) });
}

function drawStalls() {
  const labels = unique(figures.map((row) => row.label));
  const names = unique(figures.map((row) => row.layer));
  const wanted = choices("stalls-group", "bars", [
    ["One configuration, its layers", labels.map((one) => [`of ${one}`, one])],
    ["One layer, all configurations", names.map((one) => [`layer ${one}`, one])],
  ]);
  const name = wanted.startsWith("layer ") ? "label" : "layer";
  const rows = figures.filter((row) => `of ${row.label}` === wanted || `layer ${row.layer}` === wanted)
    .map((row) => ({ ...row, bar: row[name], note: row.utilisation.toFixed(3) }));
  document.getElementById("stalls-section").hidden = !rows.length;
  if (rows.length) drawBars(document.getElementById("stalls"), rows, true);
}

function drawEngines() {
  const rows = figures.filter((row) => row.beside);
  const sizes = unique(rows.map((row) => row.buffer_bytes)).sort(ascending);
  const size = Number(choices("engines-size", "engines", [["", sizes.map((one) => [String(one), bytes(one)])]]));
  const several = unique(rows.map((row) => row.family)).length > 1;
  const bars = rows.filter((row) => row.buffer_bytes === size).map((row) => ({
    ...row, bar: several ? `${row.layer}, ${row.family}` : row.layer, note: row.beside[0].value.toFixed(2), parts: row.beside, engine: true }));
  document.getElementById("engines-section").hidden = !bars.length || !figures.some((row) => row.kind === "hwce");
  if (bars.length) drawBars(document.getElementById("engines"), bars);
}

// What a mark stands for: a run, a solution, a layer's row, or all layers of a configuration.
function openMark({ run, sizes, solution, label, layer, layers, engine }) {
  if (run) {
    const runs = data.runs.filter((one) => (sizes ? one.solution === solution : one.run === run)).map((one) => one.run);
    showSolution(runsOf(pipelines).filter(([first]) => runs.includes(first.run)));
  }
  if (!label) return;
  const one = layers === undefined;
  const rows = figures.filter((row) => row.label === label && (!one || row.layer === layer));
  const theirs = !engine ? [] : figures.filter((row) => row.kind === "hwce" &&
    ["set", "scale", "buffer_bytes", "layer"].every((name) => row[name] === rows[0][name]));
  showNest(one ? `${layer}, ${label}` : `${label}: ${layersText(rows)}`, [...theirs, ...rows]);
}
