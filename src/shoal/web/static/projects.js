// The first page: upload a table.
import { announce, clearProblem, make, Problem, showProblem } from "/static/shoal.js";
import { onFile, upload } from "/static/upload.js";

const form = document.getElementById("upload");
const input = document.getElementById("file");
const sent = document.getElementById("sent");
const sheets = document.getElementById("sheets");

onFile(form, input, (file) => send(file));

/** Send a table, or one table of a workbook or database, and go to its project. */
async function send(file, sheet) {
  clearProblem();
  sheets.hidden = true;
  try {
    if (file.size > Number(form.dataset.limit)) {
      throw new Problem(413, {
        code: "web.too_large",
        message: "The file is larger than this server accepts.",
        hint: "copy it into the folder that is served, and open it there",
      });
    }
    sent.hidden = false;
    const chosen = sheet === undefined ? "" : `&table=${encodeURIComponent(sheet)}`;
    const address = `/api/upload?file=${encodeURIComponent(file.name)}${chosen}`;
    const project = await upload(address, file, (share) => {
      sent.value = share;
      announce(share < 1 ? `Sending: ${Math.round(100 * share)} %` : "Sent. Counting every column ...");
    });
    location.assign(project.address);
  } catch (error) {
    sent.hidden = true;
    input.value = "";
    announce("");
    if (error.choices && error.choices.length) ask(file, error.choices);
    else showProblem(error);
  }
}

/** Ask which table of a workbook or database it should be. */
function ask(file, names) {
  const select = make("select", { id: "sheet" }, ...names.map((name) => make("option", { value: name }, name)));
  const open = make("button", { type: "button" }, "Open");
  open.addEventListener("click", () => send(file, select.value));
  const label = make("label", { htmlFor: "sheet" }, `${file.name} has ${names.length} tables. Which one?`);
  sheets.replaceChildren(label, " ", select, " ", open);
  sheets.hidden = false;
  select.focus();
}
