// The tree of a column: walk through it, select, and change it by mouse or keyboard.
// The server keeps the tree. Nodes are numbers in the version that is shown.
import { announce, call, clearProblem, make, showProblem, withCode } from "/static/shoal.js";
import { startBuilders } from "/static/builders.js";

const editor = document.getElementById("editor");
const api = editor.dataset.api;
const tree = document.getElementById("tree");
const PAGE = 100;

let state = null; // as the server described it
let selected = new Set(); // keys of lines
let focused = "node:0";
let cut = null; // what was cut, until it is pasted
let busy = false;

const keyOf = (line) => `${line.what}:${line.node}`;
const lineOf = (key) => state.lines.find((line) => keyOf(line) === key);
const rowOf = (key) => tree.querySelector(`[data-key="${key}"]`);
const isGroup = (line) => line && line.what === "node" && !line.is_leaf;
const number = new Intl.NumberFormat("en");
const counted = (n, one, many) => `${number.format(n)} ${n === 1 ? one : many}`;

// --- drawing

/** Show what the server answered. */
export function show(next, { keepFocus = true } = {}) {
  const hadFocus = tree.contains(document.activeElement);
  state = next;
  cut = null;
  selected = new Set();
  if (next.focus !== null && next.focus !== undefined) focused = `node:${next.focus}`;
  draw();
  describe();
  if (keepFocus && hadFocus) focus(focused);
}

function draw() {
  if (!lineOf(focused)) focused = "node:0";
  const total = state.lines.length ? state.lines[0].rows || 0 : 0;
  tree.replaceChildren(...state.lines.map((line) => row(line, total)));
  tools();
}

function row(line, total) {
  const key = keyOf(line);
  const made = make("div", { className: `row ${isGroup(line) ? "group" : line.what}`, draggable: line.depth > 0 && line.what !== "more" });
  made.dataset.key = key;
  made.tabIndex = key === focused ? 0 : -1;
  const aria = { role: "treeitem", "aria-level": line.depth + 1, "aria-setsize": line.siblings, "aria-posinset": line.place };
  if (isGroup(line)) aria["aria-expanded"] = line.is_open;
  if (line.what !== "more") aria["aria-selected"] = selected.has(key);
  for (const [name, value] of Object.entries(aria)) made.setAttribute(name, value);
  if (cut && cut.has(key)) made.classList.add("cut");
  const twist = make("span", { className: isGroup(line) ? "twist" : "twist none" });
  const name = make("span", { className: "name" }, twist, make("span", { className: "label" }, text(line)));
  name.style.paddingLeft = `${Math.min(line.depth, 12) * 1.1}rem`;
  if (isGroup(line)) name.append(make("span", { className: "aside" }, counted(line.values, "value", "values")));
  made.append(name);
  if (line.what !== "more") made.append(count(line, total));
  return made;
}

function text(line) {
  if (line.what === "rare") return counted(line.values, "rare value", "rare values");
  if (line.what === "more") return `Show ${number.format(Math.min(PAGE, line.values))} more of ${number.format(line.values)}`;
  return line.label === "" ? "(empty)" : line.label;
}

function count(line, total) {
  const says = line.rows === null ? "–" : number.format(line.rows);
  const full = line.rows === null ? "rows not shown" : `about ${says} rows`;
  const bar = make("span", { className: "bar" }, make("span"));
  bar.ariaHidden = "true";
  bar.firstChild.style.width = total && line.rows ? `${(100 * line.rows) / total}%` : "0";
  const shown = make("span", { className: "number", title: line.rows === null ? "Fewer than 10 rows, or hidden to protect such a number" : full }, says);
  shown.ariaHidden = "true";
  return make("span", { className: "count" }, bar, shown, make("span", { className: "quiet" }, full));
}

