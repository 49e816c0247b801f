// A part of the page as a picture: what is drawn in it, as shapes and text of an SVG that needs no style sheet, no font and no
// network. Names from the target become text nodes, which the serializer escapes.

const IMAGE_SVG = "http://www.w3.org/2000/svg";
const MARGIN_PX = 16;
const TITLE_PX = 30;
const SIDE_MAX_PX = 16000;
const AREA_MAX_PX = 100e6;
const IMAGE_SCALE = 2;
const PAINTS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity"];
const SHAPES = new Set(["rect", "path", "line", "circle", "ellipse", "polygon", "polyline"]);
// Characters that no XML may contain.
const NOT_XML =
  /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

function shape(tag, attributes) {
  const element = document.createElementNS(IMAGE_SVG, tag);
  for (const [name, value] of Object.entries(attributes))
    element.setAttribute(name, typeof value === "number" ? String(Math.round(value * 100) / 100) : value);
  return element;
}

const isOpaque = (colour) => colour !== "transparent" && !/^rgba\(.*, 0\)$|\/ 0\)$/.test(colour);

function intersect(a, b) {
  return { left: Math.max(a.left, b.left), top: Math.max(a.top, b.top), right: Math.min(a.right, b.right),
    bottom: Math.min(a.bottom, b.bottom) };
}

function drawBox(style, at, out, opacity) {
  const box = { x: at.left, y: at.top, width: at.width, height: at.height };
  if (isOpaque(style.backgroundColor))
    out.append(
      shape("rect", { ...box, rx: Math.min(parseFloat(style.borderTopLeftRadius) || 0, at.height / 2),
        fill: style.backgroundColor, opacity }),
    );
  for (const [side, edge] of [["Top", { height: 0 }], ["Bottom", { y: at.bottom, height: 0 }], ["Left", { width: 0 }], [
    "Right",
    { x: at.right, width: 0 },
  ]]) {
    const width = parseFloat(style["border" + side + "Width"]);
    if (!(width > 0) || style["border" + side + "Style"] === "none" || !isOpaque(style["border" + side + "Color"]))
      continue;
    const line = { ...box, ...edge };
    out.append(
      shape("rect", { x: line.x - (side === "Right" ? width : 0), y: line.y - (side === "Bottom" ? width : 0),
        width: line.width || width, height: line.height || width, fill: style["border" + side + "Color"], opacity }),
    );
  }
}

// An SVG's shape where it stands, with the style that it has there.
function drawShape(element, origin, out, opacity) {
  const matrix = element.getScreenCTM();
  if (matrix === null) return;
  const style = getComputedStyle(element);
  const copy = document.createElementNS(IMAGE_SVG, element.localName);
  for (const name of ["x", "y", "width", "height", "rx", "ry", "d", "cx", "cy", "r", "x1", "x2", "y1", "y2",
    "points"])
  {
    if (element.hasAttribute(name)) copy.setAttribute(name, element.getAttribute(name));
  }
  for (const name of PAINTS) copy.setAttribute(name, style.getPropertyValue(name));
  copy.setAttribute("opacity", String(opacity * Number(style.opacity)));
  const place = [matrix.a, matrix.b, matrix.c, matrix.d, matrix.e - origin.left, matrix.f - origin.top].map((number) =>
    Math.round(number * 1e4) / 1e4
  );
  copy.setAttribute("transform", "matrix(" + place.join(" ") + ")");
  out.append(copy);
}

// The pieces of a text node that stand on one line each.
function linesOf(node) {
  const range = document.createRange();
  range.selectNodeContents(node);
  if (range.getClientRects().length <= 1) return [[0, node.length]];
  return Array.from(node.data.matchAll(/\S+/g), (word) => [word.index, word.index + word[0].length]);
}

// How much of the text from `start` on fits before `right`, with room for "…" behind it.
function fitting(range, node, start, end, right) {
  let least = start;
  let most = end;
  while (least < most) {
    const middle = (least + most + 1) >> 1;
    range.setEnd(node, middle);
    if (range.getBoundingClientRect().right <= right) least = middle;
    else most = middle - 1;
  }
  return least;
}

