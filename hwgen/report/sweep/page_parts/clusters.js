// Plots of clusters: traffic at DRAM and TCDM, and their roofline.

function drawDram() {
  const layer = document.getElementById("dram-layer").value;
  const rows = clusters.filter((row) => !layer || row.layer === layer);
  const wanted = layer ? 1 : unique(clusters.map((row) => row.layer)).length;
  const points = unique(rows.map((row) => row.label)).map((label) => rows.filter((row) => row.label === label))
    .filter((group) => group.length === wanted);
  const byTcdm = unique(clusters.map((row) => row.tcdm_bytes)).length > 1;
  const at = ([row]) => (byTcdm ? row.tcdm_bytes : row.hwcs);
  // Configurations that differ in that alone, in its order: a line each.
  const kindOf = ([row]) => [row.buffer_bytes, row.lanes, row.order, byTcdm ? row.hwcs : row.tcdm_bytes].join();
  const families = unique(points.map(kindOf)).map((kind) => points.filter((group) => kindOf(group) === kind)
    .sort((a, b) => at(a) - at(b)));
  const sumOf = (group, value) => group.reduce((sum, row) => sum + value(row), 0);
  const bytesOf = (row, operand, source) => OPERANDS[operand]
    .reduce((sum, direction) => sum + row[`dram_${operand}_${direction}_bytes_${source}`], 0);
  const what = {
    I: ["I", (row, source) => bytesOf(row, "I", source)],
    W: ["W", (row, source) => bytesOf(row, "W", source)],
    O: ["O", (row, source) => bytesOf(row, "O", source)],
    total: ["I + W + O", (row, source) => row[`dram_total_bytes_${source}`]],
    mark: ["I + W + O at the TCDM", (row, source) => row[`total_bytes_${source}`]],
  };
  const series = [];
  for (const [color, [name, value]] of Object.entries(what)) {
    for (const [index, family] of families.entries()) {
      series.push({
        name: index ? undefined : name, color, line: true,
        points: family.map((group) => ({ x: at(group), y: sumOf(group, (row) => value(row, "predicted")) })),
      });
    }
    series.push({
      color,
      points: points.map((group) => {
        const counted = group.every(measured);
        const sum = sumOf(group, (row) => value(row, measured(row) ? "measured" : "predicted"));
        return {
          x: at(group), y: sum, hollow: !counted, action: () => showNest(`${group[0].label}: ${layer || "all layers"}`, group),
          label: `${group[0].label}, ${layer || "all layers"}, ${name}: ${whole(sum)} bytes ${counted ? "measured" : "predicted"}`,
        };
      }),
    });
  }
  for (const [index, family] of families.entries()) {
    series.push({
      name: index ? undefined : "lower bound", color: "bound", line: true, dashed: true,
      points: family.map((group) => ({ x: at(group), y: sumOf(group, (row) => row.bound_bytes) })),
    });
  }
  for (const one of series) one.points = one.points.filter((point) => point.y > 0);
  plot(document.getElementById("dram"), {
    title: "Traffic of clusters", series: series.filter((one) => one.points.length),
    x: { label: byTcdm ? "shared memory" : "HWCs", log: true, format: byTcdm ? bytes : shortNumber,
      ticks: unique(points.map(at)).sort((a, b) => a - b) },
    y: { label: "bytes", log: true },
  });
}

function drawClusterRoofline() {
  const points = clusters.map((row) => ({
    x: row.macs / (row.dram_total_bytes_measured ?? row.dram_total_bytes_predicted), y: row.macs / cycles(row),
    hollow: !measured(row), row, action: () => showNest(row.layer, [row]),
    label: `${row.layer}, ${row.label}: ${(row.macs / cycles(row)).toFixed(2)} MACs a cycle`,
  }));
  const xs = points.map((point) => point.x);
  const roofs = unique(clusters.map((row) => [row.hwcs, row.axi_bits / 8].join())).map((kind) => kind.split(",").map(Number));
  const [low, high] = [Math.min(...xs, 1), Math.max(...xs, 16)];
  plot(document.getElementById("cluster-roofline"), {
    title: "Roofline of clusters",
    series: !points.length ? [] : [
      ...roofs.map(([hwcs, port], index) => ({
        name: index ? undefined : "roof", color: "bound", line: true,
        points: unique([low, (LANES * hwcs) / port, Math.max(high, (LANES * hwcs) / port)])
          .map((x) => ({ x, y: Math.min(LANES * hwcs, x * port) })),
      })),
      { name: "clusters", color: "total", points },
    ],
    x: { label: "MACs for each byte of DRAM", log: true },
    y: { label: "MACs a cycle", log: true },
  });
}
