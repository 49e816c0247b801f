// Entries of the menu of a frame, a row or a line.

import { TEXT } from "../../text/session.js";
import { exactPattern } from "../filters/filter.js";
import { editorUrl, repositoryUrl } from "./links.js";

const MENU_FILTERS = ["focus", "ignore", "hide"];

// -> [{key, label, hint, action or href}] of {label (of frames.js), key ("" where there is none), stack (text or "")}; links: of links.js
export function menuItems({ label, key, stack }, links) {
  const change = (changes) => ({ type: "address", changes, how: "push" });
  const copy = (text) => ({ type: "copy", text, note: TEXT.menu.copied });
  const filter = (verb) => ({ key: verb, label: TEXT.menu.filter(verb), hint: TEXT.filters.meanings[verb],
    action: { type: "filter", text: verb + " function:" + exactPattern(label.raw) } });
  const place = label.path + ":" + label.line;
  const editor = label.hasSource ? editorUrl(links, label.path, label.line) : null;
  const repository = label.hasSource ? repositoryUrl(links, label.path, label.line) : null;
  return [
    label.hasSource
    && { key: "source", label: TEXT.menu.source,
      action: change({ view: "source", file: label.path, line: label.line }) },
    key !== "" && { key: "sandwich", label: TEXT.details.sandwich, action: change({ view: "sandwich", about: key }) },
    { key: "copy-name", label: TEXT.menu.copyName, action: copy(label.raw) },
    label.hasSource && { key: "copy-place", label: TEXT.menu.copyPlace, action: copy(place) },
    stack !== "" && { key: "copy-stack", label: TEXT.details.copy, action: copy(stack) },
    editor !== null && { key: "editor", label: TEXT.menu.editor, hint: editor, href: editor },
    repository !== null && { key: "repository", label: TEXT.menu.repository, hint: repository, href: repository },
    label.hasSource && links.editor === null && links.repository === null
    && { key: "links", label: TEXT.menu.links, hint: TEXT.links.about, action: { type: "linksDialog", open: true } },
    ...MENU_FILTERS.map(filter),
  ].filter(Boolean);
}
