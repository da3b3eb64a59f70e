"use strict";
// Plots as inline SVG, drawn at the width of the page and again when that changes.

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

function shortNumber(value) {
  if (value === 0) return "0";
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(value) >= size) return `${+(value / size).toPrecision(3)}${unit}`;
  }
  return `${+value.toPrecision(3)}`;
}

function bytes(size) {
  return size % 1024 === 0 ? `${size / 1024} KiB` : `${size} B`;
}

function ticksOf(low, high, log) {
  const found = [];
  if (log) {
    const decades = Math.log10(high / low);
    const steps = decades > 2.5 ? [1] : decades > 0.9 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
      for (const step of steps) found.push(step * 10 ** power);
    }
  } else {
    const raw = (high - low) / 5 || 1;
    const size = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((factor) => factor * size).find((one) => one >= raw);
    for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) found.push(tick);
  }
  return found.filter((tick) => tick >= low * 0.999999 && tick <= high * 1.000001);
}

function axisOf(values, wanted, from, to) {
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (wanted.log) {
    const room = Math.max(1.06, (high / low) ** 0.05);
    [low, high] = [low / room, high * room];
    const ratio = Math.log(high / low);
    return { low, high, at: (value) => from + ((to - from) * Math.log(value / low)) / ratio };
  }
  low = wanted.zero ? 0 : low - 0.06 * (high - low || Math.abs(high) || 1);
  high += 0.06 * (high - low || 1);
  return { low, high, at: (value) => from + ((to - from) * (value - low)) / (high - low) };
}

function legend(host, entries) {
  const list = make(host, "div", { class: "legend" });
  for (const [name, color] of entries) make(list, "span", { style: `--c: var(--${color})` }, name);
}

function pressable(element, action, label) {
  element.setAttribute("tabindex", "0");
  element.setAttribute("role", "button");
  make(element, "title", {}, label);
  element.addEventListener("click", action);
  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); action(); }
  });
}

// series: {name, color, line, dashed, thin, points: [{x, y, hollow, label, named, action}]}
function plot(host, spec) {
  host.replaceChildren();
  const all = spec.series.flatMap((series) => series.points);
  if (!all.length) { make(host, "p", {}, spec.empty || "Nothing to show."); return; }
  legend(host, spec.series.filter((series) => series.name).map((series) => [series.name, series.color]));
  const width = Math.max(280, host.clientWidth || 640);
  const height = Math.round(Math.min(440, Math.max(260, width * 0.55)));
  const box = { left: 58, right: width - 14, top: 12, bottom: height - 44 };
  const image = make(host, "svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": spec.title });
  const x = axisOf(all.map((point) => point.x), spec.x, box.left, box.right);
  const y = axisOf(all.map((point) => point.y), spec.y, box.bottom, box.top);
  let last = -100;
  for (const tick of spec.x.ticks || ticksOf(x.low, x.high, spec.x.log)) {
    if (x.at(tick) - last < 34) continue;
    last = x.at(tick);
    make(image, "line", { class: "grid", x1: last, x2: last, y1: box.top, y2: box.bottom });
    make(image, "text", { x: last, y: box.bottom + 16, "text-anchor": "middle", class: "soft" },
      (spec.x.format || shortNumber)(tick));
  }
  last = height + 100;
  for (const tick of ticksOf(y.low, y.high, spec.y.log)) {
    if (last - y.at(tick) < 16) continue;
    last = y.at(tick);
    make(image, "line", { class: "grid", x1: box.left, x2: box.right, y1: last, y2: last });
    make(image, "text", { x: box.left - 6, y: last + 4, "text-anchor": "end", class: "soft" }, shortNumber(tick));
  }
  make(image, "text", { x: (box.left + box.right) / 2, y: height - 8, "text-anchor": "middle" }, spec.x.label);
  make(image, "text", { transform: `translate(13 ${(box.top + box.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" },
    spec.y.label);
  for (const series of spec.series) {
    const style = `--c: var(--${series.color})`;
    if (series.line) {
      const path = series.points.map((p, i) => `${i ? "L" : "M"}${x.at(p.x).toFixed(1)} ${y.at(p.y).toFixed(1)}`);
      make(image, "path", { class: `curve${series.dashed ? " dashed" : ""}${series.thin ? " thin" : ""}`, d: path.join(" "), style });
    }
  }
  for (const series of spec.series) {
    for (const point of series.points.filter((one) => one.action)) {
      const circle = make(image, "circle", {
        class: `point${point.hollow ? " hollow" : ""}`, cx: x.at(point.x).toFixed(1), cy: y.at(point.y).toFixed(1),
        r: 6, style: `--c: var(--${series.color})`,
      });
      pressable(circle, point.action, point.label);
      if (point.named) {
        const left = x.at(point.x) > (box.left + box.right) / 2;
        make(image, "text", {
          x: x.at(point.x) + (left ? -10 : 10), y: y.at(point.y) - 8, "text-anchor": left ? "end" : "start",
        }, point.named);
      }
    }
  }
}

// rows: [{name, note, parts: [{value, color, label}], action}]; every bar from 0 to `most`
function bars(host, spec) {
  host.replaceChildren();
  if (!spec.rows.length) { make(host, "p", {}, spec.empty || "Nothing to show."); return; }
  if (spec.legend) legend(host, spec.legend);
  const width = Math.max(280, host.clientWidth || 640);
  const longest = Math.max(...spec.rows.map((row) => row.name.length));
  const left = Math.min(width * 0.36, 14 + 7 * longest);
  const right = width - 64;
  const height = 24 * spec.rows.length + 26;
  const image = make(host, "svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": spec.title });
  const at = (value) => left + ((right - left) * value) / spec.most;
  for (const tick of ticksOf(0, spec.most, false)) {
    make(image, "line", { class: "grid", x1: at(tick), x2: at(tick), y1: 0, y2: height - 20 });
    make(image, "text", { x: at(tick), y: height - 5, "text-anchor": "middle", class: "soft" }, spec.format(tick));
  }
  spec.rows.forEach((row, index) => {
    let from = 0;
    make(image, "text", { x: left - 6, y: 24 * index + 17, "text-anchor": "end" }, row.name);
    for (const part of row.parts) {
      const bar = make(image, "rect", {
        class: "bar", x: at(from), y: 24 * index + 4, height: 17,
        width: Math.max(0, at(from + part.value) - at(from)), style: `--c: var(--${part.color})`,
      });
      pressable(bar, row.action, `${row.name}: ${part.label}`);
      from += part.value;
    }
    make(image, "text", { x: right + 6, y: 24 * index + 17 }, row.note);
  });
}
