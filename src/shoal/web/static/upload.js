// Send a file, with progress. Used for tables, and for releases to verify.
import { answer, Problem } from "/static/shoal.js";

/** Send a file; return the server's JSON, or throw a Problem. */
export function upload(address, file, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", address);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.addEventListener("progress", (event) => {
      if (progress && event.lengthComputable) progress(event.loaded / event.total);
    });
    request.addEventListener("load", () => {
      try {
        resolve(answer(request.status, request.responseText));
      } catch (error) {
        reject(error);
      }
    });
    request.addEventListener("error", () => {
      const message = "The connection ended before the file was sent, so nothing was kept.";
      reject(new Problem(0, { code: "web.unreachable", message, hint: "is `shoal web` still running?" }));
    });
    request.send(file);
  });
}

/** Call `take` with a file that is chosen, or dropped on an element. */
export function onFile(place, input, take) {
  input.addEventListener("change", () => input.files[0] && take(input.files[0]));
  for (const type of ["dragenter", "dragover"]) {
    place.addEventListener(type, (event) => {
      event.preventDefault();
      place.classList.add("over");
    });
  }
  for (const type of ["dragleave", "drop"]) place.addEventListener(type, () => place.classList.remove("over"));
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
}
