// The page Data: roles and kinds of one column or of many, search, dangers. Every change is saved at once.
import { announce, call, clearProblem, make, showProblem, withCode } from "/static/shoal.js";
import { refresh } from "/static/preview.js";

const place = document.getElementById("data");
const api = place.dataset.api;
const element = (id) => document.getElementById(id);
const rows = [...document.querySelectorAll(".inspected tbody tr")];
const tick = (row) => row.querySelector("input");
const nameOf = (row) => tick(row).value;
const shown = () => rows.filter((row) => !row.hidden);
const roles = [...element("bulk-role").options].slice(1).map((option) => option.value);
const kinds = [...element("bulk-kind").options].slice(1).map((option) => option.value);
let version = place.dataset.version;
let lastTicked = null;
let saving = Promise.resolve();

// ------------------------------------------------------------------ search

function filter() {
  const words = element("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const only = element("only").value;
  for (const row of rows) {
    const text = `${nameOf(row)} ${row.dataset.role} ${row.querySelector(".kind").selectedOptions[0].text} ${row.querySelector(".why").textContent}`.toLowerCase();
    const fits = !only || (only === "changed" ? row.dataset.role !== row.dataset.hint : row.dataset.role === only);
    row.hidden = !fits || !words.every((word) => text.includes(word));
  }
  const number = shown().length;
  element("count").textContent = number === rows.length ? "" : `${number} of ${rows.length} shown`;
  element("none").hidden = number > 0;
  showTicked();
}

// ------------------------------------------------------------------ ticks

function showTicked() {
  const ticked = rows.filter((row) => tick(row).checked);
  for (const row of rows) row.classList.toggle("ticked", tick(row).checked);
  element("ticked").textContent = ticked.length
    ? `${ticked.length} ${ticked.length === 1 ? "column" : "columns"} ticked`
    : "Tick columns to change several at once";
  const all = shown();
  element("all").checked = all.length > 0 && all.every((row) => tick(row).checked);
  element("all").indeterminate = !element("all").checked && all.some((row) => tick(row).checked);
}

function tickUpTo(row) {
  const visible = shown();
  const [from, to] = [visible.indexOf(lastTicked), visible.indexOf(row)].sort((a, b) => a - b);
  if (from < 0) return;
  for (const one of visible.slice(from, to + 1)) tick(one).checked = tick(row).checked;
}

// ------------------------------------------------------------------ changes

/** Save a change of some columns; on failure, show why next to them and put the controls back. */
function change(chosen, what) {
  saving = saving.then(() => save(chosen, what));
  return saving;
}

async function save(chosen, what) {
  clearProblem();
  for (const row of chosen) row.querySelector(".fault")?.remove();
  try {
    const found = await call("PATCH", `${api}/columns`, { ...what, columns: chosen.map(nameOf), version });
    version = found.version;
    for (const row of chosen) settle(row, found.columns[nameOf(row)], true);
    announce(chosen.length === 1 ? `${nameOf(chosen[0])} saved` : `${chosen.length} columns saved`);
    const old = element("faults");
    if (old) old.remove();
    filter();
    refresh();
    showDangers();
  } catch (error) {
    for (const row of chosen) settle(row, null, false);
    if (chosen.length === 1 && error.code !== "web.changed" && error.status) showFault(chosen[0], error);
    else showProblem(error);
  }
}

/** Show what the recipe says about a column; without it, what was shown before. */
function settle(row, column, isSaved) {
  const [role, kind] = [row.querySelector(".role"), row.querySelector(".kind")];
  if (column) {
    row.dataset.role = column.role;
    row.dataset.kind = column.kind || "found";
  }
  role.value = row.dataset.role;
  kind.value = row.dataset.kind;
  row.classList.toggle("saved", isSaved);
}

function showFault(row, error) {
  const faults = error.faults.length ? error.faults : [error];
  row.querySelector(".why").append(make("span", { className: "fault" },
    ...faults.flatMap((fault) => [...withCode(fault.message), " ", ...withCode(fault.hint || "")])));
}

/** Put selects in place of the texts: the server sends texts, so that wide tables stay small. */
function addSelects(row) {
  const [role, kind] = [row.cells[1], row.cells[2]];
  row.dataset.role = role.textContent;
  row.dataset.hint ??= row.dataset.role;
  row.dataset.kind = kind.textContent || "found";
  const unknown = roles.includes(row.dataset.role) ? [] : [["", "none"]];
  role.replaceChildren(choice("role", `Role of ${nameOf(row)}`, [...unknown, ...roles.map((one) => [one, one])]));
  const found = ["found", `${kind.dataset.found} (found)`];
  kind.replaceChildren(choice("kind", `Kind of ${nameOf(row)}`, [found, ...kinds.map((one) => [one, one])]));
  settle(row, null, false);
}

function choice(className, label, options) {
  const select = make("select", { className }, ...options.map(([value, text]) => new Option(text, value)));
  select.setAttribute("aria-label", label);
  return select;
}

for (const row of rows) {
  addSelects(row);
  row.querySelector(".role").addEventListener("change", (event) => change([row], { role: event.target.value }));
  row.querySelector(".kind").addEventListener("change", (event) => change([row], { kind: event.target.value }));
  tick(row).addEventListener("click", (event) => {
    if (event.shiftKey && lastTicked) tickUpTo(row);
    lastTicked = row;
    showTicked();
  });
}
element("all").hidden = false;
element("all").addEventListener("change", (event) => {
  for (const row of shown()) tick(row).checked = event.target.checked;
  showTicked();
});
element("search").addEventListener("input", filter);
element("only").addEventListener("change", filter);
element("clear").addEventListener("click", () => {
  element("search").value = "";
  element("only").value = "";
  filter();
  element("search").focus();
});
element("columns").addEventListener("submit", (event) => {
  event.preventDefault();
  // Only what can be seen is changed: a ticked column that the search hides stays as it is.
  const chosen = shown().filter((row) => tick(row).checked);
  const what = {};
  if (element("bulk-role").value) what.role = element("bulk-role").value;
  if (element("bulk-kind").value) what.kind = element("bulk-kind").value;
  element("bulk").removeAttribute("aria-busy");
  if (!chosen.length || !Object.keys(what).length) {
    announce(chosen.length ? "Choose a role or a kind first" : "Tick columns first");
    return;
  }
  change(chosen, what).then(() => {
    element("bulk-role").value = "";
    element("bulk-kind").value = "";
  });
});

// ------------------------------------------------------------------ dangers

async function showDangers() {
  const list = element("dangers");
  try {
    const found = await call("GET", `${api}/dangers`);
    list.replaceChildren(...(found.length ? found.map(dangerItem)
      : [make("p", { className: "good" }, "None found. A run looks again, at the classes too.")]));
  } catch (error) {
    list.replaceChildren(make("p", { className: "note" }, "Not known until the recipe is valid: ", ...withCode(error.message)));
  }
}

function dangerItem(danger) {
  const state = danger.accepted ? ["badge", "accepted"] : danger.refused ? ["badge bad", "must be accepted or solved"] : ["badge warn", "warning"];
  const item = make("div", { className: "danger-item" },
    make("p", {}, make("span", { className: state[0] }, state[1]), " ", ...withCode(danger.message)));
  if (danger.accepted) {
    item.append(make("p", { className: "note" }, danger.reason ? `Reason: ${danger.reason}` : "No reason given."));
    const button = make("button", { type: "button", className: "small" }, "Take back");
    button.addEventListener("click", () => acceptDanger(danger, null));
    item.append(button);
    return item;
  }
  if (danger.remedy) item.append(make("p", { className: "note" }, "What to do: ", ...withCode(danger.remedy), ", or accept it:"));
  const input = make("input", { required: true, maxLength: 500, placeholder: "Why it is acceptable" });
  input.setAttribute("aria-label", `Why ${danger.name} is acceptable for ${danger.accept_on.join(", ")}`);
  const form = make("form", {}, input, make("button", { className: "small" }, "Accept"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    acceptDanger(danger, input.value);
  });
  item.append(form);
  return item;
}

function acceptDanger(danger, reason) {
  const chosen = rows.filter((row) => danger.accept_on.includes(nameOf(row)));
  change(chosen, { accept: { [danger.name]: reason } });
}

filter();
refresh();
showDangers();
