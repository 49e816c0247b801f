// Most of the page is compressed: styles, libraries, and its own modules. They are unpacked here
// into inline styles and scripts, which the policy of the page allows by their hashes and by nothing else.

import { bytesOfBase85, inflateBytes } from "./source/inflate.js";

// A browser without what the page is built on gets a sentence instead of a blank page.
function sayTooOld() {
  const text = document.createElement("p");
  text.className = "noscript";
  text.textContent = "This page needs a browser from 2024 or later.";
  document.body.prepend(text);
}

async function unpackAll() {
  for (const packed of document.querySelectorAll("script[data-packed]")) {
    const kind = packed.dataset.packed;
    const element = document.createElement(kind === "style" ? "style" : "script");
    if (kind === "module") element.type = "module";
    element.textContent = await inflateBytes(bytesOfBase85(packed.textContent));
    packed.replaceWith(element);
  }
}

unpackAll().catch(sayTooOld);
