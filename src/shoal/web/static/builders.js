// Ways to build a hierarchy: forms, an imported file, and cuts in a histogram.
import { announce, call, clearProblem, make, Problem, showProblem } from "/static/shoal.js";
import { onFile, upload } from "/static/upload.js";
import { startHistogram } from "/static/histogram.js";

const LARGEST = 16 << 20;

/** Let the forms call the API; `show` gets the new tree. */
export function startBuilders(api, show) {
  for (const form of document.querySelectorAll("form[data-builder]")) {
    const notice = form.querySelector("[role=alert]");
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      clearProblem(notice);
      try {
        const levels = readLevels(form);
        show(await call("POST", `${api}/build`, { builder: form.dataset.builder, levels }));
        announce("Built. Undo brings the hierarchy before back.");
      } catch (error) {
        announce("");
        showProblem(error, notice);
      } finally {
        for (const button of form.querySelectorAll("[aria-busy]")) button.removeAttribute("aria-busy");
      }
    });
  }
  startImport(api, show);
  if (document.getElementById("histogram")) startHistogram(api);
}

/** Read numbers that were typed, or choices. */
function readLevels(form) {
  const fields = [...form.querySelectorAll("[name=levels]")];
  const texts = fields.filter((field) => field.type !== "checkbox" || field.checked).map((field) => field.value);
  if (["dates", "codes", "induce"].includes(form.dataset.builder)) {
    // All columns are what `induce` uses without a list.
    return form.dataset.builder === "induce" && texts.length === fields.length ? [] : texts;
  }
  const parts = texts.join(" ").split(/[\s,;]+/).filter(Boolean);
  if (parts.some((part) => Number.isNaN(Number(part)))) {
    throw new Problem(422, { code: "web.invalid", message: "Something else than numbers was typed.", hint: "for example 5, 10, 20" });
  }
  return parts.map(Number);
}

function startImport(api, show) {
  const form = document.getElementById("import");
  const input = document.getElementById("file");
  const notice = form.querySelector("[role=alert]");
  form.addEventListener("submit", (event) => event.preventDefault());
  onFile(form, input, async (file) => {
    clearProblem(notice);
    try {
      if (file.size > LARGEST) {
        throw new Problem(413, { code: "web.too_large", message: "The file is larger than 16 MB.", hint: "copy it into the project's folder `hierarchies`, and name it in the recipe" });
      }
      const complete = document.getElementById("complete").checked;
      show(await upload(`${api}/file?file=${encodeURIComponent(`tree.${ending(file.name)}`)}&complete=${complete}`, file));
      announce("Imported.");
    } catch (error) {
      showProblem(error, notice);
      if (error.places.length) {
        notice.append(make("ul", { className: "lines" }, ...error.places.map((fault) => make("li", {}, `Line ${fault.line}: ${fault.message}.`))));
      }
    } finally {
      input.value = "";
    }
  });
}

// The name of a file stays here: it may say what is in it, and addresses are logged.
const ending = (name) => name.split(".").pop().toLowerCase().replace(/[^a-z0-9]/g, "").slice(0, 8);
