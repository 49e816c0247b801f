// Most of the page travels in it compressed: the libraries, and all of its own modules. What comes out is run as inline
// scripts, which the page's policy allows by their hashes and by nothing else.

import { inflateText } from "./source/inflate.js";

// A browser without what the page is built on gets a sentence instead of a blank page.
function sayTooOld() {
  const text = document.createElement("p");
  text.className = "noscript";
  text.textContent = "This page needs a browser of 2024 or later.";
  document.body.prepend(text);
}

async function unpackScripts() {
  for (const packed of document.querySelectorAll("script[data-packed]")) {
    const script = document.createElement("script");
    if (packed.dataset.packed === "module") script.type = "module";
    script.textContent = await inflateText(packed.textContent);
    packed.replaceWith(script);
  }
}

unpackScripts().catch(sayTooOld);
