// Creating elements. Text is text: no code of the page parses HTML.

function setOne(element, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name === "on") {
    for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
  } else element.setAttribute(name, value === true ? "" : String(value));
}

// el("button", {class: "x", on: {click: f}}, "text", child, ...)
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setOne(element, name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// A patch of a colour of the style sheet.
export function swatch(colour, attributes = {}) {
  const element = el("i", { class: "swatch", ...attributes });
  element.style.background = "var(--" + colour + ")";
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function icon(path, size = 16) {
  const svg = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ viewBox: "0 0 16 16", width: size, height: size, "aria-hidden": "true",
    class: "icon" }))
  {
    svg.setAttribute(name, value);
  }
  const shape = document.createElementNS(SVG, "path");
  shape.setAttribute("d", path);
  svg.append(shape);
  return svg;
}

// Text from the target, kept from reordering what stands beside it.
export function isolated(text, attributes = {}) {
  return el("bdi", attributes, text);
}

// Text that matters less than what stands beside it.
export function soft(text) {
  return el("span", { class: "soft" }, text);
}

// A path, which may be broken behind its slashes and nowhere else as long as that is enough.
export function pathText(text, attributes = {}) {
  const parts = text.split(/(?<=\/)/);
  return el("bdi", attributes, ...parts.flatMap((part, i) => (i === 0 ? [part] : [el("wbr"), part])));
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// A sentence in which names stand between backquotes.
export function setSentence(element, text) {
  if (element.dataset.said === text) return;
  element.dataset.said = text;
  element.replaceChildren(...text.split("`").map((part, i) => (i % 2 === 1 ? el("code", {}, part) : part)));
}

export function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

const TIP_OFFSET_PX = 14;

// Beside the pointer {x, y}, where there is room.
export function placeNear(tip, pointer) {
  const right = pointer.x + TIP_OFFSET_PX;
  const left = right + tip.offsetWidth > window.innerWidth
    ? Math.max(4, pointer.x - tip.offsetWidth - TIP_OFFSET_PX)
    : right;
  const below = pointer.y + TIP_OFFSET_PX;
  tip.style.left = left + "px";
  tip.style.top =
    (below + tip.offsetHeight > window.innerHeight ? Math.max(4, pointer.y - tip.offsetHeight - TIP_OFFSET_PX) : below)
    + "px";
}

// Runs `act` once what is there now has been painted: for what may come a moment later.
export function afterPaint(act) {
  if (document.hidden) setTimeout(act, 0);
  else requestAnimationFrame(() => setTimeout(act, 0));
}

// True if pointer or keyboard is in it: then what is there stays where it is.
export function isInUse(element) {
  return element.matches(":hover") || element.contains(document.activeElement);
}

// Scrolls to an item whose row is wider than its place and scrolls by itself.
export function scrollSideways(item) {
  let row = item.parentElement;
  while (row !== null && !/auto|scroll/.test(getComputedStyle(row).overflowX)) row = row.parentElement;
  if (row === null) return;
  const [outer, inner] = [row.getBoundingClientRect(), item.getBoundingClientRect()];
  if (inner.left < outer.left || inner.right > outer.right) row.scrollLeft += inner.left - outer.left - outer.width / 3;
}

// A row of buttons of which one is pressed: options [{value, label, hint}].
export function segmented(label, testid, options, choose) {
  const buttons = options.map((option) =>
    el("button", { type: "button", "data-value": option.value, "data-hint": option.hint, "aria-pressed": "false",
      on: { click: () => choose(option.value) } }, option.label)
  );
  const group = el("div", { class: "segmented", role: "group", "aria-label": label, "data-testid": testid },
    ...buttons);
  return {
    element: group,
    set(value) {
      for (const button of buttons) setAttribute(button, "aria-pressed", String(button.dataset.value === value));
    },
  };
}
