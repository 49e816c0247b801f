// Dialogs: how to profile, details to edit, confirmations, reasons.

import { visibleText } from "../model/base/text.js";
import { defaultProfile, profileRequest, rateRequest, wordsRequest } from "../model/host/sessions.js";
import { HOST_TEXT } from "../text/host.js";
import { el, icon, segmented, setText } from "../view/elements/dom.js";
import { ICONS } from "../view/elements/icons.js";

// A dialog that is made when it opens and gone when it closes.
export function openDialog(root, { title, testid, wide = false }, ...content) {
  const close = el("button", { type: "button", class: "quiet", "aria-label": HOST_TEXT.close,
    on: { click: () => dialog.close() } }, icon(ICONS.close));
  const dialog = el("dialog", { class: "help host-dialog", "data-testid": testid, "aria-label": title,
    "data-wide": wide }, el("div", { class: "help-head" }, el("h2", {}, el("bdi", {}, title)), close), ...content);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  root.append(dialog);
  dialog.showModal();
  return dialog;
}

function fieldRow(label, hint, control) {
  return el("label", { class: "form-row" }, el("span", { class: "form-label" }, label), control,
    hint ? el("span", { class: "form-hint" }, hint) : null);
}

function textInput(name, value, attributes = {}) {
  const input = el("input", { type: "text", name, autocomplete: "off", spellcheck: "false", ...attributes });
  input.value = value;
  return input;
}

// A form of which `submit` answers what is wrong, {field, problem}, or null. It may take its time.
function createForm(yes, rows, submit, onDone) {
  const error = el("p", { class: "form-error", role: "alert", "data-testid": "form-error" });
  const button = el("button", { type: "submit", class: "primary", "data-testid": "form-submit" }, yes);
  const cancel = el("button", { type: "button", on: { click: () => form.closest("dialog").close() } },
    HOST_TEXT.cancel);
  const form = el("form", { class: "form", novalidate: true }, ...rows, error,
    el("div", { class: "form-buttons" }, cancel, button));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    for (const input of form.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
    const wrong = await submit();
    button.disabled = false;
    setText(error, wrong === null ? "" : visibleText(wrong.problem));
    if (wrong === null) return onDone();
    const input = form.querySelector('[name="' + wrong.field + '"]');
    input?.setAttribute("aria-invalid", "true");
    input?.focus();
    return undefined;
  });
  return form;
}

function checkbox(name, label, hint, checked) {
  const box = el("input", { type: "checkbox", name });
  box.checked = checked;
  return { box,
    element: el("label", { class: "form-check" }, box,
      el("span", {}, label, el("span", { class: "form-hint" }, hint))) };
}

function choiceRow(label, hint, name, value, options) {
  let chosen = value;
  const buttons = segmented(label, "form-" + name, options, (picked) => {
    chosen = picked;
    buttons.set(picked);
  });
  buttons.set(value);
  return { read: () => chosen,
    element: el("div", { class: "form-row" }, el("span", { class: "form-label" }, label), buttons.element,
      hint ? el("span", { class: "form-hint" }, hint) : null) };
}

const optionsOf = (texts) => Object.entries(texts).map(([value, [label, hint]]) => ({ value, label, hint }));

// How to profile `pids`; start(body) is a promise. The options are kept for the next time.
let lastProfile = null;

export function openProfileDialog(root, { pids, title, events }, start) {
  const form = { ...(lastProfile ?? defaultProfile(events)), name: "", note: "" };
  const rate = textInput("rate", form.rate, { inputmode: "decimal", list: "rates" });
  const duration = textInput("duration", form.duration, { placeholder: HOST_TEXT.profile.untilStopped });
  const name = textInput("name", "", { placeholder: HOST_TEXT.profile.nameHint });
  const note = textInput("note", "", { placeholder: HOST_TEXT.profile.noteHint });
  const threads = choiceRow(HOST_TEXT.profile.threads, null, "threads", form.threads, [{ value: "all",
    label: HOST_TEXT.profile.allThreads }, { value: "main", label: HOST_TEXT.profile.mainThread }]);
  const mode = choiceRow(HOST_TEXT.profile.mode, null, "mode", form.mode, optionsOf(HOST_TEXT.profile.modes));
  const tasks = choiceRow(HOST_TEXT.profile.asyncio, null, "async", form.async, optionsOf(HOST_TEXT.profile.tasks));
  const engine = choiceRow(HOST_TEXT.profile.engine, null, "engine", form.engine, optionsOf(HOST_TEXT.profile.engines));
  const stop = choiceRow(HOST_TEXT.profile.stop, null, "stop", form.stop, optionsOf(HOST_TEXT.profile.stops));
  const native = choiceRow(HOST_TEXT.profile.native, null, "native", form.native, optionsOf(HOST_TEXT.profile.natives));
  const checks = optionsOf(HOST_TEXT.profile.checks).map(({ value: key, label, hint }) => ({ key,
    ...checkbox(key, label, hint, form[key]) })
  );
  const counted = optionsOf(HOST_TEXT.profile.eventNames).map(({ value: event, label, hint }) => ({ event,
    ...checkbox("events", label, hint, form.events.includes(event)) })
  );
  const read = () => ({
    ...form,
    rate: rate.value,
    duration: duration.value,
    threads: threads.read(),
    mode: mode.read(),
    async: tasks.read(),
    engine: engine.read(),
    stop: stop.read(),
    native: native.read(),
    events: counted.filter(({ box }) => box.checked).map(({ event }) => event),
    name: name.value.trim(),
    note: note.value,
    ...Object.fromEntries(checks.map(({ key, box }) => [key, box.checked])),
  });
  async function submit() {
    const given = read();
    const { body, field, problem } = profileRequest(pids, given);
    if (problem) return { field, problem };
    lastProfile = given;
    return start(body);
  }
  const rates = el("datalist", { id: "rates" },
    ...["100", "1000", "5000", "10000"].map((value) => el("option", { value })));
  const rows = [
    el("div", { class: "form-pair" }, fieldRow(HOST_TEXT.profile.rate, HOST_TEXT.profile.rateHint, rate),
      fieldRow(HOST_TEXT.profile.duration, HOST_TEXT.profile.durationHint, duration)),
    rates,
    threads.element,
    mode.element,
    tasks.element,
    engine.element,
    stop.element,
    native.element,
    el("div", { class: "form-row", role: "group", "aria-label": HOST_TEXT.profile.events,
      "data-testid": "form-events" }, el("span", { class: "form-label" }, HOST_TEXT.profile.events),
      el("div", { class: "form-checks" }, ...counted.map(({ element }) => element)),
      el("span", { class: "form-hint" }, HOST_TEXT.profile.eventsHint)),
    el("div", { class: "form-checks" }, ...checks.map(({ element }) => element)),
    fieldRow(HOST_TEXT.profile.name, null, name),
    fieldRow(HOST_TEXT.profile.note, null, note),
  ];
  const dialog = openDialog(root, { title, testid: "profile-dialog" },
    createForm(HOST_TEXT.profile.start, rows, submit, () => dialog.close()));
  rate.focus();
  rate.select();
  return dialog;
}

