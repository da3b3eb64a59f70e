// Tables that sort by any column and can be downloaded.

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
        line.addEventListener("click", () => showNest(row.layer, [row]));
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
