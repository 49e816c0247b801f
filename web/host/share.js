// Links that let somebody look, and nothing else: made, listed, revoked.

import { formatWhen } from "../model/hosted.js";
import { visibleText } from "../model/text.js";
import { el, isolated } from "../view/dom.js";
import { openDialog } from "./dialogs.js";

const LIVES = [["1h", "1 hour"], ["1d", "1 day"], ["7d", "7 days"], ["30d", "30 days"], ["never", "never"]];

function shareLine(share, revoke, now) {
  const expires = share.expires_at === null ? "never expires" : "until " + formatWhen(share.expires_at, now);
  const used = share.used_at === null ? "not used yet" : "last used " + formatWhen(share.used_at, now);
  const name = visibleText(share.name, "link " + share.id);
  const what = share.session === null ? "everything" : "session " + visibleText(share.session);
  return el("li", { class: "share-line", "data-testid": "share-line" }, isolated(name, { class: "share-name" }), el("span", { class: "soft" }, what + " · " + expires + " · " + used),
    el("button", { type: "button", "aria-label": "Revoke " + name, "data-testid": "share-revoke", on: { click: () => revoke(share) } }, "Revoke"));
}

// tell(method, path, body) asks the server; copy(text) is a promise.  session: {id, title} of the one that is shared, null: everything.
export function openShareDialog(root, { tell, copy, fragment, session = null }) {
  const name = el("input", { type: "text", name: "share-name", maxlength: "80", placeholder: "for whom, or why", autocomplete: "off", "data-testid": "share-name" });
  const life = el("select", { "aria-label": "Expires after", "data-testid": "share-life" }, ...LIVES.map(([value, label]) => el("option", { value }, label)));
  life.value = "7d";
  const error = el("p", { class: "form-error", role: "alert" });
  const made = el("div", { class: "made", hidden: true, "data-testid": "share-made" });
  const list = el("ol", { class: "shares", "aria-label": "Links that work now", "data-testid": "share-list" });
  const none = el("p", { class: "soft" }, "No link is out at the moment.");

  async function guarded(act) {
    try {
      error.textContent = "";
      await act();
    } catch (problem) {
      error.textContent = visibleText(problem.message);
    }
  }

  async function refresh() {
    const { shares } = await tell("GET", "/shares");
    none.hidden = shares.length > 0;
    list.replaceChildren(...shares.map((share) => shareLine(share, revoke, Date.now())));
  }

  const revoke = (share) => guarded(async () => {
    await tell("DELETE", "/shares/" + share.id);
    made.hidden = true;
    await refresh();
  });

  const make = () => guarded(async () => {
    const share = await tell("POST", "/shares", { name: name.value.trim(), expires_in: life.value, ...(session === null ? {} : { session: session.id }) });
    const url = share.url + fragment;
    const text = el("input", { type: "text", readonly: true, "aria-label": "The link", "data-testid": "share-url", on: { focus: () => text.select() } });
    text.value = url;
    const button = el("button", { type: "button", class: "primary", on: { click: () => copy(url) } }, "Copy");
    made.replaceChildren(el("div", { class: "made-line" }, text, button), el("p", { class: "soft" }, "Shown this once. Whoever has it can look at " + (session === null ? "everything here" : "this session") + ", and change nothing."));
    made.hidden = false;
    name.value = "";
    text.focus();
    await refresh();
  });

  const form = el("form", { class: "share-form" }, el("label", { class: "form-row" }, el("span", { class: "form-label" }, "Name"), name),
    el("label", { class: "form-row" }, el("span", { class: "form-label" }, "Expires"), life), el("button", { type: "submit", class: "primary", "data-testid": "share-make" }, "Make a link"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    make();
  });
  const title = session === null ? "Share everything" : "Share " + visibleText(session.title);
  const text = session === null ? "A link for somebody who may look at all processes with their arguments, all sessions and captures, and start or stop nothing. To show one session only, share it from its menu."
    : "A link for somebody who may look at this session, and at nothing else here. It ends with the session.";
  openDialog(root, { title, testid: "share-dialog" }, el("p", { class: "soft" }, text),
    form, error, made, el("h3", {}, "Links that work now"), none, list);
  name.focus();
  guarded(refresh);
}
