// The dialog that says where source lines open: an editor and the view of a repository. This browser keeps what is
// chosen here.

import { cleanLinks, editorProblem, EDITORS, mapProblem, repositoryProblem } from "../../model/page/links.js";
import { TEXT } from "../../text/session.js";
import { el, icon } from "../elements/dom.js";
import { ICONS } from "../elements/icons.js";

function linkRow(label, hint, control) {
  return el("label", { class: "form-row" }, el("span", { class: "form-label" }, label), control,
    hint === "" ? null : el("span", { class: "form-hint" }, hint));
}

export function createLinkSettings(root, dispatch) {
  const input = (testid, list) =>
    el("input", { type: "text", autocomplete: "off", spellcheck: "false", list, "data-testid": testid });
  const editor = input("links-editor", "link-editors");
  const repository = input("links-repository");
  const commit = input("links-commit");
  const maps = el("textarea", { rows: "3", spellcheck: "false", "data-testid": "links-maps" });
  const error = el("p", { class: "form-error", role: "alert", "data-testid": "links-error" });
  const close = el("button", { type: "button", class: "quiet", "aria-label": TEXT.help.close,
    on: { click: () => dialog.close() } }, icon(ICONS.close));
  const form = el("form", { class: "form", novalidate: true },
    linkRow(TEXT.links.editorLabel, TEXT.links.editorHint, editor),
    el("datalist", { id: "link-editors" }, ...Object.keys(EDITORS).map((value) => el("option", { value }))),
    linkRow(TEXT.links.mapsLabel, TEXT.links.mapsHint, maps),
    linkRow(TEXT.links.repositoryLabel, TEXT.links.repositoryHint, repository),
    linkRow(TEXT.links.commitLabel, TEXT.links.commitHint, commit), error,
    el("div", { class: "form-buttons" },
      el("button", { type: "button", on: { click: () => dialog.close() } }, TEXT.links.cancel),
      el("button", { type: "submit", class: "primary", "data-testid": "links-save" }, TEXT.links.save)));
  const dialog = el("dialog", { class: "help host-dialog", "data-testid": "links-dialog",
    "aria-labelledby": "links-title" },
    el("div", { class: "help-head" }, el("h2", { id: "links-title" }, TEXT.links.title), close),
    el("p", { class: "soft" }, TEXT.links.about), form);
  root.append(dialog);

  const lines = () => maps.value.split("\n").map((line) => line.trim()).filter(Boolean);
  const fields = [[editor, () => (editor.value.trim() === "" ? null : editorProblem(editor.value.trim()))], [maps,
    () => lines().map(mapProblem).find((problem) => problem !== null) ?? null], [repository,
    () => (repository.value.trim() === "" ? null : repositoryProblem(repository.value.trim()))], [commit,
    () => (/^[!-~]{0,100}$/.test(commit.value.trim()) ? null : TEXT.links.commit)]];

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const wrong = fields.find(([, problem]) => problem() !== null);
    for (const [field] of fields) field.toggleAttribute("aria-invalid", field === wrong?.[0]);
    error.textContent = wrong === undefined ? "" : wrong[1]();
    if (wrong !== undefined) return wrong[0].focus();
    dispatch({ type: "links", links: {
      own: cleanLinks({ editor: editor.value.trim(), repository: repository.value.trim(), commit: commit.value.trim(),
        maps: lines() }),
    } });
    return dialog.close();
  });
  dialog.addEventListener("close", () => dispatch({ type: "linksDialog", open: false }));

  function open({ came, own }) {
    error.textContent = "";
    for (const [field, name] of [[editor, "editor"], [repository, "repository"], [commit, "commit"]]) {
      field.value = own[name] ?? "";
      field.placeholder = came[name] ?? "";
    }
    maps.value = own.maps.join("\n");
    maps.placeholder = came.maps.join("\n");
    dialog.showModal();
    editor.focus();
  }

  return {
    update({ links, linksOpen }) {
      if (linksOpen && !dialog.open) open(links);
    },
  };
}
