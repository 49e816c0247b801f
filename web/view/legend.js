// What the colours mean, and the other way to colour.

import { FLAME_VIEWS } from "../model/address.js";
import { HEAT_STEPS } from "../model/picture.js";
import { el, segmented } from "./dom.js";

export function createLegend(root, dispatch) {
  const colour = segmented("Colour", "colour", [
    { value: "heat", label: "Heat", hint: "The hotter, the more samples were taken in the frame itself" },
    { value: "module", label: "Module", hint: "One hue per package, and per file of your own code" },
  ], (value) => dispatch({ type: "address", changes: { colour: value }, how: "push" }));
  const swatches = [0, ...HEAT_STEPS].map((step, level) => el("i", { class: "swatch", "data-look": "h" + level, "data-hint": step === 0 ? "below " + HEAT_STEPS[0] * 100 + " %" : "from " + step * 100 + " %" }));
  const meaning = el("span", {});
  const scale = el("span", { class: "scale" }, el("span", { class: "soft" }, "0 %"), el("span", { class: "swatches" }, ...swatches), el("span", { class: "soft" }, "40 %"));
  const neutral = el("span", { class: "scale" }, el("i", { class: "swatch", "data-look": "neutral" }), el("span", { class: "soft" }, "idle, or C code below " + HEAT_STEPS[0] * 100 + " %"));
  const element = el("div", { class: "legend" }, colour.element, meaning, scale, neutral);
  root.append(element);
  return {
    update(state) {
      element.hidden = ![...FLAME_VIEWS, "sandwich"].includes(state.address.view) || state.picture.drawing === null;
      colour.set(state.address.colour);
      const heat = state.address.colour === "heat";
      scale.hidden = !heat;
      meaning.textContent = heat ? "Own samples" : "One hue per package or file; grey-blue: Python's own library";
    },
  };
}
