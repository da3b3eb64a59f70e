"use strict";
// Plots as inline SVG, drawn at the width of their place and again when that changes.

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

// --- marks: a colour and a shape each, so that they are told apart without colours too ---

const SHAPES = ["circle", "square", "triangle", "diamond", "down", "plus", "star", "hexagon"];

function polygon(x, y, corners) {
  return `M${corners.map(([a, b]) => `${(x + a).toFixed(1)} ${(y + b).toFixed(1)}`).join("L")}Z`;
}

function around(radii, turn) {
  return radii.map((radius, i) => {
    const angle = (2 * Math.PI * i) / radii.length + turn;
    return [radius * Math.sin(angle), -radius * Math.cos(angle)];
  });
}

function shapePath(shape, x, y, r = 6) {
  const t = 0.4 * r;
  switch (shape) {
    case "square": return polygon(x, y, around([1.25 * r, 1.25 * r, 1.25 * r, 1.25 * r], Math.PI / 4));
    case "triangle": return polygon(x, y + 0.15 * r, around([1.3 * r, 1.3 * r, 1.3 * r], 0));
    case "down": return polygon(x, y - 0.15 * r, around([1.3 * r, 1.3 * r, 1.3 * r], Math.PI));
    case "diamond": return polygon(x, y, around([1.3 * r, 1.3 * r, 1.3 * r, 1.3 * r], 0));
    case "plus": return polygon(x, y, [[-t, -r], [t, -r], [t, -t], [r, -t], [r, t], [t, t], [t, r], [-t, r], [-t, t],
      [-r, t], [-r, -t], [-t, -t]].map(([a, b]) => [1.15 * a, 1.15 * b]));
    case "star": return polygon(x, y, around(Array.from({ length: 10 }, (_, i) => (i % 2 ? 0.6 * r : 1.4 * r)), 0));
    case "hexagon": return polygon(x, y, around(Array(6).fill(1.1 * r), 0));
    default: return `M${(x - r).toFixed(1)} ${y.toFixed(1)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  }
}

// entries: {name, color, shape, dashed, thin, hatched}; a shape stands for points, else a line or a field
function legend(host, entries) {
  const list = make(host, "div", { class: "legend" });
  for (const { name, color, shape, dashed, thin, field, hatched } of entries) {
    const entry = make(list, "span");
    const key = make(entry, "svg", { width: 22, height: 14, viewBox: "0 0 22 14", "aria-hidden": "true" });
    const style = `--c: var(--${color})`;
    if (field) {
      make(key, "rect", { x: 3, y: 1, width: 16, height: 12, class: "bar", style });
      if (hatched) make(key, "rect", { x: 3, y: 1, width: 16, height: 12, fill: "url(#hatch)" });
    } else {
      make(key, "path", { class: `curve${dashed ? " dashed" : ""}${thin ? " thin" : ""}`, d: "M1 7H21", style });
      if (shape) make(key, "path", { class: "mark", d: shapePath(shape, 11, 7, 4.5), style });
    }
    make(entry, "span", {}, name);
  }
}

// --- a label at the pointer, or at what has the focus ---

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

function pressable(element, action, label) {
  element.setAttribute("tabindex", "0");
  element.setAttribute("role", "button");
  element.setAttribute("aria-label", label.replaceAll("\n", ", "));
  element.addEventListener("click", () => { tell(""); action(); });
  element.addEventListener("pointermove", (event) => tell(label, event));
  element.addEventListener("pointerleave", () => tell(""));
  element.addEventListener("focus", () => {
    if (!element.matches(":focus-visible")) return;
    const box = element.getBoundingClientRect();
    tell(label, { x: box.right, y: box.top });
  });
  element.addEventListener("blur", () => tell(""));
  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); tell(""); action(); }
  });
}

// Names beside points, as many as find a place that no other name and no point has.
function placeNames(image, named, taken, box) {
  for (const { x, y, name } of named) {
    const width = 6.6 * name.length + 2;
    const places = [[10, 4, "start"], [-10, 4, "end"], [0, -11, "middle"], [0, 20, "middle"], [9, -9, "start"],
      [9, 17, "start"], [-9, -9, "end"], [-9, 17, "end"]];
    for (const [dx, dy, anchor] of places) {
      const left = x + dx - (anchor === "end" ? width : anchor === "middle" ? width / 2 : 0);
      const area = [left, y + dy - 10, left + width, y + dy + 3];
      const free = area[0] > box.left && area[2] < box.right && area[1] > box.top - 8 && area[3] < box.bottom + 4 &&
        !taken.some((one) => area[0] < one[2] && area[2] > one[0] && area[1] < one[3] && area[3] > one[1]);
      if (!free) continue;
      taken.push(area);
      make(image, "text", { x: x + dx, y: y + dy, "text-anchor": anchor, class: "name" }, name);
      break;
    }
  }
}

// series: {name, color, shape, line, dashed, thin, quiet, points: [{x, y, hollow, label, named, action}]}
function plot(host, spec) {
  host.replaceChildren();
  const all = spec.series.flatMap((series) => series.points);
  if (!all.length) { make(host, "p", {}, spec.empty || "Nothing of what is chosen is to be seen here."); return; }
  legend(host, spec.legend || spec.series.filter((series) => series.name));
  const width = Math.max(260, host.clientWidth || 640);
  const height = Math.round(Math.min(460, Math.max(280, width * 0.52)));
  const box = { left: 58, right: width - 12, top: 12, bottom: height - 44 };
  const image = make(host, "svg", { viewBox: `0 0 ${width} ${height}`, height, role: "group", "aria-label": spec.title });
  const x = axisOf(all.map((point) => point.x), spec.x, box.left, box.right);
  const y = axisOf(all.map((point) => point.y), spec.y, box.bottom, box.top);
  let last = -100;
  for (const tick of spec.x.ticks || ticksOf(x.low, x.high, spec.x.log)) {
    if (x.at(tick) - last < (spec.x.format ? 46 : 34)) continue;
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
  make(image, "text", { transform: `translate(10 ${(box.top + box.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" },
    spec.y.label);
  for (const series of spec.series) {
    const style = `--c: var(--${series.color})`;
    if (series.line && series.points.length > 1) {
      const path = series.points.map((p, i) => `${i ? "L" : "M"}${x.at(p.x).toFixed(1)} ${y.at(p.y).toFixed(1)}`);
      const kind = ["dashed", "thin", "quiet"].filter((one) => series[one]).map((one) => ` ${one}`).join("");
      make(image, "path", { class: `curve${kind}`, d: path.join(" "), style });
    }
  }
  const [named, taken] = [[], []];
  for (const series of spec.series) {
    for (const point of series.points) {
      const [px, py] = [x.at(point.x), y.at(point.y)];
      if (point.named) named.push({ x: px, y: py, name: point.named });
      if (!point.action) continue;
      const mark = make(image, "path", {
        class: `point${point.hollow ? " hollow" : ""}`, d: shapePath(series.shape, px, py, 5.5),
        style: `--c: var(--${series.color})`,
      });
      pressable(mark, point.action, point.label);
      taken.push([px - 6, py - 6, px + 6, py + 6]);
    }
  }
  placeNames(image, named, taken, box);
}

// rows: [{name, note, parts: [{value, color, hatched, label}], action}]; every bar from 0 to `most`
function bars(host, spec) {
  host.replaceChildren();
  if (!spec.rows.length) { make(host, "p", {}, spec.empty || "Nothing of what is chosen is to be seen here."); return; }
  if (spec.legend) legend(host, spec.legend);
  const width = Math.max(260, host.clientWidth || 640);
  const longest = Math.max(...spec.rows.map((row) => row.name.length));
  const left = Math.min(width * 0.4, 14 + 7 * longest);
  const fits = Math.max(4, Math.floor((left - 10) / 6.6));
  const right = width - 48;
  const top = spec.noteTitle ? 18 : 0;
  const height = 24 * spec.rows.length + 26 + top;
  const image = make(host, "svg", { viewBox: `0 0 ${width} ${height}`, height, role: "group", "aria-label": spec.title });
  const at = (value) => left + ((right - left) * value) / spec.most;
  if (top) make(image, "text", { x: width, y: 12, "text-anchor": "end", class: "soft" }, spec.noteTitle);
  for (const tick of ticksOf(0, spec.most, false)) {
    make(image, "line", { class: "grid", x1: at(tick), x2: at(tick), y1: top, y2: height - 20 });
    make(image, "text", { x: at(tick), y: height - 5, "text-anchor": "middle", class: "soft" }, spec.format(tick));
  }
  spec.rows.forEach((row, index) => {
    let from = 0;
    const y = 24 * index + 4 + top;
    const short = row.name.length > fits ? `${row.name.slice(0, fits - 1)}…` : row.name;
    make(make(image, "text", { x: left - 6, y: y + 13, "text-anchor": "end" }, short), "title", {}, row.name);
    for (const part of row.parts) {
      const place = { x: at(from), y, height: 17, width: Math.max(0, at(from + part.value) - at(from)) };
      const bar = make(image, "rect", { class: "bar", ...place, style: `--c: var(--${part.color})` });
      if (part.hatched) make(image, "rect", { ...place, fill: "url(#hatch)", "pointer-events": "none" });
      pressable(bar, row.action, `${row.name}\n${part.label}`);
      from += part.value;
    }
    make(image, "text", { x: right + 6, y: y + 13 }, row.note);
  });
}
