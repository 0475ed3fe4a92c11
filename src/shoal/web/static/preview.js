// The preview: what a release would lose, asked for again whenever the recipe changes.
import { call, make, withCode } from "/static/shoal.js";

const WIDTH = 400;
const SVG = "http://www.w3.org/2000/svg";
const place = document.getElementById("preview");
let isRunning = false;
let isOutdated = false;
let before = null;
let last = null;

/**
 * Ask for the preview. Returns what was found, or null where another call answers.
 *
 * There is one request at a time: the server estimates one after the other, so that those given up here
 * would only delay the last. What changed meanwhile is asked for once the answer is there.
 */
export async function refresh() {
  isOutdated = true;
  if (isRunning) return null;
  isRunning = true;
  place.classList.add("waiting");
  place.setAttribute("aria-busy", "true");
  if (!last) place.replaceChildren(make("p", { className: "note" }, "Estimating ..."));
  let found = null;
  while (isOutdated) {
    isOutdated = false;
    found = await ask();
  }
  isRunning = false;
  place.classList.remove("waiting");
  place.removeAttribute("aria-busy");
  return found;
}

async function ask() {
  try {
    const found = await call("GET", `${place.dataset.api}/preview`);
    if (!isOutdated) show(found);
    return found;
  } catch (error) {
    const faults = error.faults && error.faults.length ? error.faults : [error];
    if (!isOutdated) place.replaceChildren(...problems(faults), again());
    return null;
  }
}

function again() {
  const button = make("button", { type: "button", className: "small" }, "Try again");
  button.addEventListener("click", refresh);
  return button;
}

function problems(faults) {
  return faults.map((fault) =>
    make("p", { className: "notice bad" }, ...withCode(fault.message),
      ...(fault.hint ? [make("span", { className: "note" }, " ", ...withCode(fault.hint))] : [])));
}

export function percent(share) {
  const value = 100 * share;
  return `${value >= 10 ? value.toFixed(1) : value.toPrecision(2)} %`;
}

function show(found) {
  if (found.gcp !== null && last !== null && last !== found.gcp) before = last;
  if (found.gcp !== null) last = found.gcp;
  if (!found.feasible) {
    place.replaceChildren(make("p", { className: "lost" }, "Not possible"), ...problems(found.problems));
    return;
  }
  const sample = found.sample_rows < found.rows
    ? `Estimated with a quick search on ${found.sample_rows.toLocaleString("en")} of ${found.rows.toLocaleString("en")} rows. `
    : "Estimated with a quick search. ";
  place.replaceChildren(
    make("p", { className: "lost" }, percent(found.gcp), make("small", {}, " of all detail")),
    meter(found),
    make("p", { className: "note" }, sample + "A run searches longer and usually loses a little less. "
      + `No release at k = ${found.k} can lose less than about ${percent(found.floor)}: that is the floor.`),
    ...found.notes.map((note) => make("p", { className: "note" }, note)),
  );
}

/** Draw the loss as a bar above the floor; the last one is a dashed line. */
function meter(found) {
  const most = Math.min(1, nice(Math.max(found.gcp, before || 0, found.floor) * 1.15));
  const at = (share) => Math.max(0, Math.min(1, share / most)) * WIDTH;
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} 70`, class: "meter", role: "img", preserveAspectRatio: "none",
    "aria-label": `Estimated loss ${percent(found.gcp)}, floor ${percent(found.floor)}` });
  svg.append(
    shape("rect", { class: "room", x: 0, y: 18, width: WIDTH, height: 26 }),
    shape("rect", { class: "loss", x: 0, y: 18, width: at(found.gcp), height: 26 }),
    shape("rect", { class: "floor", x: 0, y: 18, width: at(found.floor), height: 26 }),
  );
  if (before !== null) {
    svg.append(shape("line", { class: "was", x1: at(before), x2: at(before), y1: 13, y2: 49 }));
    svg.append(label(at(before), 10, "before"));
  }
  svg.append(label(at(found.floor), 60, "floor"), label(WIDTH, 60, percent(most)));
  svg.removeAttribute("preserveAspectRatio");
  return svg;
}

function label(x, y, text) {
  const anchor = x > WIDTH - 40 ? "end" : x < 20 ? "start" : "middle";
  const made = shape("text", { x, y, "text-anchor": anchor });
  made.textContent = text;
  return made;
}

function nice(value) {
  const steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1];
  return steps.find((step) => step >= value) || 1;
}

function shape(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
