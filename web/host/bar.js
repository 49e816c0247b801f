// The head of the host page, its banner, and the bar with tabs and search.

import { formatCount } from "../model/base/numbers.js";
import { visibleText } from "../model/base/text.js";
import { AGES } from "../model/host/address.js";
import { countProcesses } from "../model/host/processes.js";
import { nextTheme } from "../model/page/state.js";
import { HOST_TEXT } from "../text/host.js";
import { el, icon, isolated, segmented, setAttribute, setText } from "../view/elements/dom.js";
import { ICONS } from "../view/elements/icons.js";
import { createMark } from "../view/page/header.js";

const THEME_ICONS = { system: "system", light: "sun", dark: "moon" };

function factsOfHost(state) {
  if (state.host === null) return "";
  const counts = countProcesses(state.processes ?? []);
  return [
    HOST_TEXT.header.cores(formatCount(state.host.cpus)),
    HOST_TEXT.header.processes(formatCount(counts.all)),
    counts.refused > 0 ? HOST_TEXT.header.refused(formatCount(counts.refused)) : "",
    state.host.not_permitted > 0 ? HOST_TEXT.header.notPermitted(formatCount(state.host.not_permitted)) : "",
    state.host.examining > 0 ? HOST_TEXT.header.examining(formatCount(state.host.examining)) : "",
  ].filter(Boolean).join("  ·  ");
}

export function createHostHeader(root, act) {
  const name = isolated("", { "data-testid": "host-name" });
  const facts = el("span", { class: "facts", "data-testid": "host-facts" });
  const label = el("span", { role: "status" });
  const status = el("span", { class: "status", "data-testid": "status" }, el("span", { class: "dot" }), label);
  const scope = el("span", { class: "scope-word", "data-testid": "scope", "data-hint": HOST_TEXT.header.viewOnlyHint },
    HOST_TEXT.header.viewOnly);
  const file = el("input", { type: "file", multiple: true, class: "offscreen", tabindex: "-1", "aria-hidden": "true",
    "data-testid": "file", on: { change: () => {
      act.upload(Array.from(file.files));
      file.value = "";
    } } });
  const open = el("button", { type: "button", class: "quiet wide", "data-hint": HOST_TEXT.header.openFileHint,
    "data-testid": "open-file", on: { click: () => file.click() } }, icon(ICONS.upload),
    el("span", {}, HOST_TEXT.header.openFile));
  const share = el("button", { type: "button", class: "quiet wide", "data-hint": HOST_TEXT.header.shareHint,
    "data-testid": "share", on: { click: () => act.share() } }, icon(ICONS.share),
    el("span", {}, HOST_TEXT.header.share));
  const theme = el("button", { type: "button", class: "quiet", "data-testid": "theme",
    on: { click: () => act.nextTheme() } });
  const help = el("button", { type: "button", class: "quiet", "aria-label": HOST_TEXT.header.help,
    "data-hint": HOST_TEXT.header.helpHint, "data-testid": "help", on: { click: () => act.help() } }, "?");
  root.append(
    el("header", { class: "header host-header" },
      el("div", { class: "identity" }, createMark(), el("h1", {}, name), facts),
      el("div", { class: "progress" }, scope, status), el("div", { class: "actions" }, file, open, share, theme, help)),
  );
  let shown = null;
  return {
    update(state) {
      setText(name, state.host === null ? HOST_TEXT.title : visibleText(state.host.host));
      setText(facts, factsOfHost(state));
      const { state: connection } = state.connection;
      setText(label, HOST_TEXT.header.status[connection]);
      setAttribute(status, "data-status", connection === "ok" ? "running" : connection);
      scope.hidden = state.operator;
      open.hidden = !state.operator || state.folder === null;
      share.hidden = !state.operator || !state.canShare;
      if (shown === state.theme) return;
      shown = state.theme;
      theme.replaceChildren(icon(ICONS[THEME_ICONS[state.theme]]));
      setAttribute(theme, "aria-label", HOST_TEXT.header.theme(state.theme));
      setAttribute(theme, "data-hint", HOST_TEXT.header.themeHint(state.theme, nextTheme(state.theme)));
    },
  };
}

export function createHostBanner(root, act) {
  const text = el("span", { "data-testid": "banner-text" });
  const retry = el("button", { type: "button", "data-testid": "reconnect", on: { click: () => act.retry() } },
    HOST_TEXT.banner.retry);
  const element = el("div", { class: "banner", role: "alert", hidden: true, "data-testid": "banner" }, text, retry);
  root.append(element);
  return {
    update({ connection }) {
      element.hidden = connection.state === "ok" || connection.state === "connecting";
      if (connection.state === "denied") setText(text, HOST_TEXT.banner.denied);
      if (connection.state === "lost")
        setText(text, (connection.detail === ""
          ? HOST_TEXT.banner.silent
          : HOST_TEXT.banner.answered(visibleText(connection.detail))).replace(/\.\.$/, ".") + HOST_TEXT.banner.old);
    },
  };
}

function choiceBox(label, testid, change) {
  const select = el("select", { "aria-label": label, "data-testid": testid,
    on: { change: () => change(select.value) } });
  let shown = "";
  return {
    element: select,
    // options: [[value, text]]
    set(options, value) {
      const signature = JSON.stringify(options);
      if (signature !== shown)
        select.replaceChildren(...options.map(([key, text]) => el("option", { value: key }, text)));
      shown = signature;
      if (select.value !== value) select.value = value;
      setAttribute(select, "data-active", value !== options[0][0] || null);
    },
  };
}

