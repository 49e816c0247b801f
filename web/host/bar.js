// The head of the host page: which host, how it goes, what concerns all of it; and the bar with tabs and search.

import { AGES } from "../model/hosting.js";
import { formatCount } from "../model/numbers.js";
import { countProcesses } from "../model/processes.js";
import { visibleText } from "../model/text.js";
import { createMark } from "../view/header.js";
import { el, icon, isolated, segmented, setAttribute, setText } from "../view/dom.js";
import { ICONS } from "../view/icons.js";

const AGE_LABELS = { any: "Any time", hour: "Last hour", day: "Last day", week: "Last 7 days", month: "Last 30 days" };
const CONNECTION_SAYS = { ok: ["live", "running"], connecting: ["connecting", "connecting"], lost: ["server gone", "lost"], denied: ["no access", "denied"] };
const THEME_ICONS = { system: "system", light: "sun", dark: "moon" };

function plural(count, one, many = one + "s") {
  return formatCount(count) + " " + (count === 1 ? one : many);
}

function factsOfHost(state) {
  if (state.host === null) return "";
  const counts = countProcesses(state.processes ?? []);
  return [
    plural(state.host.cpus, "core"), plural(counts.all, "Python process", "Python processes"), counts.refused > 0 ? formatCount(counts.refused) + " of them out of reach" : "",
    state.host.examining > 0 ? "looking into " + formatCount(state.host.examining) + " more" : "",
  ].filter(Boolean).join("  ·  ");
}

export function createHostHeader(root, act) {
  const name = isolated("", { "data-testid": "host-name" });
  const facts = el("span", { class: "facts", "data-testid": "host-facts" });
  const label = el("span", { role: "status" });
  const status = el("span", { class: "status", "data-testid": "status" }, el("span", { class: "dot" }), label);
  const scope = el("span", { class: "scope-word", "data-testid": "scope", "data-hint": "This link may look at everything here, and change nothing." }, "viewing only");
  const file = el("input", { type: "file", accept: ".pyro", multiple: true, class: "offscreen", tabindex: "-1", "aria-hidden": "true", "data-testid": "file", on: { change: () => { act.upload(Array.from(file.files)); file.value = ""; } } });
  const open = el("button", { type: "button", class: "quiet wide", "data-hint": "Open a .pyro file; dropping one on the page does the same", "data-testid": "open-file", on: { click: () => file.click() } }, icon(ICONS.upload), el("span", {}, "Open file"));
  const share = el("button", { type: "button", class: "quiet wide", "data-hint": "A link that lets somebody look, and nothing else", "data-testid": "share", on: { click: () => act.share() } }, icon(ICONS.share), el("span", {}, "Share"));
  const theme = el("button", { type: "button", class: "quiet", "data-testid": "theme", on: { click: () => act.nextTheme() } });
  const help = el("button", { type: "button", class: "quiet", "aria-label": "Keys and help", "data-hint": "Keys and help  ( ? )", "data-testid": "help", on: { click: () => act.help() } }, "?");
  root.append(el("header", { class: "header host-header" },
    el("div", { class: "identity" }, createMark(), el("h1", {}, name), facts), el("div", { class: "progress" }, scope, status), el("div", { class: "actions" }, file, open, share, theme, help)));
  let shown = null;
  return {
    update(state) {
      setText(name, state.host === null ? "Pyrometer" : visibleText(state.host.host));
      setText(facts, factsOfHost(state));
      const [text, look] = CONNECTION_SAYS[state.connection.state];
      setText(label, text);
      setAttribute(status, "data-status", look);
      scope.hidden = state.operator;
      open.hidden = !state.operator || state.folder === null;
      share.hidden = !state.operator || !state.canShare;
      if (shown === state.theme) return;
      shown = state.theme;
      theme.replaceChildren(icon(ICONS[THEME_ICONS[state.theme]]));
      setAttribute(theme, "aria-label", "Theme: " + state.theme);
      setAttribute(theme, "data-hint", "Theme: " + state.theme + "  ( t )");
    },
  };
}

export function createHostBanner(root, act) {
  const text = el("span", { "data-testid": "banner-text" });
  const retry = el("button", { type: "button", "data-testid": "reconnect", on: { click: () => act.retry() } }, "Reconnect now");
  const element = el("div", { class: "banner", role: "alert", hidden: true, "data-tone": "bad", "data-testid": "banner" }, text, retry);
  root.append(element);
  return {
    update({ connection }) {
      element.hidden = connection.state === "ok" || connection.state === "connecting";
      if (connection.state === "denied") setText(text, "This page may not read from the server any more. Open the link that pyrometer printed, or ask for another.");
      if (connection.state === "lost") setText(text, (connection.detail === "" ? "The server does not answer." : "The server answers: " + visibleText(connection.detail) + ".").replace(/\.\.$/, ".") + " What is below was true when it last did; this page goes on trying.");
    },
  };
}

