// The toolbar: views, those that are asked for less behind a button, threads, search.

import { viewKey, VIEWS } from "../../model/page/address.js";
import { createTasksOffer } from "../../model/threads/tasks.js";
import { TEXT } from "../../text/session.js";
import { el, scrollSideways, segmented, setAttribute, setText } from "../elements/dom.js";
import { createSearch } from "../filters/search.js";
import { createThreadFilter } from "../filters/threads.js";
import { remember, remembered } from "./browser.js";

const MORE_KEY = "pyrometer.views";

export function createToolbar(root, dispatch) {
  const change = (changes) => dispatch({ type: "address", changes, how: "push" });
  const view = segmented(TEXT.view.label, "view",
    VIEWS.map((value, i) => ({ value, label: TEXT.view[value][0],
      hint: TEXT.view[value][1] + "  ( " + viewKey(i) + " )" })
    ), (value) => change({ view: value }));
  const more = el("button", { type: "button", "data-testid": "more-views", on: { click: () => toggleMore() } });
  view.element.append(more);
  const tasksButton = view.element.querySelector("[data-value=tasks]");
  const offersTasks = createTasksOffer();
  const threads = createThreadFilter(dispatch);
  const search = createSearch(dispatch);
  root.append(view.element, threads.element, search.element);
  threads.attach();
  let scrolledTo = null;
  let hasMore = remembered(MORE_KEY) === "yes";

  function showMore() {
    setAttribute(view.element, "data-more", hasMore);
    setAttribute(more, "aria-expanded", String(hasMore));
    setText(more, hasMore ? TEXT.view.fewer : TEXT.view.more);
  }

  function toggleMore() {
    hasMore = !hasMore;
    remember(MORE_KEY, hasMore ? "yes" : "no");
    showMore();
  }

  showMore();

  return {
    focusSearch: search.focus,
    update(state) {
      view.set(state.address.view);
      tasksButton.hidden = state.address.view !== "tasks" && !offersTasks(state);
      if (scrolledTo !== state.address.view)
        scrollSideways(view.element.querySelector("[data-value=" + state.address.view + "]"));
      scrolledTo = state.address.view;
      threads.update(state);
      search.update(state);
    },
  };
}