/** Update what is said around the tree. */
function describe() {
  const hasTree = state.lines.length > 0;
  document.getElementById("kind").textContent = state.kind;
  const said = document.getElementById("said");
  if (said) said.textContent = state.hierarchy === "none" ? "no hierarchy" : state.hierarchy;
  const values = counted(state.values, "different value", "different values");
  document.getElementById("size").textContent = hasTree
    ? `${state.hierarchy[0].toUpperCase()}${state.hierarchy.slice(1)}. ${values}, ${counted(state.leaves, "leaf", "leaves")}, height ${state.height}.`
    : `${values}.`;
  const none = document.getElementById("no-tree");
  none.hidden = hasTree;
  document.getElementById("no-tree-says").textContent = state.has_tree
    ? `The hierarchy is ${state.hierarchy}. The column has too many different values to draw it.`
    : withoutTree();
  document.getElementById("tools").hidden = !hasTree && !state.undoes && !state.redoes;
  for (const id of ["keys-help", "shown", "export", "heads"]) document.getElementById(id).hidden = !hasTree;
  document.getElementById("none").hidden = !state.has_tree;
  const lacking = document.getElementById("uncovered");
  lacking.hidden = !state.uncovered;
  lacking.textContent = state.uncovered
    ? `${counted(state.uncovered, "value of the column is", "values of the column are")} not in this hierarchy, so a run would stop. Import a file that contains them, or build another hierarchy.`
    : "";
}

function withoutTree() {
  const how = state.kind === "numeric" || state.kind === "date" ? "ranges" : "sets of values, such as {a, b}";
  return `This column has no hierarchy: classes are published as ${how}. With one, you decide what coarser values look like. There are several ways to build one on this page.`;
}

/** Enable the buttons that make sense for what is selected. */
function tools() {
  const lines = chosen();
  const one = lines.length === 1 ? lines[0] : null;
  const movable = lines.length > 0 && lines.every((line) => line.depth > 0);
  const can = {
    rename: isGroup(one),
    move: movable,
    group: movable,
    split: isGroup(one) && one.depth > 0,
  };
  for (const button of document.querySelectorAll("[data-edit]")) button.disabled = !can[button.dataset.edit];
  for (const [id, says] of [["undo", state.undoes], ["redo", state.redoes]]) {
    const button = document.getElementById(id);
    button.disabled = !says;
    button.title = says ? `${id === "undo" ? "Undo" : "Redo"} ${says}` : "";
  }
}

/** Return the lines that a change is about: the selected ones, else the one with the focus. */
function chosen() {
  const keys = selected.size ? [...selected] : [focused];
  return keys.map(lineOf).filter((line) => line && line.what !== "more");
}

function focus(key) {
  const before = rowOf(focused);
  if (before) before.tabIndex = -1;
  focused = key;
  const row = rowOf(key);
  if (!row) return;
  row.tabIndex = 0;
  row.focus({ preventScroll: false });
  tools();
}

function select(keys, { add = false } = {}) {
  if (!add) selected = new Set();
  for (const key of keys) selected.add(key);
  for (const row of tree.children) {
    if (row.hasAttribute("aria-selected")) row.setAttribute("aria-selected", selected.has(row.dataset.key));
  }
  tools();
}

function toggle(key) {
  if (lineOf(key).what === "more") return;
  const next = new Set(selected);
  if (!next.delete(key)) next.add(key);
  select(next);
}

// --- talking to the server

/** Send something; show the answer, or what went wrong. Return whether it worked. */
async function send(path, body, { onProblem = null } = {}) {
  if (busy) return false;
  busy = true;
  tree.setAttribute("aria-busy", "true");
  clearWrong();
  try {
    show(await call("POST", `${api}/${path}`, body));
    clearProblem();
    return true;
  } catch (error) {
    if (error.status === 409) await reload();
    (onProblem || showWrong)(error);
    return false;
  } finally {
    busy = false;
    tree.removeAttribute("aria-busy");
  }
}

async function reload() {
  try {
    show(await call("POST", `${api}/view`, { open: state ? state.open : { 0: PAGE } }));
  } catch (error) {
    showProblem(error);
  }
}

function edit(action, lines, more = {}, options = {}) {
  const body = {
    version: state.version,
    open: state.open,
    action,
    nodes: lines.filter((line) => line.what === "node").map((line) => line.node),
    rare: lines.filter((line) => line.what === "rare").map((line) => line.node),
    ...more,
  };
  return send("edit", body, options);
}

async function go(path) {
  const says = path === "undo" ? state.undoes : state.redoes;
  if (!says) return announce(`Nothing to ${path}.`);
  if (await send(path, { open: state.open, focus: focusNode() })) announce(`${path === "undo" ? "Undone" : "Done again"}: ${says}.`);
}

