// What all pages share: calls of the API, and how their failures are shown.

/** An error that the server explained. */
export class Problem extends Error {
  constructor(status, error) {
    super(error.message);
    this.status = status;
    this.code = error.code;
    this.hint = error.hint || "";
    this.faults = error.faults || [];
    this.places = error.places || []; // nodes of a tree, or lines of a file
    this.choices = error.choices || []; // tables of a workbook or database
  }
}

/** Call the API; return its JSON, or throw a Problem. */
export async function call(method, address, body) {
  let response;
  try {
    response = await fetch(address, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Problem(0, {
      code: "web.unreachable",
      message: "The server does not answer, so nothing was changed.",
      hint: "is `shoal web` still running in its terminal?",
    });
  }
  return answer(response.status, await response.text());
}

/** Turn a response into its JSON, or a Problem. */
export function answer(status, text) {
  let data = null;
  try {
    data = text ? JSON.parse(text) : null;
  } catch {
    // an error page, or a connection that ended early
  }
  if (status >= 200 && status < 300) return data;
  const error = (data && data.error) || { code: "web.refused", message: `The server answered ${status}.` };
  throw new Problem(status, error);
}

/** Show an error at the top of the page, or in an element. It names what to do, and how to retry. */
export function showProblem(error, place = document.getElementById("problem")) {
  place.replaceChildren(...problemLines(error));
  place.hidden = false;
  place.scrollIntoView({ block: "nearest" });
}

function problemLines(error) {
  const faults = error.faults && error.faults.length > 1 ? error.faults : [error];
  return faults.map((fault) => {
    const line = document.createElement("p");
    line.append(...withCode(fault.message));
    if (fault.hint) {
      const hint = document.createElement("span");
      hint.className = "note";
      hint.append(" What to do: ", ...withCode(fault.hint), ".");
      line.append(hint);
    }
    return line;
  });
}

/** Turn `ticks` into code elements. */
export function withCode(text) {
  return String(text).split("`").map((part, at) => {
    if (at % 2 === 0) return part;
    const code = document.createElement("code");
    code.textContent = part;
    return code;
  });
}

/** Hide the error at the top of the page. */
export function clearProblem(place = document.getElementById("problem")) {
  place.hidden = true;
  place.replaceChildren();
}

/** Say something to everybody, screen readers included. */
export function announce(text) {
  document.getElementById("status").textContent = text;
}

/** Make an element: `make("p", { className: "note" }, "text", child)`. */
export function make(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** A form with `data-busy` says what it is doing while the next page loads, and cannot be sent twice. */
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", () => {
    for (const button of form.querySelectorAll("button")) button.setAttribute("aria-busy", "true");
    announce(form.dataset.busy || "Working ...");
  });
}
// A page that comes back from the browser's memory would still look busy.
window.addEventListener("pageshow", () => {
  for (const button of document.querySelectorAll("button[aria-busy]")) button.removeAttribute("aria-busy");
  announce("");
});
