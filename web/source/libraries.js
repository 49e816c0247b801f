// d3 and d3-flame-graph are in the page compressed, as they are most of it. What comes out is run as an inline script,
// which the page's policy allows by its hash and by nothing else.

import { inflateText } from "./inflate.js";

export async function loadLibraries() {
  const packed = document.getElementById("libraries");
  if (packed === null) return;
  const script = document.createElement("script");
  script.textContent = await inflateText(packed.textContent);
  packed.replaceWith(script);
}
