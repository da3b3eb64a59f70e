"use strict";
// Charts as Vega draws them, at the width of their place; and what the page says at the pointer.

const SVG = "http://www.w3.org/2000/svg";

function make(parent, tag, attributes = {}, text) {
  const element = parent.namespaceURI === SVG || tag === "svg"
    ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) element.setAttribute(name, value);
  }
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

const unique = (values) => [...new Set(values)];
const whole = (number) => number.toLocaleString("en");
const ascending = (a, b) => a - b;
const sumOf = (rows, value) => rows.reduce((sum, row) => sum + value(row), 0);
const percent = (share) => `${Number((100 * share).toPrecision(3))} %`;

const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const shortNumber = (value) => short.format(value).toLowerCase();
const bytes = (size) => (size % 1024 === 0 ? `${size / 1024} KiB` : `${size} B`);

// Names beside points, as many as find a place that no other name and no point has: Vega-Lite does not offer it. Those
// that find none are told below the chart.
function withPlacedNames(spec) {
  for (const mark of spec.marks.filter(({ name }) => name === "name_marks")) {
    mark.transform = [{ type: "label", size: { signal: "[width, height]" }, avoidMarks: ["point_marks"], offset: [8],
      anchor: ["top-right", "top-left", "right", "left", "bottom-right", "bottom-left", "top", "bottom"] }];
    for (const one of ["align", "baseline", "dx"]) delete mark.encode.update[one];
  }
  return spec;
}

const MOST_LEFT_OUT = 20;

function tellLeftOut(host) {
  const drawn = [...host.querySelectorAll(".name_marks > text")];
  const found = unique(drawn.filter((one) => one.getAttribute("opacity") === "0").map((one) => one.textContent));
  const more = found.length > MOST_LEFT_OUT ? ` and ${found.length - MOST_LEFT_OUT} more` : "";
  const caption = host.querySelector("figcaption") ?? make(host, "figcaption");
  caption.hidden = !found.length;
  caption.textContent = `No room for a name: ${found.slice(0, MOST_LEFT_OUT).join(", ")}${more}.`;
}

const OPTIONS = { mode: "vega", renderer: "svg", actions: false, logLevel: 1, tooltip: false, defaultStyle: false, patch: withPlacedNames };
const views = new WeakMap(); // for each place the view that will be there

// tables: rows by the chart's name for them; signals: such as what its legend lists
function drawChart(host, name, tables, signals = {}) {
  const draw = async (before) => {
    const view = await before ?? (await vegaEmbed(host, structuredClone(data.charts[name].chart), OPTIONS)).view;
    for (const [table, rows] of Object.entries(tables)) view.data(table, rows.map((row) => ({ ...row }))); // Vega adds to them
    for (const [signal, value] of Object.entries(signals)) view.signal(signal, value);
    const width = Math.max(260, host.clientWidth || 640);
    view.width(width).signal("room", width);
    if (name !== "bars") view.height(Math.round(Math.min(400, Math.max(230, width * 0.45))));
    await view.runAsync();
    tellLeftOut(host);
    for (const mark of host.querySelectorAll(MARKS)) {
      mark.setAttribute("tabindex", "0");
      mark.setAttribute("role", "button");
      mark.setAttribute("aria-label", mark.__data__.datum.text.replaceAll("\n", ", "));
    }
    return view;
  };
  views.set(host, draw(views.get(host)));
}

// --- a label at the pointer, or at what has the focus, and what a click does ---

const MARKS = ".point_marks > path, .bar_marks > path";

function tell(text, at) {
  const tip = document.getElementById("tip");
  tip.hidden = !text;
  if (!text) return;
  tip.replaceChildren();
  text.split("\n").forEach((line, i) => make(tip, i ? "div" : "strong", {}, line));
  const width = document.documentElement.clientWidth;
  const left = Math.min(Math.max(8, at.x + 14), width - tip.offsetWidth - 8);
  const above = at.y - tip.offsetHeight - 12;
  tip.style.left = `${left}px`;
  tip.style.top = `${above > 8 ? above : at.y + 18}px`;
}

function setUpMarks(open) {
  const on = (event, act) => document.addEventListener(event, (happened) => {
    const mark = happened.target instanceof Element ? happened.target.closest(MARKS) : null;
    if (mark) act(mark.__data__.datum, happened, mark);
  }, true);
  const pressed = (datum) => { tell(""); open(datum); };
  on("click", pressed);
  on("keydown", (datum, event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pressed(datum); }
  });
  on("pointermove", (datum, event) => tell(datum.text, event));
  on("focus", (datum, event, mark) => {
    const box = mark.getBoundingClientRect();
    if (mark.matches(":focus-visible")) tell(datum.text, { x: box.right, y: box.top });
  });
  for (const event of ["pointerout", "blur"]) on(event, () => tell(""));
}
