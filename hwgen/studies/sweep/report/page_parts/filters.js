// What is chosen: it acts on all plots and tables, and the address holds it.

const FILTERS = [
  { key: "set", name: "Layer set", of: (row) => row.set },
  { key: "kind", name: "Kind", of: (row) => row.configuration },
  { key: "layers", name: "Layers", of: (row) => row.layer },
  { key: "lanes", name: "Lanes", of: (row) => row.lanes },
  { key: "order", name: "Order", of: (row) => row.order },
  { key: "objective", name: "Objective", of: (row) => row.objective },
  { key: "slack", name: "Slack", of: (row) => row.traffic_slack, text: (share) => percent(share) },
  { key: "buffers", name: "Buffers", of: (row) => row.buffer_bytes, text: bytes },
  { key: "hwcs", name: "HWCs", of: (row) => (isPipeline(row) ? null : row.hwcs ?? "alone") },
  { key: "tcdm", name: "TCDM", of: (row) => row.tcdm_bytes, text: bytes },
  { key: "memory", name: "On chip", of: (row) => row.memory_bytes, text: bytes },
  { key: "multipliers", name: "Multipliers", of: (row) => row.multipliers },
  { key: "size", name: "Input", of: (row) => (isPipeline(row) ? `${row.input_width}x${row.input_height}` : null) },
  { key: "scale", name: "Scale", of: (row) => row.scale, text: (scale) => (scale === 1 ? "full" : `1/${scale}`) },
  { key: "seed", name: "Seed", of: (row) => row.seed },
];
const CHIPS = 8;
const chosen = new Map();
const kept = new Map(); // other choices that the address holds: its name, by the element's id
let [shown, figures, pipelines] = [[], [], []]; // figures: what is shown and has some
const everything = [...data.rows, ...data.pipelines];

for (const one of FILTERS) {
  const values = unique(everything.map(one.of)).filter((value) => value !== null && value !== undefined);
  one.values = values.every((value) => typeof value === "number") ? values.sort(ascending) : values;
  one.text ??= String;
}

// A row without a value, such as a lone HWC without a TCDM, is not chosen by it either way.
function passes(row, keys = FILTERS.map((one) => one.key)) {
  return FILTERS.every(({ key, of }) => {
    const value = of(row);
    return !keys.includes(key) || !chosen.has(key) || value === null || value === undefined || chosen.get(key).has(String(value));
  });
}

function choose() {
  shown = data.rows.filter((row) => passes(row));
  pipelines = data.pipelines.filter((row) => passes(row));
  figures = shown.filter((row) => row.total_bytes_predicted !== null);
}

// --- the address ---

function writeAddress() {
  const parts = [...chosen].map(([key, values]) => `${key}=${[...values].map(encodeURIComponent).join(",")}`);
  for (const [key, value] of kept) parts.push(`${key}=${encodeURIComponent(value)}`);
  const address = `#${parts.join("&")}`;
  document.getElementById("link").setAttribute("href", address);
  if (address !== (location.hash || "#")) history.replaceState(null, "", address);
}

function readAddress() {
  chosen.clear();
  kept.clear();
  for (const part of location.hash.slice(1).split("&").filter(Boolean)) {
    const [key, text = ""] = part.split("=");
    try {
      const filter = FILTERS.find((one) => one.key === key);
      const values = text.split(",").map(decodeURIComponent);
      const there = filter ? values.filter((value) => filter.values.map(String).includes(value)) : [];
      if (there.length) chosen.set(key, new Set(there));
      if (!filter) kept.set(key, values.join(","));
    } catch { /* not an address of ours */ }
  }
}

function keep(key, value, usual) {
  if (value === usual) kept.delete(key);
  else kept.set(key, value);
  writeAddress();
}

// --- the controls ---

function toggle({ key, values }, value) {
  const now = new Set(chosen.get(key));
  if (value === null) now.clear();
  else if (!now.delete(value)) now.add(value);
  if (now.size && now.size < values.length) chosen.set(key, now);
  else chosen.delete(key);
  changed();
}

function changed() {
  choose();
  writeAddress();
  drawFilters();
  draw();
}

function drawFilters() {
  const host = document.getElementById("filters");
  const focus = document.activeElement?.dataset?.chip;
  const open = [...host.querySelectorAll("details[open]")].map((one) => one.dataset.key);
  host.replaceChildren();
  const words = [];
  for (const filter of FILTERS.filter(({ values }) => values.length > 1)) {
    const { key, name, values, text } = filter;
    const now = chosen.get(key);
    if (now) words.push([...now].map((one) => text(typeof values[0] === "number" ? Number(one) || one : one)).join(", "));
    const many = values.length > CHIPS;
    const box = make(host, many ? "details" : "div", { class: "filter", role: "group", "aria-label": name, "data-key": key });
    box.open = open.includes(key);
    make(box, many ? "summary" : "span", { class: "filter-name" }, many ? `${name}: ${now ? `${now.size} of ${values.length}` : "all"}` : name);
    const chips = make(box, "span", { class: "chips" });
    for (const value of [null, ...values]) {
      const chip = make(chips, "button", {
        type: "button", class: "chip", "data-chip": `${key}=${value === null ? "" : value}`,
        "aria-pressed": String(value === null ? !now : Boolean(now?.has(String(value)))),
      }, value === null ? "all" : text(value));
      chip.addEventListener("click", () => toggle(filter, value === null ? null : String(value)));
    }
  }
  document.getElementById("filter").hidden = !host.children.length;
  document.getElementById("chosen").textContent = words.length ? words.join("; ") : "everything";
  const [number, all] = [shown.length + pipelines.length, everything.length];
  const some = number === all ? `${all} rows` : `${number} of ${all} rows`;
  document.getElementById("count").textContent = some;
  if (focus) host.querySelector(`[data-chip="${CSS.escape(focus)}"]`)?.focus();
}

// A select whose options may change; what is chosen stays where it can.
function choices(id, key, entries) {
  const select = document.getElementById(id);
  const wanted = kept.get(key) ?? select.value;
  select.replaceChildren();
  for (const [group, options] of entries) {
    const parent = group ? make(select, "optgroup", { label: group }) : select;
    for (const [value, text] of options) make(parent, "option", { value }, text);
  }
  const values = [...select.options].map((option) => option.value);
  if (values.includes(wanted)) select.value = wanted;
  select.parentElement.hidden = values.length < 2;
  return select.value;
}

function onChoice(id, key, redraw) {
  const select = document.getElementById(id);
  select.addEventListener("change", () => { keep(key, select.value, select.options[0]?.value); redraw(); });
}
