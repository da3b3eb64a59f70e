// Plots of single HWCs: traffic, cycles, roofline, area, and the HWCE beside them.

function drawTraffic() {
  const layer = document.getElementById("traffic-layer").value;
  const wanted = layer ? [layer] : layers;
  const sumOf = (rows, value) => rows.reduce((sum, row) => sum + value(row), 0);
  const gather = (rows, key) => {
    const groups = new Map();
    for (const row of rows.filter((one) => wanted.includes(one.layer))) {
      groups.set(key(row), [...(groups.get(key(row)) || []), row]);
    }
    return [...groups.values()].filter((group) => unique(group.map((row) => row.layer)).length === wanted.length);
  };
  const curves = gather(data.curves, (row) => row.buffer_bytes);
  const points = gather(blocks, (row) => row.label);
  // Configurations that differ in their buffers alone, by size: a line each.
  const kindOf = ([row]) => [row.configuration, row.lanes, row.order].join();
  const families = unique(points.map(kindOf)).map((kind) => points.filter((rows) => kindOf(rows) === kind)
    .sort(([a], [b]) => a.buffer_bytes - b.buffer_bytes));
  const what = { I: (row) => moved(row, "I"), W: (row) => moved(row, "W"), O: (row) => moved(row, "O"), total: traffic };
  const series = [];
  for (const [operand, value] of Object.entries(what)) {
    const name = operand === "total" ? "I + W + O" : operand;
    series.push({
      name, color: operand, line: true, thin: true,
      points: curves.map((rows) => ({ x: rows[0].buffer_bytes, y: sumOf(rows, (row) => row[`${operand}_bytes`]) })),
    });
    for (const family of families) {
      series.push({
        color: operand, line: true,
        points: family.map((rows) => ({ x: rows[0].buffer_bytes, y: sumOf(rows, (row) => predicted(row, operand)) })),
      });
    }
    series.push({
      color: operand,
      points: points.map((rows) => ({
        x: rows[0].buffer_bytes, y: sumOf(rows, value), hollow: !rows.every(measured),
        label: `${rows[0].label}, ${layer || "all layers"}, ${name}: ${whole(sumOf(rows, value))} bytes ` +
          (rows.every(measured) ? "measured" : "predicted"),
        action: () => showNest(`${rows[0].label}: ${layer || "all layers"}`, rows),
      })),
    });
  }
  series.push({
    name: "lower bound", color: "bound", line: true, dashed: true,
    points: curves.map((rows) => ({ x: rows[0].buffer_bytes, y: sumOf(rows, (row) => row.bound_bytes) })),
  });
  for (const one of series) one.points = one.points.filter((point) => point.y > 0);
  plot(document.getElementById("traffic"), {
    title: "Traffic against buffer size", series: series.filter((one) => one.points.length || one.name),
    x: { label: "local buffers", log: true, format: bytes,
      ticks: unique([...data.curves, ...blocks].map((row) => row.buffer_bytes)).filter((b) => Number.isInteger(Math.log2(b))).sort((a, b) => a - b) },
    y: { label: "bytes", log: true },
  });
}

function drawStalls() {
  const label = document.getElementById("stalls-group").value;
  const rows = known.filter((row) => row.label === label);
  const causes = rows.some((row) => row.hwcs !== null) ? CLUSTER_CAUSES : CAUSES;
  bars(document.getElementById("stalls"), {
    title: "Cycles by what they are spent on", most: 1, format: (tick) => `${Math.round(tick * 100)} %`,
    legend: [["computing, start and end", "compute"], ...causes.map(([, name, color]) => [name, color])],
    rows: rows.map((row) => {
      const all = cycles(row);
      const parts = causes.map(([cause, name, color]) => ({ value: stall(row, cause) / all, color,
        label: `${whole(stall(row, cause))} of ${whole(all)} cycles ${name}` }));
      const rest = 1 - parts.reduce((sum, part) => sum + part.value, 0);
      parts.unshift({ value: rest, color: "compute", label: `${(100 * rest).toFixed(1)} % computing, start and end` });
      return { name: row.layer, note: row.utilisation.toFixed(3), parts, action: () => showNest(row.layer, [row]) };
    }),
  });
}

