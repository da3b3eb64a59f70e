// Plots of clusters: traffic at DRAM and TCDM, and their roofline.

function drawDram() {
  const groups = groupsOf(clusters);
  const byTcdm = unique(clusters.map((row) => row.tcdm_bytes)).length > 1;
  const at = (row) => (byTcdm ? row.tcdm_bytes : row.hwcs);
  // Configurations that differ in that alone, in its order: a line each.
  const lineOf = ([row]) => JSON.stringify([familyOf(row), row.buffer_bytes, byTcdm ? row.hwcs : row.tcdm_bytes]);
  const lines = unique(groups.map(lineOf)).map((key) => groups.filter((group) => lineOf(group) === key)
    .sort(([a], [b]) => at(a) - at(b)));
  const what = {
    total: ["I + W + O", (row, source) => moved(row, "total", source, "dram")],
    I: ["I", (row, source) => moved(row, "I", source, "dram")],
    W: ["W", (row, source) => moved(row, "W", source, "dram")],
    O: ["O", (row, source) => moved(row, "O", source, "dram")],
    mark: ["I + W + O at the TCDM", (row, source) => row[`total_bytes_${source}`]],
  };
  const shapes = { ...OPERAND_SHAPES, mark: "hexagon" };
  const [series, keys] = [[], []];
  for (const [color, [name, value]] of Object.entries(what)) {
    keys.push({ name, color, shape: shapes[color] });
    for (const line of lines) {
      series.push({ color, line: true,
        points: line.map((group) => ({ x: at(group[0]), y: sumOf(group, (row) => value(row, "predicted")) })) });
    }
    series.push({ color, shape: shapes[color], points: groups.map((group) => {
      const counted = group.every(measured);
      const sum = sumOf(group, (row) => value(row, measured(row) ? "measured" : "predicted"));
      return {
        x: at(group[0]), y: sum, hollow: !counted,
        label: `${group[0].label}, ${layersText(group)}\n${name}: ${whole(sum)} bytes ${counted ? "measured" : "predicted"}`,
        action: () => showNest(`${group[0].label}: ${layersText(group)}`, group),
      };
    }) });
  }
  keys.push({ name: "lower bound, proven", color: "bound", dashed: true });
  for (const line of lines) {
    series.push({ color: "bound", line: true, dashed: true,
      points: line.map((group) => ({ x: at(group[0]), y: sumOf(group, (row) => row.bound_bytes) })) });
  }
  for (const one of series) one.points = one.points.filter((point) => point.y > 0);
  plot(document.getElementById("dram"), {
    title: "Traffic of clusters", series: series.filter((one) => one.points.length), legend: keys,
    x: { label: byTcdm ? "shared memory" : "HWCs", log: true, format: byTcdm ? bytes : shortNumber,
      ticks: unique(clusters.map(at)).sort(ascending) },
    y: { label: "bytes", log: true },
  });
}

function drawClusterRoofline() {
  const xs = clusters.map((row) => row.macs / dramTraffic(row));
  const kinds = unique(clusters.map((row) => JSON.stringify([row.hwcs * lanesOf(row), row.axi_bits / 8]))).map(JSON.parse);
  const [low, high] = [Math.min(...xs, 1), Math.max(...xs, 16)];
  const roofs = kinds.map(([lanes, port], index) => ({
    name: index ? undefined : "roof", color: "bound", line: true,
    points: unique([low, lanes / port, Math.max(high, lanes / port)]).map((x) => ({ x, y: Math.min(lanes, x * port) })),
  }));
  plot(document.getElementById("cluster-roofline"), {
    title: "Roofline of clusters", series: clusters.length ? [...roofs, ...roofSeries(clusters, dramTraffic)] : [],
    x: { label: "MACs for each byte of DRAM", log: true },
    y: { label: "MACs a cycle", log: true },
  });
}
