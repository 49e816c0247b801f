// The legend of the colours.

import { FLAME_VIEWS } from "../../model/page/address.js";
import { HEAT_STEPS } from "../../model/picture/drawing.js";
import { WAIT_HUES } from "../../model/profile/wait-causes.js";
import { TEXT } from "../../text/session.js";
import { el, swatch } from "../elements/dom.js";

export function createLegend(root) {
  const swatches = [0, ...HEAT_STEPS].map((step, level) =>
    swatch("heat-" + level, {
      "data-hint": step === 0 ? TEXT.colour.below(HEAT_STEPS[0] * 100) : TEXT.colour.from(step * 100),
    })
  );
  const meaning = el("span", {});
  const scale = el("span", { class: "scale" }, el("span", { class: "soft" }, "0 %"),
    el("span", { class: "swatches" }, ...swatches), el("span", { class: "soft" }, "40 %"));
  const neutral = el("span", { class: "scale" }, swatch("neutral"),
    el("span", { class: "soft" }, TEXT.colour.neutral(HEAT_STEPS[0] * 100)));
  const waits = WAIT_HUES.map((hue) =>
    el("span", { class: "scale", "data-testid": "legend-wait" }, swatch("wait-" + hue),
      el("span", { class: "soft" }, TEXT.colour.waits[hue]))
  );
  const waitList = el("span", { class: "legend-waits" }, el("span", {}, TEXT.colour.waitsFor), ...waits);
  const element = el("div", { class: "legend" }, meaning, scale, neutral, waitList);
  root.append(element);
  return {
    update(state) {
      element.hidden = ![...FLAME_VIEWS, "sandwich", "stacks"].includes(state.address.view)
        || (state.picture.drawing === null && state.picture.stacks === null);
      const heat = state.address.colour === "heat";
      scale.hidden = !heat;
      const hues = state.picture.waitHues;
      waitList.hidden = hues.length === 0;
      waits.forEach((wait, i) => (wait.hidden = !hues.includes(WAIT_HUES[i])));
      const heatMeaning = state.picture.measure === null ? TEXT.colour.heatMeaning : TEXT.colour.heatMeaningAmount;
      meaning.textContent = heat ? heatMeaning : TEXT.colour.moduleMeaning;
    },
  };
}