/** Return the node with the focus, or the group that it is in. */
const focusNode = () => Number(focused.split(":")[1]);

/** Show an error at the nodes that it is about; elsewhere, at the top of the page. */
function showWrong(error) {
  const rows = error.places.map((node) => rowOf(`node:${node}`)).filter(Boolean);
  if (!rows.length) return showProblem(error);
  for (const row of rows) row.classList.add("wrong");
  const says = make("span", { className: "says" }, ...withCode(`${error.message} What to do: ${error.hint}.`));
  says.setAttribute("role", "alert");
  rows[0].append(says);
  rows[0].scrollIntoView({ block: "nearest" });
}

function clearWrong() {
  for (const row of tree.querySelectorAll(".wrong")) row.classList.remove("wrong");
  for (const says of tree.querySelectorAll(".says")) says.remove();
}

// --- opening and closing

async function setOpen(line, isOpen) {
  const open = { ...state.open };
  if (isOpen) open[line.node] = PAGE;
  else delete open[line.node];
  focused = keyOf(line);
  const kept = [...selected];
  if (await send("view", { open })) select(kept.filter(lineOf));
}

async function listMore(line) {
  const first = state.lines.indexOf(line);
  const open = { ...state.open, [line.node]: (state.open[line.node] || 0) + PAGE };
  if (await send("view", { open })) focus(keyOf(state.lines[first]));
}

// --- changes

function rename(line) {
  const row = rowOf(keyOf(line));
  const label = row.querySelector(".label");
  const input = make("input", { value: line.label, maxLength: 200, autocomplete: "off" });
  input.setAttribute("aria-label", "New name of the group");
  label.replaceChildren(input);
  row.draggable = false;
  input.select();
  input.focus();
  let isDone = false;
  const stop = () => {
    isDone = true;
    draw();
    focus(keyOf(line));
  };
  input.addEventListener("keydown", async (event) => {
    event.stopPropagation();
    if (event.key === "Escape") stop();
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (input.value.trim() === line.label) return stop();
    isDone = true;
    const worked = await edit("rename", [line], { label: input.value }, {
      onProblem: (error) => {
        isDone = false;
        showWrong(error);
        input.setAttribute("aria-invalid", "true");
        input.focus();
      },
    });
    if (worked) {
      focus(focused);
      announce("Renamed.");
    }
  });
  input.addEventListener("blur", () => {
    if (!isDone && document.hasFocus()) stop();
  });
}

/** Ask for something in a dialog; keep it open until it worked. */
function ask(id, submit) {
  const dialog = document.getElementById(id);
  const form = dialog.querySelector("form");
  const problem = dialog.querySelector(".notice");
  clearProblem(problem);
  form.onsubmit = async (event) => {
    if (!event.submitter || !event.submitter.value) return; // cancelled
    event.preventDefault();
    if (await submit((error) => showProblem(error, problem))) dialog.close();
  };
  dialog.onclose = () => focus(focused);
  dialog.showModal();
  return dialog;
}

function group(lines) {
  const input = document.getElementById("group-label");
  input.value = "";
  ask("group-dialog", async (onProblem) => {
    const worked = await edit("group", lines, { label: input.value }, { onProblem });
    if (worked) announce("Grouped.");
    return worked;
  });
  input.focus();
}

function moveTo(lines) {
  const find = document.getElementById("move-find");
  const list = document.getElementById("move-groups");
  find.value = "";
  let timer;
  const search = async (onProblem) => {
    try {
      const found = await call("POST", `${api}/groups`, { text: find.value });
      const moved = new Set(lines.filter((line) => line.what === "node").map((line) => line.node));
      list.replaceChildren(
        ...found.filter((one) => !moved.has(one.node)).map((one, at) => {
          const radio = make("input", { type: "radio", name: "target", value: one.node, checked: at === 0 });
          const path = one.path.length ? make("span", { className: "note" }, ` in ${one.path.join(" › ")}`) : "";
          return make("label", {}, radio, make("span", {}, one.label, path));
        }),
      );
      if (!list.children.length) list.append(make("p", { className: "note" }, "No group has such a name."));
    } catch (error) {
      onProblem(error);
    }
  };
  ask("move-dialog", async (onProblem) => {
    const target = list.querySelector(":checked");
    if (!target) return false;
    const worked = await edit("move", lines, { target: Number(target.value) }, { onProblem });
    if (worked) announce("Moved.");
    return worked;
  });
  const problem = (error) => showProblem(error, document.getElementById("move-problem"));
  find.oninput = () => {
    clearTimeout(timer);
    timer = setTimeout(() => search(problem), 150);
  };
  search(problem);
  find.focus();
}

