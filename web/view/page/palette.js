// The command palette: commands and functions, found by typing.

import { visibleText } from "../../model/base/text.js";
import { foundCommands, listedCommands, pageCommands } from "../../model/page/commands.js";
import { TEXT } from "../../text/session.js";
import { el, isolated, setAttribute, setText } from "../elements/dom.js";

export function createPalette(root, dispatch) {
  const input = el("input", {
    type: "text",
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "palette-list",
    "aria-autocomplete": "list",
    "aria-label": TEXT.commands.input,
    placeholder: TEXT.commands.placeholder,
    autocomplete: "off",
    spellcheck: "false",
    "data-testid": "palette-input",
  });
  const list = el("ul", { class: "palette-list", id: "palette-list", role: "listbox",
    "aria-label": TEXT.commands.list });
  const none = el("p", { class: "soft palette-none", role: "status", hidden: true, "data-testid": "palette-none" });
  const dialog = el("dialog", { class: "palette", "data-testid": "palette", "aria-label": TEXT.commands.label }, input,
    list, none);
  root.append(dialog);
  let state = null;
  let found = [];
  let at = 0;

  function run(command) {
    input.blur(); // The next key is for the page, at once.
    dialog.close();
    dispatch(command.action);
  }

  function mark() {
    Array.from(list.children).forEach((item, i) => setAttribute(item, "aria-selected", String(i === at)));
    setAttribute(input, "aria-activedescendant", found.length > 0 ? "palette-" + at : null);
    list.children[at]?.scrollIntoView({ block: "nearest" });
  }

  function search() {
    found = foundCommands(pageCommands(state), listedCommands(state), input.value);
    none.hidden = found.length > 0;
    setText(none, TEXT.commands.none(visibleText(input.value, "")));
    at = 0;
    list.replaceChildren(
      ...found.map((command, i) =>
        el("li", { role: "option", id: "palette-" + i, on: { click: () => run(command) } },
          isolated(command.label, { class: command.isFunction ? "palette-function" : "" }),
          el("span", { class: "soft" }, command.hint))
      ),
    );
    mark();
  }

  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined && found.length > 0) {
      event.preventDefault();
      at = (at + by + found.length) % found.length;
      mark();
    }
    if (event.key === "Enter" && found[at] !== undefined) {
      event.preventDefault();
      run(found[at]);
    }
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  return {
    open() {
      if (dialog.open || document.querySelector("dialog[open]")) return;
      input.value = "";
      search();
      dialog.showModal();
      input.focus();
    },
    update(next) {
      state = next;
    },
  };
}
