// The first page: upload a table.
import { announce, clearProblem, Problem, showProblem } from "/static/shoal.js";
import { onFile, upload } from "/static/upload.js";

const form = document.getElementById("upload");
const input = document.getElementById("file");
const sent = document.getElementById("sent");

onFile(form, input, async (file) => {
  clearProblem();
  try {
    if (file.size > Number(form.dataset.limit)) {
      throw new Problem(413, {
        code: "web.too_large",
        message: "The file is larger than this server accepts.",
        hint: "copy it into the folder that is served, and open it there",
      });
    }
    sent.hidden = false;
    const project = await upload(`/api/upload?file=${encodeURIComponent(file.name)}`, file, (share) => {
      sent.value = share;
      announce(share < 1 ? `Sending: ${Math.round(100 * share)} %` : "Sent. Counting every column ...");
    });
    location.assign(project.address);
  } catch (error) {
    sent.hidden = true;
    input.value = "";
    announce("");
    showProblem(error);
  }
});
