// The page Goals: every change is saved at once, and the preview follows.
import { announce, call, clearProblem, make, showProblem, withCode } from "/static/shoal.js";
import { refresh } from "/static/preview.js";

const WAIT = 150; // milliseconds after the last key or move
const form = document.getElementById("goals");
const element = (id) => document.getElementById(id);
const store = element("kinds").dataset;
const kinds = JSON.parse(store.kinds);
const sensitive = JSON.parse(store.sensitive);
const others = JSON.parse(form.dataset.others); // goals that this page cannot edit
let version = form.dataset.version;
let goals = JSON.parse(store.goals).filter((goal) => goal.type in kinds);
let timer = null;
let waiting = {};
let places = new Set();
let saving = null; // the request under way; changes made meanwhile are saved after it

// ------------------------------------------------------------------ saving

/** Save a change a moment after the last one; `place` is where a fault is shown. */
function change(what, place, wait = WAIT) {
  Object.assign(waiting, what);
  places.add(place);
  clearTimeout(timer);
  timer = setTimeout(flush, wait);
}

/** Save what waits, at once. */
function flush() {
  clearTimeout(timer);
  if (saving || !Object.keys(waiting).length) return;
  const [body, shown] = [waiting, [...places]];
  waiting = {};
  places = new Set();
  saving = save(body, shown).finally(() => {
    saving = null;
    flush();
  });
}

// A change is saved even if the page is closed at once.
window.addEventListener("pagehide", () => {
  if (!Object.keys(waiting).length) return;
  clearTimeout(timer);
  const body = JSON.stringify({ ...waiting, version });
  waiting = {};
  const headers = { "Content-Type": "application/json" };
  fetch(`${form.dataset.api}/goals`, { method: "PATCH", headers, body, keepalive: true });
});

async function save(body, shown) {
  clearProblem();
  for (const old of form.querySelectorAll(".fault")) old.remove();
  try {
    const found = await call("PATCH", `${form.dataset.api}/goals`, { ...body, version });
    version = found.version;
    announce("Saved");
    element("faults")?.remove();
  } catch (error) {
    const isHere = error.status === 422;
    if (isHere) for (const place of shown) showFaults(place, error.faults.length ? error.faults : [error]);
    else showProblem(error);
    return;
  }
  showPreview();
}

async function showPreview() {
  const preview = await refresh();
  if (preview) for (const problem of preview.problems) showFaults(placeOf(problem), [problem]);
}

/** Find the control that a problem of the preview is about. */
function placeOf(problem) {
  if (problem.code === "infeasible.rows") return element("field-k");
  if (["infeasible.suppression", "data.missing"].includes(problem.code)) return element("field-missing");
  const cards = [...document.querySelectorAll("#list .goal")];
  const named = goals.map((goal, at) => [goal, cards[at]]).filter(([goal]) => problem.message.includes(`\`${goal.column}\``));
  const fitting = named.find(([goal]) => problem.message.includes(goal.type)) || named[0];
  return fitting ? fitting[1] : element("field-k");
}

function showFaults(place, faults) {
  for (const fault of faults) {
    place.append(make("p", { className: "fault" }, ...withCode(fault.message),
      ...(fault.hint ? [make("span", { className: "note" }, " What to do: ", ...withCode(fault.hint), ".")] : [])));
  }
}

// ------------------------------------------------------------------ k and the rest

function number(input) {
  return input.value.trim() === "" ? null : Number(input.value);
}

function setK(value, from) {
  element("k-less").textContent = Number.isInteger(value) ? String(value - 1) : "k - 1";
  if (from !== "k") element("k").value = value;
  if (from !== "k-range") element("k-range").value = value;
  if (value !== null) change({ k: value }, element("field-k"));
}
element("k").addEventListener("input", () => setK(number(element("k")), "k"));
element("k-range").addEventListener("input", () => setK(number(element("k-range")), "k-range"));
element("missing").addEventListener("change", (event) => change({ missing: event.target.value }, element("field-missing"), 0));
element("max_suppressed").addEventListener("input", (event) => {
  const value = number(event.target);
  if (value !== null) change({ max_suppressed: Number((value / 100).toPrecision(12)) }, element("field-missing"));
});
for (const id of ["method", "effort", "values"]) {
  element(id).addEventListener("change", (event) => {
    change({ [id]: event.target.value }, element("field-method"), 0);
    showIdea();
  });
}
element("seed").addEventListener("input", (event) => {
  const value = number(event.target);
  if (value !== null) change({ seed: value }, element("field-method"));
});
for (const input of document.querySelectorAll("[name^=about-]")) {
  input.addEventListener("input", () => {
    const about = { ...(waiting.about || {}), [input.name.slice(6)]: input.value };
    change({ about }, element("field-about"), 600);
  });
}
form.addEventListener("submit", (event) => event.preventDefault());
// Leaving a field, Enter and letting a slider go end a change: nobody types on. The listeners of the
// fields themselves ran before this one.
form.addEventListener("change", flush);

