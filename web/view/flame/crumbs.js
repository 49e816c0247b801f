// The path from the root to the zoomed frame; each step zooms out to it.

import { formatCount, formatShare, ratio } from "../../model/base/numbers.js";
import { FLAME_VIEWS } from "../../model/page/address.js";
import { TEXT } from "../../text/session.js";
import { el, isolated } from "../elements/dom.js";

const STEPS_MAX = 6;

export function createCrumbs(root, dispatch) {
  const list = el("ol", { class: "crumbs", "data-testid": "breadcrumb", "aria-label": TEXT.crumbs.label });
  const note = el("span", { class: "crumbs-note", "data-testid": "drawing-note" });
  const line = el("div", { class: "crumbs-line" }, list, note);
  root.append(line);
  let shown = "";

  function zoomTo(keys) {
    dispatch({ type: "address", changes: { zoom: keys }, how: "push" });
  }

  function step(text, keys, isLast) {
    const button = el("button", { type: "button", class: "crumb", "aria-current": isLast ? "true" : null,
      on: { click: () => zoomTo(keys) } }, isolated(text));
    return el("li", {}, button);
  }

  function steps(path, keys) {
    const hidden = Math.max(0, path.length - STEPS_MAX);
    const items = [step(TEXT.all, [], path.length === 0)];
    if (hidden > 0) items.push(el("li", { class: "gap" }, TEXT.crumbs.more(formatCount(hidden))));
    path.slice(hidden).forEach((frame, i) => {
      const at = hidden + i + 1;
      items.push(step(frame.label.name, keys.slice(0, at), at === path.length));
    });
    if (path.length > 0) {
      const reset = el("button", { type: "button", class: "link", "data-testid": "zoom-reset", on: { click: () =>
        zoomTo([]) } }, TEXT.crumbs.reset);
      items.push(el("li", { class: "reset" }, reset));
    }
    return items;
  }

  function noteText(state) {
    const { focus, focusTotal, sum, drawing } = state.picture;
    if (focus.missing > 0) return TEXT.crumbs.noFrame(state.live);
    if (drawing === null) return "";
    if (state.picture.chosen.missing > 0) return TEXT.crumbs.noThread(state.live);
    if (focus.id !== 0)
      return TEXT.crumbs.zoomed(state.picture.countText(focusTotal), formatShare(ratio(focusTotal, sum)));
    return state.picture.countText(sum);
  }

  return {
    update(state) {
      const { focus } = state.picture;
      line.hidden = !FLAME_VIEWS.includes(state.address.view) || (state.picture.empty !== null && focus.missing === 0);
      const path = state.picture.pathTo(focus.id);
      const signature = path.map((frame) => frame.id).join(" ") + state.address.by + state.address.bottomUp
        + state.recording.profile.epoch;
      if (signature !== shown) {
        shown = signature;
        list.replaceChildren(...steps(path, state.picture.keysTo(focus.id)));
      }
      note.textContent = noteText(state);
    },
  };
}