function drawText(node, { origin, clip, opacity, style }, out) {
  const range = document.createRange();
  for (const [start, end] of linesOf(node)) {
    range.setStart(node, start);
    range.setEnd(node, end);
    const at = range.getBoundingClientRect();
    const size = parseFloat(style.fontSize);
    const bottom = Math.min(at.bottom, clip.bottom);
    if (at.width === 0 || at.left >= clip.right || at.right <= clip.left
      || bottom - Math.max(at.top, clip.top) < size / 2) continue;
    let text = node.data.slice(start, end);
    let width = at.width;
    if (at.right > clip.right + 1) {
      const shown = fitting(range, node, start, end, clip.right - size * 0.8);
      if (shown === start) continue;
      range.setEnd(node, shown);
      width = range.getBoundingClientRect().width + size * 0.8;
      text = node.data.slice(start, shown) + "…";
    }
    // As wide as here, whatever font is there.
    const drawn = shape("text", {
      x: at.left - origin.left,
      y: at.top - origin.top + at.height / 2 + size * 0.35,
      fill: style.color,
      opacity,
      textLength: width,
      lengthAdjust: "spacingAndGlyphs",
      "font-family": style.fontFamily,
      "font-size": size,
      "font-weight": style.fontWeight,
      "font-style": style.fontStyle,
    });
    drawn.setAttributeNS("http://www.w3.org/XML/1998/namespace", "xml:space", "preserve");
    drawn.textContent = text.replace(NOT_XML, "\ufffd");
    out.append(drawn);
  }
}

function isShown(element, style) {
  return style.display !== "none" && style.visibility === "visible"
    && !element.matches("[hidden], input, select, textarea");
}

// Draws all that is in `root`, in document order. Selectors: `without` of what is left out, `bare` of what has no box.
function drawAll(root, origin, { without, bare }, out) {
  const whole = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };
  const stack = [{ node: root, clip: whole, opacity: 1, style: null }];
  while (stack.length > 0) {
    const { node, clip, opacity, style: outer } = stack.pop();
    if (node.nodeType === Node.TEXT_NODE) {
      if (node.data.trim() !== "") drawText(node, { origin, clip, opacity, style: outer }, out);
      continue;
    }
    if (node.nodeType !== Node.ELEMENT_NODE || node.matches(without)) continue;
    const style = getComputedStyle(node);
    if (!isShown(node, style)) continue;
    const inside = opacity * Number(style.opacity);
    const at = node.getBoundingClientRect();
    const box = { left: at.left - origin.left, top: at.top - origin.top, right: at.right - origin.left,
      bottom: at.bottom - origin.top, width: at.width, height: at.height };
    if (node.namespaceURI === IMAGE_SVG) {
      if (SHAPES.has(node.localName)) drawShape(node, origin, out, opacity);
    } else if (node.localName === "canvas") {
      out.append(
        shape("image", { x: box.left, y: box.top, width: at.width, height: at.height, href: node.toDataURL("image/png"),
          preserveAspectRatio: "none" }),
      );
    } else if (at.width > 0 && !node.matches(bare)) drawBox(style, box, out, inside);
    const within = node !== root && style.overflow !== "visible" && at.width > 0 ? intersect(clip, at) : clip;
    for (const child of Array.from(node.childNodes).reverse())
      stack.push({ node: child, clip: within, opacity: inside, style });
  }
}

// -> {text (of the SVG), width, height}
export function chartSvg(root, title, selectors) {
  const at = root.getBoundingClientRect();
  const width = Math.ceil(Math.max(at.width, root.scrollWidth)) + 2 * MARGIN_PX;
  const height = Math.ceil(Math.max(at.height, root.scrollHeight)) + 2 * MARGIN_PX + TITLE_PX;
  const page = getComputedStyle(document.body);
  const svg = shape("svg", { width, height, viewBox: "0 0 " + width + " " + height });
  svg.append(shape("rect", { width, height, fill: getComputedStyle(document.documentElement).backgroundColor }),
    shape("rect", { width, height, fill: page.backgroundColor }));
  const head = shape("text", { x: MARGIN_PX, y: MARGIN_PX + 12, fill: page.color, "font-family": page.fontFamily,
    "font-size": 13, "font-weight": 600 });
  head.textContent = title.replace(NOT_XML, "\ufffd");
  const name = shape("title", {});
  name.textContent = head.textContent;
  const group = shape("g", { transform: "translate(" + MARGIN_PX + " " + (MARGIN_PX + TITLE_PX) + ")" });
  drawAll(root, at, selectors, group);
  svg.prepend(name);
  svg.append(head, group);
  return { text: new XMLSerializer().serializeToString(svg), width, height };
}

function loadImage(url) {
  return new Promise((done, failed) => {
    const image = new Image();
    image.addEventListener("load", () => done(image));
    image.addEventListener("error", () => failed(new Error("the picture cannot be drawn")));
    image.src = url;
  });
}

// The chart as a PNG: a promise of a Blob.
export async function chartPng({ text, width, height }) {
  const scale = Math.min(IMAGE_SCALE, SIDE_MAX_PX / width, SIDE_MAX_PX / height,
    Math.sqrt(AREA_MAX_PX / (width * height)));
  const image = await loadImage("data:image/svg+xml;charset=utf-8," + encodeURIComponent(text));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.floor(width * scale));
  canvas.height = Math.max(1, Math.floor(height * scale));
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, failed) =>
    canvas.toBlob((blob) => (blob === null ? failed(new Error("the picture cannot be drawn")) : done(blob)),
      "image/png")
  );
}
