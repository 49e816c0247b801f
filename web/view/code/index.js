// The index of the Source view: the hottest lines, the files by where their code comes from, and what is not Python.

import { formatCount, formatShare, ratio } from "../../model/base/numbers.js";
import { visibleText } from "../../model/base/text.js";
import { TEXT } from "../../text/session.js";
import { el, isolated, setAttribute } from "../elements/dom.js";

// The most rows of files and of what is not Python; a report is drawn once and has room for more.
const INDEX_ROWS_MAX = { live: 300, report: 5000 };
const KINDS = ["own", "library", "package"];

// A part of the index: {element, fill(rows)}; hidden when it is empty.
function createPart(title, open) {
  const list = el("ol", { class: "source-files" });
  const element = el("details", { open }, el("summary", {}, title), list);
  return {
    element,
    fill(rows) {
      element.hidden = rows.length === 0;
      list.replaceChildren(...rows);
    },
  };
}

// -> {element, update(state, chosen file or undefined)}
export function createSourceIndex(change) {
  const top = createPart(TEXT.details.hottestLines, false);
  const parts = new Map(KINDS.map((kind) => [kind, createPart(TEXT.source.kinds[kind], true)]));
  const others = createPart(TEXT.source.others, false);
  const element = el("nav", { class: "source-side", "aria-label": TEXT.source.files, "data-testid": "source-files" },
    el("p", { class: "source-file soft", "aria-hidden": "true" }, el("span", {}),
      ...TEXT.source.heads.slice(1).map((head) => el("span", { class: "share" }, head))), top.element,
    ...Array.from(parts.values(), (part) => part.element), others.element);
  let buttons = new Map();
  let shown = "";

  // most: the self samples of the longest bar; go: the changes that a press makes to the address
  function row({ text, title, self, total, go }, most, { sum, amountText }) {
    const fill = el("i", {});
    fill.style.width = 100 * (ratio(self, most) || 0) + "%";
    return el("li", {},
      el("button", { type: "button", class: "source-file",
        title: title + "\n" + TEXT.source.lineSamples(amountText(self), amountText(total)),
        on: { click: () => change(go) } }, isolated(text, { class: "hottest-name" }),
        el("span", { class: "share" }, formatShare(ratio(self, sum))),
        el("span", { class: "share soft" }, formatShare(ratio(total, sum))),
        el("span", { class: "bar", "aria-hidden": "true" }, fill)));
  }

  function fill(state, files, rest) {
    const { source, sum, amountText } = state.picture;
    const counted = { sum, amountText };
    const most = Math.max(source.files[0]?.self ?? 0, source.others[0]?.self ?? 0);
    const nameOf = (path) => visibleText(source.names.get(path));
    const more = (all, some) => (all.length > some.length
      ? [el("li", { class: "soft" }, TEXT.details.more(formatCount(all.length - some.length)))]
      : []);
    const fileRow = (file) =>
      row({ ...file, text: nameOf(file.path), title: visibleText(file.path), go: { file: file.path, line: 0 } }, most,
        counted);
    buttons = new Map(files.map((file) => [file.path, fileRow(file)]));
    for (const [kind, part] of parts)
      part.fill(
        files.filter((file) => file.kind === kind).map((file) => buttons.get(file.path)).concat(
          kind === KINDS[KINDS.length - 1] ? more(source.files, files) : [],
        ),
      );
    top.fill(
      source.top.map((line) =>
        row({ ...line, text: nameOf(line.path) + ":" + line.line, title: visibleText(line.path),
          go: { file: line.path, line: line.line } }, source.top[0].self, counted)
      ),
    );
    // The source of native code is searched when somebody asks for it.
    const goTo = (
      other,
    ) => (state.live && other.file !== null
      ? { file: other.file.path, line: 0 }
      : { view: "sandwich", about: source.describe(other.frame).key });
    const otherRow = (other) =>
      row({ ...other, text: visibleText(other.name), title: visibleText(other.file?.path ?? other.name),
        go: goTo(other) }, most, counted);
    others.fill([...rest.map(otherRow), ...more(source.others, rest)]);
  }

  return {
    element,
    update(state, chosen) {
      const { source } = state.picture;
      const most = state.live ? INDEX_ROWS_MAX.live : INDEX_ROWS_MAX.report;
      const files = source.files.slice(0, most);
      const rest = source.others.slice(0, most);
      const signature = [state.picture.measure?.title, ...files.map((file) => file.path + file.self),
        ...rest.map((other) => other.name + other.self), ...source.top.map((line) => line.path + line.line)].join("\n");
      if (signature !== shown && !element.contains(document.activeElement)) {
        fill(state, files, rest);
        shown = signature;
      }
      for (const [path, item] of buttons)
        setAttribute(item.firstChild, "aria-current", path === chosen?.path ? "true" : null);
    },
  };
}
