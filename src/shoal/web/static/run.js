// The page Run: start, follow, cancel. The server sends the whole state of the run whenever it changes.
import { announce, call, clearProblem, make, showProblem, withCode } from "/static/shoal.js";

const place = document.getElementById("run");
const api = place.dataset.api;
const element = (id) => document.getElementById(id);
const PHASES = {
  queued: "Waiting",
  running: "Running",
  done: "The release is made, and every promise was verified",
  failed: "There is no release",
  cancelled: "Cancelled",
  interrupted: "Interrupted",
};
let events = null;
let last = null;

function show(run) {
  const isActive = run.phase === "queued" || run.phase === "running";
  element("run-title").textContent = isActive ? PHASES[run.phase] : "The last run";
  element("live").hidden = !isActive && run.losses.length === 0;
  element("share").hidden = !isActive;
  element("cancel").hidden = !isActive;
  element("go").disabled = isActive;
  element("see").hidden = run.release === null;
  if (run.release !== null) element("see").href = `${place.dataset.base}/results/${run.release}`;
  showStage(run, isActive);
  drawLosses(run.losses);
  if (!isActive) element("outcome").replaceChildren(...outcome(run));
  else element("outcome").replaceChildren(...run.warnings.map((text) => notice("warn", text)));
  if (last !== null && last.phase !== run.phase) announce(isActive ? "" : PHASES[run.phase]);
  last = run;
}

function showStage(run, isActive) {
  const entry = element("stages").querySelector(`[data-stage="${CSS.escape(run.stage)}"]`);
  const words = entry ? entry.textContent : run.stage;
  const waiting = run.ahead > 0 ? `Waiting for ${run.ahead} other ${run.ahead === 1 ? "run" : "runs"}` : "Waiting";
  element("stage").textContent = isActive ? (run.phase === "queued" ? waiting : words || "Starting") : "";
  element("text").textContent = isActive ? run.text : "";
  if (run.share > 0) element("share").value = run.share;
  else element("share").removeAttribute("value"); // moving: nobody knows how far it is
  if (!isActive || !entry) {
    element("stages").hidden = !isActive;
    return;
  }
  element("stages").hidden = false;
  // Stages overlap a little; a stage that was shown once stays in the list.
  entry.hidden = false;
  for (const one of element("stages").children) {
    const isNow = one === entry;
    if (one.classList.contains("now") && !isNow) one.classList.add("over");
    one.classList.toggle("now", isNow && run.share < 1);
    if (isNow) one.classList.toggle("over", run.share >= 1);
  }
}

function outcome(run) {
  const seconds = run.seconds ? ` It took ${run.seconds.toFixed(run.seconds < 10 ? 1 : 0)} s.` : "";
  const lines = [];
  if (run.phase === "done") {
    lines.push(notice("good", `Release ${run.release} is made, and another engine verified every promise.${seconds}`));
    if (run.result) lines.push(tiles(run.result));
  } else if (run.phase === "failed") {
    const faults = run.error.faults && run.error.faults.length ? run.error.faults : [run.error];
    lines.push(notice("bad", "There is no release: nothing was written."));
    for (const fault of faults) lines.push(notice("bad", fault.message, fault.hint));
  } else if (run.phase === "cancelled") {
    lines.push(notice("warn", "The run was cancelled. Nothing of it is left."));
  } else if (run.phase === "interrupted") {
    lines.push(notice("warn", "The run was interrupted, because the server ended. Nothing of it is left; run it again."));
  }
  return [...lines, ...run.warnings.map((text) => notice("warn", text))];
}

function notice(kind, text, hint = "") {
  const line = make("p", {}, ...withCode(text));
  if (hint) line.append(make("span", { className: "note" }, " What to do: ", ...withCode(hint), "."));
  return make("div", { className: `notice ${kind}` }, line);
}