function showIdea() {
  const chosen = element("method").value;
  for (const idea of document.querySelectorAll(".idea")) idea.hidden = idea.dataset.method !== chosen;
  const searches = ["auto", "local-search"].includes(chosen);
  element("effort").disabled = !searches;
}

// ------------------------------------------------------------------ goals

function saveGoals(card) {
  change({ goals: [...goals, ...others] }, card || element("field-k"));
}

function draw() {
  element("list").replaceChildren(...goals.map(drawGoal));
}

function drawGoal(goal, at) {
  const kind = kinds[goal.type];
  const card = element("goal").content.firstElementChild.cloneNode(true);
  card.querySelector(".title").textContent = `${kind.title} (${goal.type})`;
  card.querySelector(".promise").textContent = kind.promise;
  const parts = card.querySelector(".parts");
  const id = (name) => `goal-${at}-${name}`;
  if (!kind.no_column) {
    const several = Array.isArray(goal.column);
    const names = several ? [goal.column.join(" + "), ...sensitive] : sensitive;
    const select = make("select", { id: id("column") }, ...names.map((name) => make("option", {}, name)));
    select.value = several ? names[0] : goal.column;
    select.addEventListener("change", () => {
      if (several && select.selectedIndex === 0) return;
      goal.column = select.value;
      saveGoals(card);
    });
    parts.append(field("Column", select));
  }
  const [name, , least, step] = kind.number;
  const input = make("input", { id: id(name), type: "number", min: least, step, value: goal[name] });
  input.addEventListener("input", () => {
    if (input.value.trim() === "") return;
    goal[name] = Number(input.value);
    saveGoals(card);
  });
  parts.append(field(name, input));
  if (kind.forms) drawForms(goal, kind, card, parts, id);
  card.querySelector(".remove").setAttribute("aria-label", `Remove ${goal.type}`);
  card.querySelector(".remove").addEventListener("click", () => {
    goals = goals.filter((other) => other !== goal);
    draw();
    saveGoals(element("field-k"));
    element("add").focus();
  });
  return card;
}

function drawForms(goal, kind, card, parts, id) {
  const [key, forms] = kind.forms;
  const select = make("select", { id: id(key) }, ...forms.map((form_) => make("option", {}, form_)));
  select.value = goal[key] || forms[0];
  parts.append(field(key, select));
  const extra = make("input", { id: id("c"), type: "number", min: 0.01, step: 0.1, value: goal.c || 3 });
  const extraField = field("c", extra);
  extraField.hidden = goal[key] !== "recursive";
  extra.addEventListener("input", () => {
    goal.c = Number(extra.value);
    saveGoals(card);
  });
  parts.append(extraField);
  select.addEventListener("change", () => {
    goal[key] = select.value;
    extraField.hidden = select.value !== "recursive";
    if (select.value === "recursive") goal.c = Number(extra.value);
    else delete goal.c;
    saveGoals(card);
  });
}

function field(text, control) {
  return make("div", {}, make("label", { htmlFor: control.id }, text), control);
}

element("add").addEventListener("click", () => {
  const type = element("new-goal").value;
  const kind = kinds[type];
  const goal = { type, [kind.number[0]]: kind.number[1] };
  if (!kind.no_column) goal.column = sensitive[0];
  goals.push(goal);
  draw();
  const card = element("list").lastElementChild;
  card.querySelector("select, input").focus();
  saveGoals(card);
});

draw();
showIdea();
showPreview();