async function split(line) {
  if (await edit("split", [line])) announce("Split: what was in the group is now in the one above.");
}

const EDITS = { rename: ([line]) => rename(line), move: moveTo, group, split: ([line]) => split(line) };

async function paste(key) {
  const target = lineOf(key);
  if (!cut) return announce("Cut something first.");
  const lines = [...cut].map(lineOf).filter(Boolean);
  await move(lines, target);
}

async function move(lines, target) {
  const into = isGroup(target) ? target.node : parentOf(target);
  if (await edit("move", lines, { target: into })) announce("Moved.");
}

/** Return the group that a line is in. */
function parentOf(line) {
  if (line.what !== "node") return line.node;
  const at = state.lines.indexOf(line);
  for (let above = at - 1; above >= 0; above -= 1) {
    if (state.lines[above].depth < line.depth) return state.lines[above].node;
  }
  return 0;
}

// --- keyboard

const isTyping = (target) => target.matches("input, textarea, select");

tree.addEventListener("keydown", (event) => {
  if (isTyping(event.target)) return;
  const at = state.lines.findIndex((line) => keyOf(line) === focused);
  const line = state.lines[at];
  if (!line) return;
  const done = (event.ctrlKey || event.metaKey ? withControl : plain)(event, at, line);
  if (done !== false) event.preventDefault();
});

function plain(event, at, line) {
  const step = (to) => {
    const next = state.lines[Math.max(0, Math.min(state.lines.length - 1, to))];
    if (event.shiftKey) select([focused, keyOf(next)].filter((key) => !key.startsWith("more")), { add: true });
    focus(keyOf(next));
  };
  switch (event.key) {
    case "ArrowDown": return step(at + 1);
    case "ArrowUp": return step(at - 1);
    case "Home": return step(0);
    case "End": return step(state.lines.length - 1);
    case "PageDown": return step(at + 15);
    case "PageUp": return step(at - 15);
    case "ArrowRight":
      if (isGroup(line)) return line.is_open ? step(at + 1) : void setOpen(line, true);
      return undefined;
    case "ArrowLeft":
      if (isGroup(line) && line.is_open && line.depth) return void setOpen(line, false);
      return line.depth ? focus(`node:${parentOf(line)}`) : undefined;
    case "Enter":
      if (line.what === "more") return void listMore(line);
      return isGroup(line) ? void setOpen(line, !line.is_open) : undefined;
    case " ": return line.what === "more" ? void listMore(line) : toggle(focused);
    case "F2": return isGroup(line) ? rename(line) : announce("Only groups can be renamed.");
    case "Delete": return isGroup(line) && line.depth ? void split(line) : announce("Only groups below the root can be split.");
    case "Escape":
      cut = null;
      select([]);
      return draw(), focus(focused);
    default:
      return event.key.length === 1 && !event.altKey ? find(event.key, at) : false;
  }
}

function withControl(event, at, line) {
  switch (event.key.toLowerCase()) {
    case "x": {
      const lines = chosen().filter((one) => one.depth > 0);
      if (!lines.length) return announce("The root cannot be cut.");
      cut = new Set(lines.map(keyOf));
      draw();
      focus(focused);
      return announce(`${counted(lines.length, "line", "lines")} cut. Go to a group and paste.`);
    }
    case "v": return void paste(focused);
    case "g": {
      const lines = chosen();
      return lines.every((one) => one.depth > 0) ? group(lines) : announce("The root cannot be grouped.");
    }
    case "a": {
      const above = parentOf(line);
      return select(state.lines.filter((one) => one.what !== "more" && one.depth === line.depth && parentOf(one) === above).map(keyOf));
    }
    case " ": return toggle(focused);
    default: return false;
  }
}