function choiceBox(label, testid, change) {
  const select = el("select", { "aria-label": label, "data-testid": testid, on: { change: () => change(select.value) } });
  let shown = "";
  return {
    element: select,
    // options: [[value, text]]
    set(options, value) {
      const signature = JSON.stringify(options);
      if (signature !== shown) select.replaceChildren(...options.map(([key, text]) => el("option", { value: key }, text)));
      shown = signature;
      if (select.value !== value) select.value = value;
      setAttribute(select, "data-active", value !== options[0][0] || null);
    },
  };
}

function searchBox(label, testid, change) {
  const input = el("input", { type: "search", placeholder: label, "aria-label": label, autocomplete: "off", spellcheck: "false", "data-testid": testid, on: { input: () => change(input.value) } });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    input.value = "";
    change("");
    input.blur();
  });
  return { element: el("label", { class: "field" }, icon(ICONS.search), input), input, set: (value) => { if (document.activeElement !== input && input.value !== value) input.value = value; } };
}

// The words that the captures shown have in one place, and what is chosen even if none has it.
function choicesOf(captures, read, chosen, all) {
  const values = new Set((captures ?? []).flatMap(read).filter(Boolean));
  if (chosen !== "") values.add(chosen);
  return [["", all], ...Array.from(values).sort().map((value) => [value, visibleText(value)])];
}

export function createHostToolbar(root, act) {
  const tabs = segmented("Show", "tabs", [{ value: "processes", label: "Processes" }, { value: "sessions", label: "Sessions" }, { value: "captures", label: "Captures" }], (host) => act.address({ host }, "push"));
  const search = searchBox("Search processes", "search", (value) => act.address({ search: value.trim() }, "replace"));
  const find = searchBox("Search captures", "find", (value) => act.address({ find: value.trim() }, "replace"));
  const only = el("button", { type: "button", class: "chip", "data-testid": "only", "data-hint": "Leave out what cannot be attached", on: { click: () => act.toggleOnly() } }, "Within reach");
  const age = choiceBox("Started", "age", (value) => act.address({ age: value }, "push"));
  const on = choiceBox("Host", "on", (value) => act.address({ on: value }, "push"));
  const label = choiceBox("Label", "label-choice", (value) => act.address({ label: value }, "push"));
  const chosen = el("span", { class: "chosen-count", role: "status", "data-testid": "chosen" });
  const profile = el("button", { type: "button", class: "primary", "data-testid": "profile-selected", on: { click: () => act.options(act.selected()) } }, "Profile together…");
  const compare = el("button", { type: "button", class: "primary", "data-testid": "compare", "data-hint": "A flame graph of what takes more, and what less, than in the older one: one HTML file", on: { click: () => act.compare() } }, "Compare");
  const remove = el("button", { type: "button", "data-testid": "delete-chosen", on: { click: () => act.deleteChosen() } }, "Delete");
  const clear = el("button", { type: "button", class: "link", "data-testid": "clear-chosen", on: { click: () => act.clear() } }, "Clear");
  const chosenBar = el("div", { class: "chosen" }, chosen, profile, compare, remove, clear);
  root.append(el("div", { class: "toolbar host-toolbar", role: "toolbar", "aria-label": "What is shown" }, tabs.element, chosenBar, only, age.element, on.element, label.element, search.element, find.element));
  const count = { processes: null, sessions: null, captures: null };
  const names = { processes: "Processes", sessions: "Sessions", captures: "Captures" };
  for (const button of tabs.element.children) {
    count[button.dataset.value] = el("span", { class: "tab-count" });
    button.replaceChildren(names[button.dataset.value], count[button.dataset.value]);
  }
  tabs.element.querySelector("[data-value=sessions]").classList.add("narrow-only");

  function updateChosen(state, captures) {
    const amount = captures ? state.chosen.size : state.selected.size;
    chosenBar.hidden = amount === 0 || !state.operator || state.tab === "sessions";
    setText(chosen, formatCount(amount) + " chosen");
    profile.hidden = captures;
    compare.hidden = !captures || amount !== 2;
    remove.hidden = !captures;
    setText(profile, amount === 1 ? "Profile…" : "Profile together…");
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
      setText(count.captures, state.folder ? formatCount(state.folder.total) : "");
      search.set(address.search);
      find.set(address.find);
      search.element.hidden = tab !== "processes";
      only.hidden = tab !== "processes";
      for (const control of [find, age, on, label]) control.element.hidden = !captures || state.folder === null;
      setAttribute(only, "aria-pressed", String(address.only));
      age.set(AGES.map((value) => [value, AGE_LABELS[value]]), address.age);
      on.set(choicesOf(state.captures, (capture) => [capture.target?.host], address.on, "All hosts"), address.on);
      label.set(choicesOf(state.captures, (capture) => capture.labels, address.label, "All labels"), address.label);
      updateChosen(state, captures);
    },
  };
}
