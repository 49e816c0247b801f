import assert from "node:assert/strict";
import { test } from "node:test";
import { hotPieces, lineInstructions, placeInLine } from "../../../web/model/code/instructions.js";

const ANSWER = {
  samples: 100,
  names: ["CALL", "CALL_PY", "constructor"],
  line: [3, 3, 3, 4],
  end_line: [3, 3, 3, 5],
  column: [0, 4, -1, 2],
  end_column: [8, 7, -1, 1],
  opcode: [1, 0, -1, 2],
  base_opcode: [0, 0, -1, 2],
  self: [1, 6, 2, 5],
  total: [20, 6, 2, 5],
};
const row = (column, endColumn, total, more = {}) => ({ line: 1, endLine: 1, column, endColumn, self: total, total,
  ...more });

test("a line's instructions come with most own samples first, by name and base", () => {
  assert.deepEqual(lineInstructions(ANSWER, 3).map(({ name, base, self, total }) => [name, base, self, total]), [[
    "CALL",
    "CALL",
    6,
    6,
  ], ["", "", 2, 2], ["CALL_PY", "CALL", 1, 20]]);
  assert.deepEqual(lineInstructions(ANSWER, 4).map(({ name }) => name), ["constructor"]);
  assert.deepEqual(lineInstructions(ANSWER, 9), []);
});

test("columns are bytes of UTF-8, whatever the line is written in", () => {
  const text = "é = 名(𝒳, y)";
  const encoder = new TextEncoder();
  const placed = (piece) => {
    const column = encoder.encode(text.slice(0, text.indexOf(piece))).length;
    const { from, to } = placeInLine(text, row(column, column + encoder.encode(piece).length, 1));
    return text.slice(from, to);
  };
  for (const piece of ["é", "名(𝒳, y)", "𝒳", "y", text]) assert.equal(placed(piece), piece);
  assert.deepEqual(placeInLine("abc", row(1, 0, 1, { endLine: 2 })), { from: 1, to: 3 });
  for (const wrong of [row(-1, -1, 1), row(2, 2, 1), row(7, 9, 1), row(0, 900, 1)])
    assert.equal(placeInLine("abc", wrong), null);
});

test("a piece of a line is as hot as its hottest instruction", () => {
  const pieces = hotPieces("x = f(g(1))", [row(0, 11, 1), row(4, 11, 5), row(6, 10, 40), row(-1, -1, 90)]);
  assert.deepEqual(pieces, [{ text: "x = ", samples: 1 }, { text: "f(", samples: 5 }, { text: "g(1)", samples: 40 }, {
    text: ")",
    samples: 5,
  }]);
  assert.deepEqual(hotPieces("pass", []), [{ text: "pass", samples: 0 }]);
  assert.deepEqual(hotPieces("", [row(0, 1, 1)]), []);
  assert.deepEqual(hotPieces("half\ud800", [row(0, 4, 2)]), [{ text: "half", samples: 2 }, { text: "\ud800",
    samples: 0 }]);
});
