// The rows of the sweeps, with what is derived from them.

const data = JSON.parse(document.getElementById("data").textContent);
for (const [rows, columns] of [[data.rows, data.columns], [data.pipelines, data.pipeline_columns]]) {
  for (const row of rows) {
    for (const { name } of columns) row[name] ??= null;
  }
}
for (const row of data.pipelines) row.configuration = "depth-first";
const isPipeline = (row) => row.configuration === "depth-first";
const isCluster = (row) => row.configuration === "cluster";

function layersText(rows) {
  const names = unique(rows.map((row) => row.layer));
  return names.length === 1 ? names[0] : `${names.length} layers`;
}
