// Files dropped anywhere on the page, and the progress of their upload.

import { formatBytes } from "../model/base/numbers.js";
import { visibleText } from "../model/base/text.js";
import { HOST_TEXT } from "../text/host.js";
import { el, isolated, setText } from "../view/elements/dom.js";

const AFTER_MS = 4000;

function hasFiles(event) {
  return Array.from(event.dataTransfer?.types ?? []).includes("Files");
}

export function listenForDrops(root, isWanted, onFiles) {
  const veil = el("div", { class: "veil", hidden: true, "data-testid": "veil" }, el("p", {}, HOST_TEXT.upload.drop));
  root.append(veil);
  let depth = 0;
  const show = (on) => (veil.hidden = !on);
  window.addEventListener("dragenter", (event) => {
    if (!hasFiles(event) || !isWanted()) return;
    depth += 1;
    show(true);
  });
  window.addEventListener("dragleave", (event) => {
    if (!hasFiles(event) || !isWanted()) return;
    depth = Math.max(0, depth - 1);
    if (depth === 0) show(false);
  });
  window.addEventListener("dragover", (event) => {
    if (hasFiles(event)) event.preventDefault();
  });
  window.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    show(false);
    if (isWanted()) onFiles(Array.from(event.dataTransfer.files));
  });
}

// A line for each upload; `send(file, onProgress)` is a promise of the capture.
export function createUploads(root, send, onCapture) {
  const list = el("ol", { class: "uploads", "data-testid": "uploads" });
  root.append(list);

  async function uploadOne(file) {
    const bar = el("progress", { max: "1", value: "0", "aria-label": HOST_TEXT.upload.label(visibleText(file.name)) });
    const said = el("span", { class: "soft", role: "status" }, formatBytes(file.size));
    const close = el("button", { type: "button", class: "link", "aria-label": HOST_TEXT.dismiss, hidden: true,
      on: { click: () => line.remove() } }, "×");
    const line = el("li", { class: "upload", "data-testid": "upload" },
      isolated(visibleText(file.name), { class: "upload-name" }), bar, said, close);
    list.append(line);
    try {
      const capture = await send(file, (share) => (bar.value = share));
      bar.value = 1;
      setText(said, HOST_TEXT.upload.done);
      setTimeout(() => line.remove(), AFTER_MS);
      return capture;
    } catch (problem) {
      line.dataset.tone = "bad";
      said.setAttribute("role", "alert");
      setText(said, visibleText(problem.message));
      bar.remove();
      close.hidden = false;
      return null;
    }
  }

  return async (files) => {
    const captures = [];
    for (const file of files) captures.push(await uploadOne(file));
    onCapture(captures.filter((capture) => capture !== null), files.length);
  };
}