// Name, note and, where there are any, labels; save(body) answers as `submit`.
export function openWordsDialog(root, { title, first, words }, save) {
  const name = textInput("title", words.title);
  const note = el("textarea", { name: "note", rows: "3" });
  note.value = words.note;
  const labels = words.labels === undefined
    ? null
    : textInput("labels", words.labels.join(", "), { placeholder: HOST_TEXT.edit.labelsExample });
  async function submit() {
    const { body, field, problem } = wordsRequest({ title: name.value, note: note.value, labels: labels?.value },
      first);
    return problem ? { field, problem } : save(body);
  }
  const rows = [fieldRow(HOST_TEXT.profile.name, null, name), fieldRow(HOST_TEXT.profile.note, null, note),
    labels ? fieldRow(HOST_TEXT.edit.labels, HOST_TEXT.edit.labelsHint, labels) : null].filter(Boolean);
  const dialog = openDialog(root, { title, testid: "words-dialog" },
    createForm(HOST_TEXT.edit.save, rows, submit, () => dialog.close()));
  name.focus();
  name.select();
}

export function openRateDialog(root, { title, rate }, save) {
  const input = textInput("rate", String(rate), { inputmode: "decimal" });
  async function submit() {
    const { body, field, problem } = rateRequest(input.value);
    return problem ? { field, problem } : save(body);
  }
  const dialog = openDialog(root, { title, testid: "rate-dialog" },
    createForm(HOST_TEXT.rate.change, [fieldRow(HOST_TEXT.profile.rate, HOST_TEXT.rate.hint, input)], submit,
      () => dialog.close()));
  input.focus();
  input.select();
}

export function openConfirmDialog(root, { title, text, yes }, act) {
  const go = el("button", { type: "button", class: "primary danger", "data-testid": "confirm", on: { click: () => {
    dialog.close();
    act();
  } } }, yes);
  const cancel = el("button", { type: "button", on: { click: () => dialog.close() } }, HOST_TEXT.cancel);
  const dialog = openDialog(root, { title, testid: "confirm-dialog" }, el("p", {}, text),
    el("div", { class: "form-buttons" }, cancel, go));
  cancel.focus();
}

// Stacks as text, to read and to copy; read() is a promise of the text, copy(text) does it.
export function openDumpDialog(root, { title }, read, copy) {
  const text = el("pre", { class: "reason dump", tabindex: "0", role: "region", "aria-label": HOST_TEXT.dump.label,
    "data-testid": "dump-text" });
  const again = el("button", { type: "button", "data-testid": "dump-again", on: { click: () => fill() } },
    HOST_TEXT.dump.again);
  const copies = el("button", { type: "button", class: "primary", "data-testid": "dump-copy",
    on: { click: () => copy(text.textContent) } }, HOST_TEXT.dump.copy);
  async function fill() {
    again.disabled = copies.disabled = true;
    setText(text, HOST_TEXT.dump.reading);
    try {
      setText(text, await read());
      copies.disabled = false;
    } catch (problem) {
      setText(text, visibleText(problem.message));
    }
    again.disabled = false;
  }
  openDialog(root, { title, testid: "dump-dialog", wide: true }, text,
    el("div", { class: "form-buttons" }, again, copies));
  return fill();
}

// Why a process cannot be attached, to read and to copy.
export function openReasonDialog(root, { title, reason }) {
  openDialog(root, { title, testid: "reason-dialog" },
    el("p", { class: "reason" }, el("bdi", {}, visibleText(reason, HOST_TEXT.reason.none))),
    el("p", { class: "soft" }, HOST_TEXT.reason.doctor));
}
