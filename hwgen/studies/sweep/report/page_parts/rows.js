// The rows of the sweeps, with what is derived from them.

const data = JSON.parse(document.getElementById("data").textContent);
for (const [rows, columns] of [[data.rows, data.columns], [data.pipelines, data.pipeline_columns]]) {
  for (const row of rows) {
    for (const { name } of columns) row[name] ??= null;
  }
}
for (const row of data.pipelines) row.configuration = "depth-first";
const unique = (values) => [...new Set(values)];
const whole = (number) => number.toLocaleString("en");
const ascending = (a, b) => a - b;
const sumOf = (rows, value) => rows.reduce((sum, row) => sum + value(row), 0);
const isPipeline = (row) => row.configuration === "depth-first";
const isCluster = (row) => row.configuration === "cluster";
const percent = (share) => `${Number((100 * share).toPrecision(3))} %`;

function layersText(rows) {
  const names = unique(rows.map((row) => row.layer));
  return names.length === 1 ? names[0] : `${names.length} layers`;
}
