// Tables that sort by any column and can be downloaded; the first column and the header stay in sight.

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

function headed(cell, name) {
  const button = make(cell, "button", { type: "button" });
  name.split("_").forEach((word, i) => {
    if (i) { button.append("_"); make(button, "wbr"); }
    button.append(word);
  });
  return button;
}

// sorted: a column's name, with "-" before it from the largest down; kept under `name` in the address
function drawTable(host, name, columns, shownColumns, rows, opens) {
  const place = host.querySelector(".scroll")?.scrollLeft ?? 0;
  host.replaceChildren();
  const tools = make(host, "p", { class: "download" });
  const names = columns.map((column) => column.name);
  make(tools, "button", { type: "button" }, "Download CSV").addEventListener("click", () => save(`${name}.csv`, "text/csv", csvOf(names, rows)));
  make(tools, "button", { type: "button" }, "Download JSON").addEventListener("click", () => save(`${name}.json`, "application/json", JSON.stringify(rows.map((row) => Object.fromEntries(names.map((one) => [one, row[one]]))), null, 1)));
  const scroll = make(host, "div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `table of ${name}` });
  const table = make(scroll, "table");
  const head = make(make(table, "thead"), "tr");
  const body = make(table, "tbody");
  const fill = () => {
    const wanted = kept.get(`sort-${name}`) || "";
    const [by, up] = [wanted.replace(/^-/, ""), !wanted.startsWith("-")];
    for (const cell of head.children) {
      if (cell.dataset.name === by) cell.setAttribute("aria-sort", up ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    }
    const order = [...rows];
    if (names.includes(by)) {
      order.sort((a, b) => {
        const [x, y] = [a[by], b[by]];
        if (x === null || y === null) return (x === null) - (y === null);
        const way = typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y;
        return up ? way : -way;
      });
    }
    body.replaceChildren();
    for (const row of order) {
      const line = make(body, "tr");
      const open = opens(row); // what a click on it does, if anything
      shownColumns.forEach((column, index) => {
        const value = row[column.name];
        const number = typeof value === "number";
        const text = value === null || value === undefined ? "" : !number ? String(value)
          : column.kind === "number" && !column.unit ? value.toFixed(3) : whole(value);
        const cell = make(line, index ? "td" : "th", { class: number ? "number" : null, scope: index ? null : "row" });
        if (!index && open) make(cell, "button", { type: "button", class: "open" }, text);
        else cell.textContent = text;
      });
      if (open) {
        line.setAttribute("data-row", "");
        line.addEventListener("click", open);
      }
    }
  };
  for (const column of shownColumns) {
    const cell = make(head, "th", { scope: "col", "data-name": column.name, title: [column.meaning, column.unit].filter(Boolean).join(", ") });
    headed(cell, column.label ?? column.name).addEventListener("click", () => {
      const way = kept.get(`sort-${name}`) === column.name ? `-${column.name}` : column.name;
      keep(`sort-${name}`, way);
      fill();
    });
  }
  fill();
  scroll.scrollLeft = place;
}
