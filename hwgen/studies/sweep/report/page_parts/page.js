// Fills the page: choices, plots, tables.

function drawPlots() {
  document.getElementById("nothing").hidden = figures.length + pipelines.length > 0;
  drawRows();
  drawPipelines();
  drawAreas();
}

function draw() {
  drawPlots();
  drawTables();
}

function summarise() {
  document.getElementById("results-section").hidden = !data.rows.length;
  document.getElementById("pipelines-section").hidden = !data.pipelines.length;
  document.getElementById("curves").parentElement.hidden = !data.curves.length;
  const wrong = everything.filter((row) => !["ok", "predicted", "left out", "pending"].includes(row.status));
  const pending = everything.filter((row) => row.status === "pending").length;
  const simulated = everything.filter((row) => row.status === "ok").length;
  const scales = unique(data.rows.map((row) => row.scale)).sort(ascending);
  const summary = document.getElementById("summary");
  summary.textContent = `${everything.length} rows${simulated ? `; in ${simulated} every count measured in the RTL is the ` +
    "predicted one and the output is exact" : ", none simulated: what is shown is predicted"}. ` +
    (!scales.length ? "" : scales.join() === "1" ? "Layers at full size." : `SCALED layers: channels, rows and columns divided by ${scales.filter((one) => one > 1).join(" or ")}` +
      `${scales[0] === 1 ? ", beside layers at full size" : ""}.`);
  if (pending) make(summary, "strong", {}, ` Not finished: ${pending} rows are still to come.`);
  if (wrong.length) make(summary, "span", { class: "wrong" }, ` ${wrong.length} rows are not as they should be.`);
}

function start() {
  summarise();
  setUpDetail();
  setUpMarks(openMark);
  onChoice("traffic-what", "traffic", drawRows);
  onChoice("stalls-group", "bars", drawRows);
  onChoice("areas-design", "design", drawAreas);
  onChoice("engines-size", "engines", drawRows);
  const all = document.getElementById("all-columns");
  all.addEventListener("change", () => { keep("columns", all.checked ? "all" : "main", "main"); drawTables(); });
  document.getElementById("provenance").textContent = JSON.stringify(data.provenance, null, 1);
  document.getElementById("filter").open = window.innerWidth >= 640;
  const restore = () => {
    readAddress();
    all.checked = kept.get("columns") === "all";
    changed();
  };
  window.addEventListener("hashchange", restore);
  restore();
  let width = document.querySelector("main").clientWidth;
  new ResizeObserver(() => {
    const now = document.querySelector("main").clientWidth;
    if (now !== width) { width = now; drawPlots(); }
  }).observe(document.querySelector("main"));
}

start();
