// Read-only links: created, listed, revoked.

import { formatWhen } from "../model/base/instants.js";
import { visibleText } from "../model/base/text.js";
import { HOST_TEXT } from "../text/host.js";
import { el, isolated } from "../view/elements/dom.js";
import { openDialog } from "./dialogs.js";

function shareLine(share, revoke, now) {
  const expires = share.expires_at === null
    ? HOST_TEXT.share.never
    : HOST_TEXT.share.until(formatWhen(share.expires_at, now));
  const used = share.last_used_at === null
    ? HOST_TEXT.share.unused
    : HOST_TEXT.share.used(formatWhen(share.last_used_at, now));
  const name = visibleText(share.name, HOST_TEXT.share.unnamed(share.id));
  const what = share.session === null
    ? HOST_TEXT.share.everything
    : HOST_TEXT.share.session(visibleText(share.session));
  return el("li", { class: "share-line", "data-testid": "share-line" }, isolated(name, { class: "share-name" }),
    el("span", { class: "soft" }, what + " · " + expires + " · " + used),
    el("button", { type: "button", "aria-label": HOST_TEXT.share.revokeOne(name), "data-testid": "share-revoke",
      on: { click: () => revoke(share) } }, HOST_TEXT.share.revoke));
}

// A link to the session {id, title} with the view of `address`; access: what /access answers, or null. Whoever cannot make links reads what to do.
export function openSessionShare(root, { access, send, copy, address, session }) {
  const fragment = address.slice(address.indexOf("#"));
  if (access?.can_share === true) return openShareDialog(root, { send, copy, fragment, session });
  const button = el("button", { type: "button", class: "primary", "data-testid": "share-copy",
    on: { click: () => copy(address) } }, HOST_TEXT.share.copyAddress);
  const why = access === null
    ? HOST_TEXT.share.unknown
    : access.scope === "operator"
    ? HOST_TEXT.share.open
    : HOST_TEXT.share.viewer;
  openDialog(root, { title: HOST_TEXT.share.titleOne(visibleText(session.title)), testid: "share-dialog" },
    el("p", {}, why), el("div", { class: "form-buttons" }, button));
  return button.focus();
}

// send(method, path, body) is a promise of the answer; copy(text) is a promise. session: {id, title} of the shared session, or null for the whole host.
export function openShareDialog(root, { send, copy, fragment, session = null }) {
  const name = el("input", { type: "text", name: "share-name", maxlength: "80", placeholder: HOST_TEXT.share.nameHint,
    autocomplete: "off", "data-testid": "share-name" });
  const life = el("select", { "aria-label": HOST_TEXT.share.lifeLabel, "data-testid": "share-life" },
    ...HOST_TEXT.share.lives.map(([value, label]) => el("option", { value }, label)));
  life.value = "7d";
  const error = el("p", { class: "form-error", role: "alert" });
  const made = el("div", { class: "made", hidden: true, "data-testid": "share-made" });
  const list = el("ol", { class: "shares", "aria-label": HOST_TEXT.share.active, "data-testid": "share-list" });
  const none = el("p", { class: "soft" }, HOST_TEXT.share.none);

  async function guarded(act) {
    try {
      error.textContent = "";
      await act();
    } catch (problem) {
      error.textContent = visibleText(problem.message);
    }
  }

  async function refresh() {
    const { shares } = await send("GET", "/shares");
    none.hidden = shares.length > 0;
    list.replaceChildren(...shares.map((share) => shareLine(share, revoke, Date.now())));
  }

  const revoke = (share) =>
    guarded(async () => {
      await send("DELETE", "/shares/" + share.id);
      made.hidden = true;
      await refresh();
    });

  const make = () =>
    guarded(async () => {
      const share = await send("POST", "/shares", { name: name.value.trim(), expires_in: life.value,
        ...(session === null ? {} : { session: session.id }) });
      const url = share.url + fragment;
      const text = el("input", { type: "text", readonly: true, "aria-label": HOST_TEXT.share.link,
        "data-testid": "share-url", on: { focus: () => text.select() } });
      text.value = url;
      const button = el("button", { type: "button", class: "primary", on: { click: () => copy(url) } },
        HOST_TEXT.share.copy);
      made.replaceChildren(el("div", { class: "made-line" }, text, button),
        el("p", { class: "soft" }, session === null ? HOST_TEXT.share.made : HOST_TEXT.share.madeOne));
      made.hidden = false;
      name.value = "";
      text.focus();
      await refresh();
    });

  const form = el("form", { class: "share-form" },
    el("label", { class: "form-row" }, el("span", { class: "form-label" }, HOST_TEXT.share.name), name),
    el("label", { class: "form-row" }, el("span", { class: "form-label" }, HOST_TEXT.share.life), life),
    el("button", { type: "submit", class: "primary", "data-testid": "share-make" }, HOST_TEXT.share.make));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    make();
  });
  const title = session === null ? HOST_TEXT.share.title : HOST_TEXT.share.titleOne(visibleText(session.title));
  openDialog(root, { title: title, testid: "share-dialog" },
    el("p", { class: "soft" }, session === null ? HOST_TEXT.share.text : HOST_TEXT.share.textOne), form, error, made,
    el("h3", {}, HOST_TEXT.share.active), none, list);
  name.focus();
  guarded(refresh);
}
