// Area by block of what was synthesised: cells of an ECP5 beside gates of no technology, as bars and as a table.

const AREA_SUMS = ["lut4_equivalents", "luts", "ffs", "dsps", "lut_rams", "block_rams", "gates", "flip_flops", "memory_bits"];
const blocksOf = (design) => data.areas.filter((row) => row.design === design);
const kindNames = { hwc: "HWC", cluster: "cluster", pipeline: "pipeline" };

// What a design is called: the rows that run on it.
function designName(design) {
  const rows = everything.filter((row) => row.design === design);
  const [first] = rows;
  const kind = kindNames[blocksOf(design)[0].kind];
  if (isPipeline(first)) return `${kind}: ${first.network}, ${first.stack}, ${first.multipliers} multipliers`;
  return `${kind}: ${first.label}, ${layersText(rows)}`;
}

// Two pictures of the same blocks, from the largest down.
function drawBlocks(host, design, few = Infinity) {
  host.replaceChildren();
  const rows = blocksOf(design);
  const parts = [["lut4_equivalents", "LUT4-equivalents", "on an ECP5"],
    ["gates", "NAND gates", "of two inputs, of no technology, without memories"]].map((one) => [make(host, "div"), ...one]);
  for (const [part, column, unit, more] of parts) { // both have their width before either is drawn
    make(part, "h3", {}, `${unit} ${more}: ${whole(sumOf(rows, (row) => row[column]))}`);
    const sorted = [...rows].sort((a, b) => b[column] - a[column]).filter((row) => row[column]).slice(0, few);
    drawBars(make(part, "figure", { class: "plot" }), sorted.map((row) => (
      { bar: row.block, note: shortNumber(row[column]), parts: [{ on: unit, value: row[column], text: `${whole(row[column])} ${unit}` }] })));
  }
}

// The designs of what is chosen, one of them in full.
function drawAreas() {
  const designs = unique([...shown, ...pipelines].map((row) => row.design)).filter((one) => one && blocksOf(one).length);
  document.getElementById("areas-section").hidden = !designs.length;
  if (!designs.length) return;
  const design = choices("areas-design", "design", [["", designs.map((one) => [one, designName(one)])]]);
  const row = everything.find((one) => one.design === design);
  document.getElementById("areas-clock").textContent = `${designName(design)}. ` + (row.clock_mhz === null ? "" :
    `${row.clock_mhz.toFixed(1)} MHz${isCluster(row) ? ", one of its HWCs placed alone" : ", placed and routed"}; ${row.critical_path}.`);
  drawBlocks(document.getElementById("areas-plot"), design);
  const blocks = blocksOf(design);
  const together = { block: "together", ...Object.fromEntries(AREA_SUMS.map((name) => [name, sumOf(blocks, (one) => one[name])])) };
  const columns = data.area_columns.filter(({ name }) => name === "block" || AREA_SUMS.includes(name));
  drawTable(document.getElementById("areas"), "areas", columns, columns, [...blocks, together], () => null);
}
