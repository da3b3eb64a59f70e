// Plots of single HWCs: traffic, cycles, roofline, area, and the HWCE beside them.

const OPERAND_SHAPES = { total: "diamond", I: "circle", W: "square", O: "triangle" };

function drawTraffic() {
  const host = document.getElementById("traffic");
  const lines = byFamily(groupsOf(blocks), (row) => row.buffer_bytes);
  const several = lines.length > 1;
  const what = choices("traffic-what", "traffic", [["", [
    ...(several ? [["total", "I + W + O"]] : []), ["each", "I, W, O and their sum"],
    ...(several ? [["I", "I"], ["W", "W"], ["O", "O"]] : []),
  ]]]);
  const operands = what === "each" ? ["total", "I", "W", "O"] : [what];
  const series = [];
  const keys = [];
  for (const [index, some] of curveGroups().entries()) {
    for (const operand of operands) {
      const color = operands.length > 1 ? operand : "bound";
      const name = "optimum of the pure model";
      series.push({ color, line: true, thin: true,
        points: some.map((rows) => ({ x: rows[0].buffer_bytes, y: sumOf(rows, (row) => row[`${operand}_bytes`]) })) });
      if (!index && operand === operands[0]) keys.push({ name, color, thin: true });
    }
    if (operands.includes("total")) {
      series.push({ color: "bound", line: true, dashed: true,
        points: some.map((rows) => ({ x: rows[0].buffer_bytes, y: sumOf(rows, (row) => row.bound_bytes) })) });
      if (!index) keys.push({ name: "lower bound, proven", color: "bound", dashed: true });
    }
  }
  for (const operand of operands) {
    const name = operand === "total" ? "I + W + O" : operand;
    for (const family of lines) {
      const mark = markOf(family[0][0]);
      const color = operands.length > 1 ? operand : mark.color;
      const shape = operands.length > 1 && !several ? OPERAND_SHAPES[operand] : mark.shape;
      series.push({ color, line: true, points: family.map((rows) => ({
        x: rows[0].buffer_bytes, y: sumOf(rows, (row) => moved(row, operand, "predicted")) })) });
      series.push({ color, shape, points: family.map((rows, index) => ({
        x: rows[0].buffer_bytes, y: sumOf(rows, (row) => moved(row, operand)), hollow: !rows.every(measured),
        named: operands.length > 1 && index === family.length - 1 ? name : undefined,
        label: `${rows[0].label}, ${layersText(rows)}\n${name}: ${whole(sumOf(rows, (row) => moved(row, operand)))} bytes ` +
          (rows.every(measured) ? "measured" : "predicted"),
        action: () => showNest(`${rows[0].label}: ${layersText(rows)}`, rows),
      })) });
    }
  }
  const ofFamilies = lines.map(([[row]]) => ({ name: familyName(row), ...markOf(row), ...(operands.length > 1 ? { color: "total" } : {}) }));
  const ofOperands = operands.map((operand) => ({ name: operand === "total" ? "I + W + O" : operand, color: operand,
    shape: several ? undefined : OPERAND_SHAPES[operand] }));
  const first = [...(several || operands.length === 1 ? ofFamilies : []), ...(operands.length > 1 ? ofOperands : [])];
  for (const one of series) one.points = one.points.filter((point) => point.y > 0);
  plot(host, {
    title: "Traffic against buffer size", series: lines.length ? series : [], legend: [...first, ...keys],
    x: { label: "local buffers", log: true, format: bytes,
      ticks: unique(blocks.map((row) => row.buffer_bytes)).sort(ascending) },
    y: { label: "bytes", log: true },
  });
}

// Cycles of the choice, and of both ends where they were weighed: a line for each family.
function drawCycles() {
  const lines = byFamily(groupsOf(blocks), (row) => row.buffer_bytes);
  const [series, keys] = [[], []];
  const ends = [["least_traffic_cycles", "least traffic", { dashed: true }], ["fewest_cycles", "fewest cycles found", { thin: true }]];
  for (const family of lines) {
    const [mark, name] = [markOf(family[0][0]), familyName(family[0][0])];
    keys.push({ ...mark, name });
    for (const [column, , style] of ends) {
      if (family.flat().some((row) => row[column] === null)) continue;
      series.push({ color: mark.color, line: true, ...style,
        points: family.map((rows) => ({ x: rows[0].buffer_bytes, y: sumOf(rows, (row) => row[column]) })) });
    }
    series.push({ color: mark.color, line: true,
      points: family.map((rows) => ({ x: rows[0].buffer_bytes, y: sumOf(rows, (row) => row.cycles_predicted) })) });
    series.push({ ...mark, points: family.map((rows) => ({
      x: rows[0].buffer_bytes, y: sumOf(rows, cycles), hollow: !rows.every(measured),
      label: `${rows[0].label}, ${layersText(rows)}\n${whole(sumOf(rows, cycles))} cycles ${rows.every(measured) ? "measured" : "predicted"}`,
      action: () => showNest(`${rows[0].label}: ${layersText(rows)}`, rows),
    })) });
  }
  const weighed = ends.filter(([column]) => blocks.some((row) => row[column] !== null));
  plot(document.getElementById("cycles"), {
    title: "Cycles against buffer size", series, legend: [...keys, ...weighed.map(([, name, style]) => ({ name, color: "bound", ...style }))],
    x: { label: "local buffers", log: true, format: bytes,
      ticks: unique(blocks.map((row) => row.buffer_bytes)).sort(ascending) },
    y: { label: "cycles", log: true },
  });
}

