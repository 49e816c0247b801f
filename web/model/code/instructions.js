// The bytecode of a file, as in /lines: one row per instruction and place, in columns.

const encoder = new TextEncoder();
const LINE_BYTES_MAX = 20000;

// -> [{name, base, line, endLine, column, endColumn, self, total}], most self samples first; name is "" where it is not known
export function lineInstructions(answer, line) {
  const rows = [];
  for (let i = 0; i < answer.line.length; i += 1) {
    if (answer.line[i] !== line) continue;
    const nameOf = (id) => answer.names[id] ?? "";
    rows.push({ name: nameOf(answer.opcode[i]), base: nameOf(answer.base_opcode[i]), line, endLine: answer.end_line[i],
      column: answer.column[i], endColumn: answer.end_column[i], self: answer.self[i], total: answer.total[i] });
  }
  return rows.sort((a, b) => b.self - a.self || b.total - a.total || a.column - b.column);
}

// Offsets of the text's characters in its UTF-8: places[i] is the byte of character i.
function bytePlaces(text) {
  const places = [];
  let at = 0;
  for (const character of text) {
    for (let i = 0; i < character.length; i += 1) places.push(at);
    at += encoder.encode(character).length;
  }
  places.push(at);
  return places;
}

// The characters of a line that an instruction is of: {from, to}, or null where columns are not known or not of this text.
export function placeInLine(text, row) {
  if (row.column < 0 || text.length > LINE_BYTES_MAX) return null;
  const places = bytePlaces(text);
  const end = row.endLine > row.line ? places[places.length - 1] : row.endColumn;
  const from = places.findIndex((at) => at >= row.column);
  const to = places.findIndex((at) => at >= end);
  return from < 0 || to <= from ? null : { from, to };
}

// The text in pieces, each as hot as the hottest instruction that is of it: [{text, samples}]. What no instruction is of has 0.
export function hotPieces(text, rows) {
  const heat = new Float64Array(text.length);
  for (const row of rows) {
    const place = placeInLine(text, row);
    if (place !== null) { for (let i = place.from; i < place.to; i += 1) heat[i] = Math.max(heat[i], row.total); }
  }
  const pieces = [];
  for (let i = 0; i < text.length; i += 1) {
    const last = pieces[pieces.length - 1];
    if (last !== undefined && last.samples === heat[i]) last.text += text[i];
    else pieces.push({ text: text[i], samples: heat[i] });
  }
  return pieces;
}