/** Jump to the next line that begins with a letter. */
function find(letter, at) {
  const wanted = letter.toLowerCase();
  const order = [...state.lines.slice(at + 1), ...state.lines.slice(0, at + 1)];
  const found = order.find((line) => line.label && line.label.toLowerCase().startsWith(wanted));
  if (found) focus(keyOf(found));
}

document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || isTyping(event.target) || !state) return;
  const key = event.key.toLowerCase();
  const path = key === "y" || (key === "z" && event.shiftKey) ? "redo" : key === "z" ? "undo" : null;
  if (!path) return;
  event.preventDefault();
  go(path);
});

// --- mouse

tree.addEventListener("click", (event) => {
  const row = event.target.closest(".row");
  if (!row || isTyping(event.target)) return;
  const key = row.dataset.key;
  const line = lineOf(key);
  if (line.what === "more") return void listMore(line);
  const before = focused;
  focus(key);
  if (event.target.closest(".twist:not(.none)")) return void setOpen(line, !line.is_open);
  if (event.shiftKey) {
    const ends = [before, key].map((one) => state.lines.findIndex((other) => keyOf(other) === one)).sort((a, b) => a - b);
    return select(state.lines.slice(ends[0], ends[1] + 1).filter((one) => one.what !== "more" && one.depth === line.depth).map(keyOf));
  }
  if (event.ctrlKey || event.metaKey) return toggle(key);
  select([key]);
});

tree.addEventListener("dblclick", (event) => {
  const row = event.target.closest(".row");
  if (!row || isTyping(event.target) || event.target.closest(".twist")) return;
  const line = lineOf(row.dataset.key);
  if (isGroup(line)) rename(line);
});

let dragged = null;
let waiting = null;

tree.addEventListener("dragstart", (event) => {
  const row = event.target.closest(".row");
  const key = row.dataset.key;
  dragged = (selected.has(key) ? [...selected] : [key]).map(lineOf).filter((line) => line.depth > 0);
  event.dataTransfer.effectAllowed = "move";
  event.dataTransfer.setData("text/plain", ""); // no label leaves the page
});

tree.addEventListener("dragover", (event) => {
  const row = event.target.closest(".row");
  if (!dragged || !row) return;
  const line = lineOf(row.dataset.key);
  if (!isGroup(line) || dragged.includes(line)) return;
  event.preventDefault();
  if (row.classList.contains("over")) return;
  leave();
  row.classList.add("over");
  if (!line.is_open) waiting = setTimeout(() => openWhileDragging(line), 900);
});

async function openWhileDragging(line) {
  const keys = dragged && dragged.map(keyOf);
  if (!keys) return;
  await setOpen(line, true);
  dragged = keys.map(lineOf).filter(Boolean);
}

function leave() {
  clearTimeout(waiting);
  for (const row of tree.querySelectorAll(".over")) row.classList.remove("over");
}

tree.addEventListener("dragleave", (event) => {
  if (!tree.contains(event.relatedTarget)) leave();
});
tree.addEventListener("dragend", () => {
  dragged = null;
  leave();
});
tree.addEventListener("drop", (event) => {
  const row = event.target.closest(".row");
  leave();
  if (!dragged || !row) return;
  event.preventDefault();
  const lines = dragged;
  dragged = null;
  move(lines, lineOf(row.dataset.key));
});

// --- buttons

for (const button of document.querySelectorAll("[data-edit]")) {
  button.addEventListener("click", () => EDITS[button.dataset.edit](chosen()));
}
document.getElementById("undo").addEventListener("click", () => go("undo"));
document.getElementById("redo").addEventListener("click", () => go("redo"));

// A toolbar is one stop of the Tab key; arrows walk inside it.
const bar = document.getElementById("tools");
bar.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const items = [...bar.querySelectorAll("button:not(:disabled), a")];
  items[(items.indexOf(document.activeElement) + step + items.length) % items.length].focus();
  event.preventDefault();
});

document.querySelector(".tree-columns [aria-current]").scrollIntoView({ block: "nearest", inline: "center" });
startBuilders(api, show); // before the tree is there: a file may be chosen, or a button pressed, while it loads
try {
  show(await call("GET", api), { keepFocus: false });
} catch (error) {
  showProblem(error);
}