function tiles(result) {
  const facts = [
    ["rows released", result.released],
    ["left out", result.suppressed],
    ["classes", result.classes],
    ["smallest class", result.k],
  ];
  const shown = facts.filter(([, value]) => value !== null && value !== undefined);
  const parts = shown.map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, value.toLocaleString("en"))),
  );
  return make("dl", { className: "tiles" }, ...parts);
}

const SVG = "http://www.w3.org/2000/svg";
function draw(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function drawLosses(losses) {
  element("falling").hidden = losses.length < 2;
  if (losses.length < 2) return;
  const [left, right, top, bottom] = [64, 630, 12, 190];
  const begin = losses[0][0];
  const end = Math.max(losses[losses.length - 1][0], begin + 0.5);
  const values = losses.map(([, loss]) => loss);
  const most = Math.max(...values);
  const least = Math.min(...values);
  const low = Math.max(0, least - 0.15 * (most - least || most));
  const x = (seconds) => left + ((right - left) * (seconds - begin)) / (end - begin);
  const y = (loss) => bottom - ((bottom - top) * (loss - low)) / (most - low || 1);
  const round = (value) => Math.round(value).toLocaleString("en");
  const parts = [most, (most + least) / 2, least].flatMap((loss) => [
    draw("line", { class: "grid", x1: left, x2: right, y1: y(loss), y2: y(loss) }),
    draw("text", { x: left - 8, y: y(loss) + 4, "text-anchor": "end" }, round(loss)),
  ]);
  const path = losses.map(([seconds, loss], at) => `${at ? "L" : "M"}${x(seconds).toFixed(1)},${y(loss).toFixed(1)}`);
  const [seconds, loss] = losses[losses.length - 1];
  parts.push(
    draw("path", { class: "line", d: path.join("") }),
    draw("circle", { class: "dot", cx: x(seconds), cy: y(loss), r: 4 }),
    draw("text", { x: left, y: 212 }, `${begin.toFixed(0)} s`),
    draw("text", { x: right, y: 212, "text-anchor": "end" }, `${end.toFixed(0)} s`),
  );
  element("chart").replaceChildren(...parts);
  const gain = 1 - loss / losses[0][1];
  const words = gain > 0 ? `${(100 * gain).toFixed(1)} % less than at its start.` : "";
  element("gain").textContent = words;
  element("chart").setAttribute("aria-label", `The loss over time: now ${round(loss)}. ${words}`);
}

function follow() {
  if (events) events.close();
  events = new EventSource(`${api}/events`);
  events.addEventListener("message", (event) => {
    clearProblem();
    const run = JSON.parse(event.data);
    show(run);
    if (run.phase !== "queued" && run.phase !== "running") events.close();
  });
  events.addEventListener("error", () => {
    if (!last || (last.phase !== "queued" && last.phase !== "running")) return;
    showProblem({
      message: "The server does not answer, so the progress is not known.",
      hint: "if `shoal web` has ended, start it again and open its new address: the page then says what became of the run",
    });
  });
}

async function submit(form, method, body) {
  clearProblem();
  const button = form.querySelector("button:not([type])");
  button.setAttribute("aria-busy", "true");
  try {
    show(await call(method, `${api}/run`, body));
    follow();
  } catch (error) {
    showProblem(error);
  } finally {
    button.removeAttribute("aria-busy");
    announce("");
  }
}

element("start").addEventListener("submit", (event) => {
  event.preventDefault();
  const data = new FormData(event.target);
  for (const one of element("stages").children) {
    one.hidden = true;
    one.className = "";
  }
  submit(event.target, "POST", {
    also: data.getAll("also").map(Number),
    accept_composition: data.has("accept_composition"),
    bound: !data.has("no_bound"),
    analyses: data.get("analysis").split("\n").map((line) => line.trim()).filter(Boolean),
  });
});
element("cancel").addEventListener("submit", (event) => {
  event.preventDefault();
  submit(event.target, "DELETE");
});
if (place.dataset.phase) follow();
