// Fills of frames: names of colours of the style sheet, for charts of elements and of pixels alike.

import { HEAT_STEPS } from "../../model/picture/drawing.js";
import { HUES } from "../../model/profile/frames.js";
import { WAIT_HUES } from "../../model/profile/wait-causes.js";

// All but those of changes.
export const FILLS = [
  ...[0, ...HEAT_STEPS].map((_, level) => "heat-" + level),
  ...Array.from({ length: HUES }, (_, hue) => "hue-" + hue),
  "hue-library",
  "hue-native",
  "hue-kernel",
  ...WAIT_HUES.map((hue) => "wait-" + hue),
  "neutral",
  "match",
];

// The fill of a frame or a box {heat, hue, neutral, change (as a comparison shows it, or nothing)}; colour: "heat" or
// "module".
export function fillOf({ heat, hue, neutral, change }, colour, isMatched) {
  if (isMatched) return "match";
  if (change) return change;
  if (hue.startsWith("wait-")) return hue;
  if (neutral || (colour === "module" && hue === "none")) return "neutral";
  return colour === "module" ? "hue-" + hue : "heat-" + heat;
}

// The ink of text on it in a chart of pixels; the style sheet says it for elements.
export function inkOf(fill) {
  if (fill.startsWith("heat-")) return fill.replace("heat-", "heat-ink-");
  return fill === "match" || fill === "neutral" ? fill + "-ink" : "hue-ink";
}
