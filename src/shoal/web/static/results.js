// The page Results: verify a file, check releases together.
import { announce, call, clearProblem, make, showProblem, withCode } from "/static/shoal.js";
import { onFile, upload } from "/static/upload.js";

const place = document.getElementById("verify");

function notice(kind, ...lines) {
  return make("div", { className: `notice ${kind}` }, ...lines.map((line) => make("p", {}, ...withCode(line))));
}

if (place) {
  const sent = document.getElementById("sent");
  const input = document.getElementById("released");
  const verified = document.getElementById("verified");
  onFile(place, input, async (file) => {
    clearProblem();
    verified.replaceChildren();
    sent.hidden = false;
    const original = document.getElementById("original").checked;
    const address = `${place.dataset.api}/verify/upload?file=${encodeURIComponent(file.name)}&original=${original}`;
    try {
      const verdict = await upload(address, file, (share) => {
        sent.value = share;
        announce(share < 1 ? "Sending ..." : "Verifying ...");
      });
      verified.replaceChildren(verdictOf(verdict));
    } catch (error) {
      showProblem(error);
    } finally {
      sent.hidden = true;
      input.value = "";
      announce("");
    }
  });
}

function verdictOf(verdict) {
  const which = verdict.same_bytes
    ? `This is release ${verdict.release}, byte for byte.`
    : `This file is none of the releases; it was held against the promises of release ${verdict.release}.`;
  const lines = [
    verdict.holds ? "Every promise holds." : "Not every promise holds. Do not hand it out.",
    which,
    ...verdict.problems.map((problem) => problem.message),
  ];
  return notice(verdict.holds ? "good" : "bad", ...lines);
}

const together = document.getElementById("together");
if (together) {
  together.addEventListener("click", async () => {
    clearProblem();
    const place = document.getElementById("verdict");
    const releases = new FormData(document.getElementById("choose")).getAll("with").map(Number);
    if (releases.length < 2) {
      place.replaceChildren(notice("warn", "Tick at least two releases to check them together."));
      return;
    }
    together.setAttribute("aria-busy", "true");
    announce("Checking ...");
    try {
      const found = await call("POST", `${together.dataset.api}/together`, { releases });
      place.replaceChildren(togetherOf(found));
    } catch (error) {
      showProblem(error);
    } finally {
      together.removeAttribute("aria-busy");
      announce("");
    }
  });
}

function togetherOf(found) {
  const names = found.releases.join(", ");
  if (found.verdict === "no attack found") {
    return notice("good", `Releases ${names} together: no attack found. That is no proof that there is none.`);
  }
  return notice(
    "bad",
    `Releases ${names} together reveal too much about some people: hand out one of them only.`,
    "Make the next one with these ticked on the page Run: shoal then refuses what reveals too much.",
  );
}
