// A panel beside the page, or over it, that a click opens; a table of facts in it.

const WIDE = window.matchMedia("(min-width: 75rem)");

// The panel with a title and nothing in it yet, open: what is drawn in it takes its width.
function openDetail(title) {
  const detail = document.getElementById("detail");
  document.getElementById("detail-title").textContent = title;
  const body = document.getElementById("detail-body");
  body.replaceChildren();
  if (!detail.open) {
    if (WIDE.matches) detail.show(); // beside the plots, which can still be clicked
    else detail.showModal();
  }
  detail.scrollTop = 0;
  document.body.classList.toggle("docked", WIDE.matches);
  return body;
}

function factTable(host, facts) {
  const table = make(host, "table");
  for (const [name, value] of facts) {
    const line = make(table, "tr");
    make(line, "th", { scope: "row" }, name);
    make(line, "td", {}, value);
  }
}

function setUpDetail() {
  const detail = document.getElementById("detail");
  const close = () => document.body.classList.remove("docked");
  detail.addEventListener("close", close);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && detail.open) detail.close(); });
  detail.addEventListener("click", (event) => { if (event.target === detail && detail.matches(":modal")) detail.close(); });
  WIDE.addEventListener("change", () => { if (detail.open) detail.close(); });
}
