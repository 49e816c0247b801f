// Most of the page travels in it compressed: how it looks, the libraries, and all of its own modules. What comes out
// becomes inline styles and scripts, which the page's policy allows by their hashes and by nothing else.

import { inflateText } from "./source/inflate.js";

// A browser without what the page is built on gets a sentence instead of a blank page.
function sayTooOld() {
  const text = document.createElement("p");
  text.className = "noscript";
  text.textContent = "This page needs a browser of 2024 or later.";
  document.body.prepend(text);
}

async function unpackAll() {
  for (const packed of document.querySelectorAll("script[data-packed]")) {
    const kind = packed.dataset.packed;
    const element = document.createElement(kind === "style" ? "style" : "script");
    if (kind === "module") element.type = "module";
    element.textContent = await inflateText(packed.textContent);
    packed.replaceWith(element);
  }
}

unpackAll().catch(sayTooOld);