function drawRoofline() {
  const points = [...blocks, ...engines].map((row) => ({
    x: row.macs / traffic(row), y: row.macs / cycles(row), hollow: !measured(row), row,
    label: `${trafficText(row)}, ${(row.macs / cycles(row)).toFixed(2)} MACs a cycle`, action: () => showNest(row.layer, [row]),
  }));
  const xs = points.map((point) => point.x);
  const [low, high] = [Math.min(...xs, 0.6), Math.max(...xs, 4)];
  plot(document.getElementById("roofline"), {
    title: "Roofline",
    series: !points.length ? [] : [
      { name: "roof", color: "bound", line: true,
        points: [low, LANES / PORT_BYTES, high].map((x) => ({ x, y: Math.min(LANES, x * PORT_BYTES) })) },
      { name: "HWC", color: "total", points: points.filter((point) => point.row.configuration !== "hwce") },
      ...(engines.length ? [{ name: "HWCE", color: "mark",
        points: points.filter((point) => point.row.configuration === "hwce") }] : []),
    ],
    x: { label: "MACs for each byte moved", log: true },
    y: { label: "MACs a cycle", log: true },
  });
}

function drawPareto() {
  const placed = data.groups.filter((group) => group.area !== null && group.configuration !== "hwce");
  const byArea = placed.length > 0;
  document.getElementById("pareto-text").textContent = byArea
    ? "Logic and memories in gates (NANDs of two inputs, four transistors; six for a bit of memory) against the " +
      "traffic of all layers. The line joins the configurations that no other one beats in both."
    : "Nothing was synthesised: bytes of buffer stand for the area. The line joins what no other configuration beats.";
  const groups = byArea ? placed : data.groups.filter((group) => group.configuration !== "hwce");
  const area = (group) => (byArea ? group.area : group.buffer_bytes);
  const sorted = [...groups].sort((a, b) => area(a) - area(b) || a.traffic - b.traffic);
  const front = sorted.filter((group, index) => sorted.slice(0, index).every((one) => one.traffic > group.traffic));
  const points = (some) => some.map((group) => ({
    x: area(group), y: group.traffic, named: front.includes(group) ? group.label : undefined,
    label: `${group.label}: ${whole(group.traffic)} bytes`,
    action: () => showNest(group.label, known.filter((row) => row.label === group.label)),
  }));
  plot(document.getElementById("pareto"), {
    title: "Area against traffic",
    series: [
      { name: "no other one beats it", color: "mark", line: true, points: points(front) },
      { name: "beaten", color: "bound", points: points(groups.filter((group) => !front.includes(group))) },
    ],
    x: byArea ? { label: "gates" } : { label: "local buffers", log: true, format: bytes,
      ticks: unique(groups.map((group) => group.buffer_bytes)).sort((a, b) => a - b) },
    y: { label: "bytes, all layers" },
  });
}

function drawEngines() {
  const size = Number(document.getElementById("engines-size").value);
  const pairs = engines.filter((row) => row.buffer_bytes === size)
    .map((theirs) => [theirs, blocks.find((row) => row.buffer_bytes === size && row.layer === theirs.layer)])
    .filter(([, ours]) => ours);
  const ratios = pairs.map(([theirs, ours]) => traffic(theirs) / traffic(ours));
  bars(document.getElementById("engines"), {
    title: "HWCE over HWC", most: Math.max(1, ...ratios) * 1.05, format: shortNumber,
    rows: pairs.map(([theirs, ours], index) => ({
      name: ours.layer, note: ratios[index].toFixed(2),
      parts: [{ value: ratios[index], color: "mark", label: `${whole(traffic(theirs))} over ${whole(traffic(ours))} bytes` }],
      action: () => showNest(ours.layer, [theirs, ours]),
    })),
  });
}
