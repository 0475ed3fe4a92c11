// The histogram of a column of numbers, with cuts that can be dragged or moved by keys.
import { call, showProblem } from "/static/shoal.js";

const NS = "http://www.w3.org/2000/svg";
const WIDTH = 480, HEIGHT = 200, LEFT = 6, RIGHT = 474, TOP = 48, BOTTOM = 172;

const svg = (tag, attributes = {}, ...children) => {
  const made = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 6 });

/** Draw the histogram of the column, and keep it and the field with the cuts the same. */
export async function startHistogram(api) {
  const place = document.getElementById("histogram");
  const chart = place.querySelector("svg");
  const list = document.getElementById("intervals");
  const field = document.getElementById("cuts");
  const notice = field.form.querySelector("[role=alert]");
  let bars;
  try {
    bars = await call("GET", `${api}/histogram`);
  } catch (error) {
    return showProblem(error, notice);
  }
  if (bars.edges.length < 3) return;
  const low = bars.edges[0], high = bars.edges[bars.edges.length - 1];
  const wide = bars.edges[1] - bars.edges[0];
  const step = bars.is_whole ? Math.max(1, wide / 10) : wide / 10; // cuts are round numbers, as bars are
  const x = (value) => LEFT + ((Math.min(Math.max(value, low), high) - low) / (high - low)) * (RIGHT - LEFT);
  let cuts = bars.suggested.slice();
  let timer;

  const rounded = (value) => {
    const at = Math.round(value / step) * step;
    return bars.is_whole ? Math.round(at) : Number(at.toPrecision(12));
  };
  const valueAt = (event) => {
    const box = chart.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * WIDTH;
    return rounded(low + ((at - LEFT) / (RIGHT - LEFT)) * (high - low));
  };

  /** Keep a cut between its neighbours. */
  const within = (value, at) => {
    const least = at ? cuts[at - 1] + step : low + step;
    const most = at + 1 < cuts.length ? cuts[at + 1] - step : high - step;
    return Math.min(Math.max(rounded(value), least), Math.max(least, most));
  };

  function draw() {
    const largest = Math.max(1, ...bars.rows.map((rows) => rows || 0));
    const drawn = bars.rows.map((rows, at) => {
      const from = x(bars.edges[at]), to = x(bars.edges[at + 1]);
      const tall = ((rows || 0) / largest) * (BOTTOM - TOP);
      const part = cuts.filter((cut) => cut <= bars.edges[at]).length;
      return svg("rect", { class: part % 2 ? "bar odd" : "bar", x: from, y: BOTTOM - tall, width: Math.max(0.5, to - from - 1), height: tall });
    });
    const axis = svg("line", { class: "axis", x1: LEFT, x2: RIGHT, y1: BOTTOM, y2: BOTTOM });
    const ends = [svg("text", { x: LEFT, y: HEIGHT - 8 }, `… ${plain.format(low)}`), svg("text", { x: RIGHT, y: HEIGHT - 8, "text-anchor": "end" }, `${plain.format(high)} …`)];
    const area = svg("rect", { class: "field-area", x: LEFT, y: TOP, width: RIGHT - LEFT, height: BOTTOM - TOP });
    area.addEventListener("click", (event) => add(valueAt(event)));
    chart.replaceChildren(...drawn, axis, ...ends, area, ...cuts.map(handle));
  }

  function handle(cut, at) {
    const made = svg(
      "g",
      {
        class: "cut", tabindex: 0, role: "slider", "aria-label": `Cut ${at + 1} of ${cuts.length}`,
        "aria-valuemin": low, "aria-valuemax": high, "aria-valuenow": cut, transform: `translate(${x(cut)} 0)`,
      },
      svg("line", { y1: TOP - 6, y2: BOTTOM }),
      svg("circle", { cy: TOP - 6, r: 7 }),
      svg("text", { y: at % 2 ? 30 : 14 }, plain.format(cut)), // two rows, so that neighbours can be read,
    );
    made.addEventListener("keydown", (event) => keys(event, at));
    made.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      chart.setPointerCapture(event.pointerId);
      const drag = (moved) => change(at, valueAt(moved));
      chart.addEventListener("pointermove", drag);
      chart.addEventListener("pointerup", () => chart.removeEventListener("pointermove", drag), { once: true });
      made.focus();
    });
    return made;
  }

  function keys(event, at) {
    const moves = { ArrowLeft: -step, ArrowDown: -step, ArrowRight: step, ArrowUp: step, PageDown: -wide, PageUp: wide };
    if (event.key in moves) change(at, cuts[at] + moves[event.key]);
    else if (event.key === "Home") change(at, low);
    else if (event.key === "End") change(at, high);
    else if ((event.key === "Delete" || event.key === "Backspace") && cuts.length > 1) remove(at);
    else if (event.key === "Enter" || event.key === "+" || event.key === "Insert") add((cuts[at] + (cuts[at + 1] ?? high)) / 2);
    else return;
    event.preventDefault();
  }

  function change(at, value) {
    cuts[at] = within(value, at);
    update(at);
  }

  function add(value) {
    const cut = rounded(value);
    if (cut <= low || cut >= high || cuts.includes(cut)) return;
    cuts = [...cuts, cut].sort((a, b) => a - b);
    update(cuts.indexOf(cut));
  }

  function remove(at) {
    cuts.splice(at, 1);
    update(Math.min(at, cuts.length - 1));
  }

  function update(at) {
    draw();
    field.value = cuts.join(", ");
    if (at !== undefined) chart.querySelectorAll(".cut")[at]?.focus();
    clearTimeout(timer);
    timer = setTimeout(count, 150);
  }

  async function count() {
    if (!cuts.length) return;
    try {
      const rows = await call("POST", `${api}/rows`, { cuts });
      const names = rows.map((_, at) => name(at));
      list.replaceChildren(...rows.map((n, at) => {
        const item = document.createElement("li");
        item.textContent = `${names[at]}: ${n === null ? "rows not shown" : `${plain.format(n)} rows`}`;
        return item;
      }));
    } catch (error) {
      showProblem(error, notice);
    }
  }

  function name(at) {
    if (at === 0) return `below ${plain.format(cuts[0])}`;
    if (at === cuts.length) return `${plain.format(cuts[at - 1])} and more`;
    const end = bars.is_whole ? cuts[at] - 1 : cuts[at];
    return `${plain.format(cuts[at - 1])} to ${plain.format(end)}`;
  }

  field.addEventListener("input", () => {
    const typed = field.value.split(/[\s,;]+/).filter(Boolean).map(Number);
    if (!typed.length || typed.some((value, at) => Number.isNaN(value) || (at && value <= typed[at - 1]))) return;
    cuts = typed;
    draw();
    clearTimeout(timer);
    timer = setTimeout(count, 300);
  });

  place.hidden = false;
  update();
}