// Curves of the layers that are shown, summed for each size that all of them have; a list for each set and scale.
function curveGroups() {
  const layers = new Set(blocks.map((row) => [row.set, row.scale, row.layer].join()));
  const sizes = blocks.map((row) => row.buffer_bytes);
  const rows = data.curves.filter((row) => layers.has([row.set, row.scale, row.layer].join()) &&
    row.buffer_bytes >= Math.min(...sizes) / 2 && row.buffer_bytes <= 2 * Math.max(...sizes));
  const found = new Map();
  for (const row of rows) {
    const key = [row.set, row.scale].join();
    if (!found.has(key)) found.set(key, new Map());
    const bySize = found.get(key);
    bySize.set(row.buffer_bytes, [...(bySize.get(row.buffer_bytes) || []), row]);
  }
  return [...found].map(([key, bySize]) => {
    const number = [...layers].filter((one) => one.startsWith(`${key},`)).length;
    return [...bySize.values()].filter((group) => group.length === number).sort(([a], [b]) => a.buffer_bytes - b.buffer_bytes);
  }).filter((groups) => groups.length);
}

function drawStalls() {
  const rows = shown.filter((row) => row.total_bytes_predicted !== null);
  const labels = unique(rows.map((row) => row.label));
  const names = unique(rows.map((row) => row.layer));
  const wanted = choices("stalls-group", "bars", [
    ["One configuration, its layers", labels.map((one) => [`of ${one}`, one])],
    ["One layer, all configurations", names.map((one) => [`layer ${one}`, one])],
  ]);
  const some = rows.filter((row) => `of ${row.label}` === wanted || `layer ${row.layer}` === wanted);
  const keys = new Map(some.flatMap(spent).map((part) => [part.name, { ...part, field: true }]));
  bars(document.getElementById("stalls"), {
    title: "Lane cycles by what they are spent on", most: 1, format: (tick) => `${Math.round(tick * 100)} %`,
    legend: [...keys.values()], noteTitle: "utilisation",
    rows: some.map((row) => ({
      name: wanted.startsWith("layer ") ? row.label : row.layer, note: row.utilisation.toFixed(3),
      action: () => showNest(`${row.layer}, ${row.label}`, [row]),
      parts: spent(row).map((part) => ({ ...part, label: `${(100 * part.value).toFixed(1)} % ${part.name}` +
        (part.cycles === undefined ? "" : `\n${whole(part.cycles)} of ${whole(cycles(row))} cycles`) })),
    })),
  });
}

// Rows as points: a mark for each family; rows of a layer are joined from the smallest to the largest buffers.
function roofSeries(rows, x) {
  const series = [];
  const names = unique(rows.map((row) => row.layer));
  for (const key of unique(rows.map(familyOf))) {
    const family = rows.filter((row) => familyOf(row) === key);
    const mark = markOf(family[0]);
    let name = familyName(family[0]);
    for (const layer of unique(family.map((row) => row.layer))) {
      const some = family.filter((row) => row.layer === layer)
        .sort((a, b) => a.buffer_bytes - b.buffer_bytes || a.hwcs - b.hwcs || a.tcdm_bytes - b.tcdm_bytes);
      series.push({
        ...mark, name, line: true, quiet: true,
        points: some.map((row, index) => ({
          x: row.macs / x(row), y: row.macs / cycles(row), hollow: !measured(row),
          named: index === some.length - 1 ? (names.length === 1 ? row.label : layer) : undefined,
          label: `${trafficText(row)}\n${(row.macs / cycles(row)).toFixed(2)} MACs a cycle, ` +
            `${(row.macs / x(row)).toFixed(2)} a byte, utilisation ${row.utilisation.toFixed(3)}`,
          action: () => showNest(`${row.layer}, ${row.label}`, [row]),
        })),
      });
      name = undefined;
    }
  }
  return series;
}

