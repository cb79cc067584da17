// Sorts the tables of the page and filters its findings. Without it the page shows everything. The
// state is in the fragment of the address, so that a link can carry it.
"use strict";
(() => {
  const table = document.getElementById("table-findings");
  const form = document.getElementById("filters");

  function value(row, column) {
    const cell = row.cells[column];
    const key = cell.dataset.key;
    return key === undefined ? cell.textContent : Number(key);
  }

  function compare(a, b) {
    return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  }

  function sort(sorted, column, order) {
    const body = sorted.tBodies[0];
    const sign = order === "descending" ? -1 : 1;
    const rows = [...body.rows].map((row) => [value(row, column), row]);
    rows.sort((a, b) => sign * compare(a[0], b[0]));
    body.append(...rows.map(([, row]) => row));
    [...sorted.tHead.rows[0].cells].forEach((head, i) => {
      if (i === column) head.setAttribute("aria-sort", order);
      else head.removeAttribute("aria-sort");
    });
  }

  for (const each of document.querySelectorAll("table")) {
    [...each.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      const first = head.classList.contains("count") ? "descending" : "ascending";
      const second = first === "ascending" ? "descending" : "ascending";
      button.addEventListener("click", () => {
        sort(each, column, head.getAttribute("aria-sort") === first ? second : first);
        if (each === table) save();
      });
    });
  }
  if (!table || !form) return;

  const rows = [...table.tBodies[0].rows];
  const shown = document.getElementById("shown");
  const search = form.elements.namedItem("search");
  const selects = [...form.querySelectorAll("select")];
  const text = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

  for (const select of selects) {
    const values = new Set(rows.map((row) => row.dataset[select.name]));
    for (const each of [...values].sort()) {
      select.add(new Option(each || (select.name === "namespace" ? "(cluster-scoped)" : "(none)"), `=${each}`));
    }
  }

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = selects.filter((select) => select.value);
    let count = 0;
    for (const row of rows) {
      row.hidden = !(
        wanted.every((select) => select.value === `=${row.dataset[select.name]}`) &&
        words.every((word) => text.get(row).includes(word))
      );
      if (!row.hidden) count += 1;
    }
    const [some, all] = [count, rows.length].map((each) => each.toLocaleString("en"));
    shown.value = count === rows.length ? `All ${all} findings` : `${some} of ${all} findings`;
  }

  function save() {
    const state = new URLSearchParams();
    if (search.value) state.set("search", search.value);
    for (const select of selects) if (select.value) state.set(select.name, select.value.slice(1));
    const head = table.tHead.querySelector("[aria-sort]");
    if (head) {
      state.set("sort", head.dataset.name);
      state.set("order", head.getAttribute("aria-sort"));
    }
    history.replaceState(null, "", `#${state.toString() || "findings"}`);
  }

  function restore() {
    if (!location.hash.includes("=")) return;
    const state = new URLSearchParams(location.hash.slice(1));
    search.value = state.get("search") || "";
    for (const select of selects) {
      const wanted = `=${state.get(select.name)}`;
      select.value = state.has(select.name) && [...select.options].some((each) => each.value === wanted) ? wanted : "";
    }
    const column = [...table.tHead.rows[0].cells].findIndex((head) => head.dataset.name === state.get("sort"));
    if (column >= 0) sort(table, column, state.get("order") === "descending" ? "descending" : "ascending");
    filter();
    document.getElementById("findings").scrollIntoView();
  }

  // A policy or namespace with findings is a link to them.
  for (const name of ["policy", "namespace"]) {
    const found = new Set(rows.map((row) => row.dataset[name]));
    for (const cell of document.querySelectorAll(`th[data-${name}]`)) {
      if (!found.has(cell.dataset[name])) continue;
      const link = document.createElement("a");
      link.href = `#${new URLSearchParams([[name, cell.dataset[name]]])}`;
      link.append(...cell.childNodes);
      cell.append(link);
    }
  }

  form.addEventListener("input", () => { filter(); save(); });
  form.addEventListener("reset", () => setTimeout(() => { filter(); save(); }));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", restore);
  form.hidden = false;
  filter();
  restore();
})();