function searchBox(label, testid, change) {
  const input = el("input", { type: "search", placeholder: label, "aria-label": label, autocomplete: "off",
    spellcheck: "false", "data-testid": testid, on: { input: () => change(input.value) } });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    input.value = "";
    change("");
    input.blur();
  });
  return { element: el("label", { class: "field" }, icon(ICONS.search), input), input, set: (value) => {
    if (document.activeElement !== input && input.value !== value) input.value = value;
  } };
}

// The words that the captures shown have in one place, and what is chosen even if none has it.
function choicesOf(captures, read, chosen, all) {
  const values = new Set((captures ?? []).flatMap(read).filter(Boolean));
  if (chosen !== "") values.add(chosen);
  return [["", all], ...Array.from(values).sort().map((value) => [value, visibleText(value)])];
}

export function createHostToolbar(root, act) {
  const tabs = segmented(HOST_TEXT.toolbar.label, "tabs",
    Object.entries(HOST_TEXT.toolbar.tabs).map(([value, text]) => ({ value, label: text })),
    (host) => act.address({ host }, "push"));
  const search = searchBox(HOST_TEXT.toolbar.searchProcesses, "search",
    (value) => act.address({ search: value.trim() }, "replace"));
  const find = searchBox(HOST_TEXT.toolbar.searchCaptures, "find",
    (value) => act.address({ find: value.trim() }, "replace"));
  const only = el("button", { type: "button", class: "chip", "data-testid": "only",
    "data-hint": HOST_TEXT.toolbar.onlyHint, on: { click: () => act.toggleOnly() } }, HOST_TEXT.toolbar.only);
  const age = choiceBox(HOST_TEXT.toolbar.started, "age", (value) => act.address({ age: value }, "push"));
  const on = choiceBox(HOST_TEXT.toolbar.host, "on", (value) => act.address({ on: value }, "push"));
  const label = choiceBox(HOST_TEXT.toolbar.capturesLabel, "label-choice",
    (value) => act.address({ label: value }, "push"));
  const chosen = el("span", { class: "chosen-count", role: "status", "data-testid": "chosen" });
  const profile = el("button", { type: "button", class: "primary", "data-testid": "profile-selected",
    on: { click: () => act.options(act.selected()) } }, HOST_TEXT.toolbar.profileTogether);
  const compare = el("button", { type: "button", class: "primary", "data-testid": "compare",
    "data-hint": HOST_TEXT.toolbar.compareHint, on: { click: () => act.compare() } }, HOST_TEXT.toolbar.compare);
  const remove = el("button", { type: "button", "data-testid": "delete-chosen",
    on: { click: () => act.deleteChosen() } }, HOST_TEXT.toolbar.delete);
  const clear = el("button", { type: "button", class: "link", "data-testid": "clear-chosen",
    on: { click: () => act.clear() } }, HOST_TEXT.toolbar.clear);
  const chosenBar = el("div", { class: "chosen" }, chosen, profile, compare, remove, clear);
  root.append(
    el("div", { class: "toolbar host-toolbar", role: "toolbar", "aria-label": HOST_TEXT.toolbar.label }, tabs.element,
      chosenBar, only, age.element, on.element, label.element, search.element, find.element),
  );
  const count = { processes: null, sessions: null, captures: null };
  for (const button of tabs.element.children) {
    count[button.dataset.value] = el("span", { class: "tab-count" });
    button.replaceChildren(HOST_TEXT.toolbar.tabs[button.dataset.value], count[button.dataset.value]);
  }
  tabs.element.querySelector("[data-value=sessions]").classList.add("narrow-only");

  function updateChosen(state, captures) {
    const amount = captures ? state.chosen.size : state.selected.size;
    chosenBar.hidden = amount === 0 || !state.operator || state.tab === "sessions";
    setText(chosen, HOST_TEXT.toolbar.selected(formatCount(amount)));
    profile.hidden = captures;
    compare.hidden = !captures || amount !== 2;
    remove.hidden = !captures;
    setText(profile, amount === 1 ? HOST_TEXT.toolbar.profile : HOST_TEXT.toolbar.profileTogether);
  }

  return {
    focusSearch() {
      const { input } = search.element.hidden ? find : search;
      input.focus();
      input.select();
    },
    update(state) {
      const { address, tab } = state;
      const captures = tab === "captures";
      tabs.set(tab);
      setText(count.processes, state.processes === null ? "" : formatCount(state.processes.length));
      setText(count.sessions, state.sessions === null ? "" : formatCount(state.sessions.running.length));
      const kept = state.files.length + (state.folder?.total ?? 0);
      setText(count.captures, kept > 0 ? formatCount(kept) : "");
      search.set(address.search);
      find.set(address.find);
      search.element.hidden = tab !== "processes";
      only.hidden = tab !== "processes";
      for (const control of [find, age, on, label]) control.element.hidden = !captures || state.folder === null;
      setAttribute(only, "aria-pressed", String(address.only));
      age.set(AGES.map((value) => [value, HOST_TEXT.toolbar.ages[value]]), address.age);
      on.set(choicesOf(state.captures, (capture) => [capture.target?.host], address.on, HOST_TEXT.toolbar.allHosts),
        address.on);
      label.set(choicesOf(state.captures, (capture) => capture.labels, address.label, HOST_TEXT.toolbar.allLabels),
        address.label);
      updateChosen(state, captures);
    },
  };
}