function drawRoofline() {
  const rows = [...blocks, ...engines];
  const xs = rows.map((row) => row.macs / traffic(row));
  const [low, high] = [Math.min(...xs, 0.6), Math.max(...xs, 4)];
  const roofs = unique(rows.map(lanesOf)).map((lanes, index) => ({
    name: index ? undefined : "roof", color: "bound", line: true,
    points: [low, lanes / PORT_BYTES, high].sort(ascending).map((x) => ({ x, y: Math.min(lanes, x * PORT_BYTES) })),
  }));
  plot(document.getElementById("roofline"), {
    title: "Roofline", series: rows.length ? [...roofs, ...roofSeries(rows, traffic)] : [],
    x: { label: "MACs for each byte moved", log: true },
    y: { label: "MACs a cycle", log: true },
  });
}

const GATES_PER_BIT = 1.5;

function areaOf(rows) {
  const areas = unique(rows.map((row) => (row.gates === null ? null : row.gates + GATES_PER_BIT * (row.buffer_bits + row.queue_bits))));
  return areas.length === 1 ? areas[0] : null;
}

function drawPareto() {
  const all = groupsOf(blocks).map((rows) => ({ rows, row: rows[0], area: areaOf(rows), traffic: sumOf(rows, traffic) }));
  const placed = all.filter((group) => group.area !== null);
  const byArea = placed.length > 0;
  document.getElementById("pareto-text").textContent = byArea
    ? "Logic and memories in gates (NANDs of two inputs, four transistors; six for a bit of memory) against the " +
      "traffic of the layers. The line joins the configurations that no other one beats in both; hollow ones are beaten."
    : "Nothing of this was synthesised: bytes of buffer stand for the area. The line joins what no other one beats; hollow ones are beaten.";
  const groups = byArea ? placed : all;
  const area = (group) => (byArea ? group.area : group.row.buffer_bytes);
  const sorted = [...groups].sort((a, b) => area(a) - area(b) || a.traffic - b.traffic);
  const front = sorted.filter((group, index) => sorted.slice(0, index).every((one) => one.traffic > group.traffic));
  const series = byFamily(groups.map((group) => group.rows), (row) => row.buffer_bytes).map((family) => ({
    ...markOf(family[0][0]), name: familyName(family[0][0]),
    points: groups.filter((group) => family.includes(group.rows)).map((group) => ({
      x: area(group), y: group.traffic, hollow: !front.includes(group), named: front.includes(group) ? group.row.label : undefined,
      label: `${group.row.label}, ${layersText(group.rows)}\n${whole(group.traffic)} bytes${front.includes(group) ? "" : ", beaten"}`,
      action: () => showNest(`${group.row.label}: ${layersText(group.rows)}`, group.rows),
    })),
  }));
  plot(document.getElementById("pareto"), {
    title: "Area against traffic",
    series: groups.length ? [
      { name: "no other one beats it", color: "bound", line: true, points: front.map((group) => ({ x: area(group), y: group.traffic })) },
      ...series,
    ] : [],
    x: byArea ? { label: "gates" } : { label: "local buffers", log: true, format: bytes,
      ticks: unique(groups.map((group) => group.row.buffer_bytes)).sort(ascending) },
    y: { label: "bytes" },
  });
}

function drawEngines() {
  const sizes = unique(engines.map((row) => row.buffer_bytes)).sort(ascending);
  const size = Number(choices("engines-size", "engines", [["", sizes.map((one) => [String(one), bytes(one)])]]));
  const same = (a, b) => ["set", "scale", "buffer_bytes", "layer"].every((name) => a[name] === b[name]);
  const pairs = engines.filter((row) => row.buffer_bytes === size)
    .flatMap((theirs) => blocks.filter((row) => same(row, theirs)).map((ours) => [theirs, ours]));
  const ratios = pairs.map(([theirs, ours]) => traffic(theirs) / traffic(ours));
  const several = unique(pairs.map(([, ours]) => ours.label)).length > 1;
  bars(document.getElementById("engines"), {
    title: "HWCE over HWC", most: Math.max(1, ...ratios) * 1.05, format: shortNumber, noteTitle: "ratio",
    rows: pairs.map(([theirs, ours], index) => ({
      name: several ? `${ours.layer}, ${familyName(ours)}` : ours.layer, note: ratios[index].toFixed(2),
      parts: [{ value: ratios[index], color: "useful", label: `${whole(traffic(theirs))} over ${whole(traffic(ours))} bytes` }],
      action: () => showNest(ours.layer, [theirs, ours]),
    })),
  });
}
