import assert from "node:assert/strict";
import { test } from "node:test";
import { chosenFile, hottestLines, lineNeighbours, nativePath, placedFile, shownLines,
  sourceLines } from "../../../web/model/code/lines.js";
import { frameLabel } from "../../../web/model/profile/frames.js";
import { groupTotals } from "../../../web/model/trees/grouping.js";
import { currentGrouping } from "../../../web/model/trees/recording.js";
import { recordingOf } from "../support/sample.mjs";

function linesOf(stacks, inJit = []) {
  const recording = recordingOf(stacks, inJit);
  const grouping = currentGrouping(recording, "line");
  const totals = groupTotals(grouping, recording.counts);
  const { files, others, top } = sourceLines(grouping, recording.profile, totals,
    groupTotals(grouping, recording.inJit));
  const names = (edges) =>
    edges.map(({ frame, samples }) => frameLabel(grouping.frames, recording.profile, frame).name + " " + samples);
  return { files, others, top, neighbours: (line) =>
    Object.fromEntries(
      Object.entries(lineNeighbours(grouping, totals, line.frames)).map(([side, edges]) => [side, names(edges)]),
    ) };
}

const plain = (
  file,
) => [file.path, file.self, file.total, ...file.lines.map(({ line, self, total }) => [line, self, total])];

test("lines have own and total samples, files come hottest first", () => {
  const { files } = linesOf(["m:1;a:12 4", "m:1;a:13;b:11 3", "m:2 1"]);
  assert.deepEqual(files.map(plain), [
    ["/app/a.py", 4, 7, [12, 4, 4], [13, 0, 3]],
    ["/app/b.py", 3, 3, [11, 3, 3]],
    ["/app/m.py", 1, 8, [1, 0, 7], [2, 1, 1]],
  ]);
});

test("a sample counts once for a line, however often it recurs", () => {
  const { files } = linesOf(["m:1;f:5;f:5;f:6 2", "m:1;f:5 1"]);
  assert.deepEqual(plain(files[0]), ["/app/f.py", 3, 3, [5, 1, 3], [6, 2, 2]]);
});

test("what C does is the line's own that called it", () => {
  const { files } = linesOf(["m:1;a:12;<native> sorted 5", "<native> x 2"]);
  assert.deepEqual(files.map(plain), [["/app/a.py", 5, 5, [12, 5, 5]], ["/app/m.py", 0, 5, [1, 0, 5]]]);
});

test("what waits at a line, or in what C does there, is not the line's own", () => {
  const { files, others } = linesOf(["m:1;a:12;<native> read;<waits: disk> 5", "m:1;a:12;<waits: GIL> 3",
    "m:1;a:12;<native> read 2"]);
  assert.deepEqual(files.map(plain), [["/app/a.py", 2, 10, [12, 2, 10]], ["/app/m.py", 0, 10, [1, 0, 10]]]);
  assert.deepEqual(others.map(({ name, self }) => [name, self]), [["<waits: disk>", 5], ["<waits: GIL>", 3], [
    "<native> read",
    2,
  ]]);
});

test("C code is distinguished from the line that called it, and listed with what has no file", () => {
  const { files, others, neighbours } = linesOf(["m:1;a:12;<native> sorted 5", "m:1;a:12 3", "<native> x 2"]);
  assert.deepEqual(files[0].lines.map(({ line, self, inC, total }) => [line, self, inC, total]), [[12, 8, 5, 8]]);
  assert.deepEqual(others.map(({ name, self, total }) => [name, self, total]), [["<native> sorted", 5, 5], [
    "<native> x",
    2,
    2,
  ]]);
  assert.deepEqual(neighbours({ frames: [others[0].frame] }), { callers: ["a 5"], callees: [] });
});

test("lines and functions say which of their self samples code of the JIT executed, with the C code that it called", () => {
  const stacks = ["m:1;a:12;<native> sorted 5", "m:1;a:12 3", "m:1;a:13 2"];
  const { files } = linesOf(stacks, ["m:1;a:12;<native> sorted 4", "m:1;a:12 2"]);
  assert.deepEqual(files[0].lines.map(({ line, self, inJit }) => [line, self, inJit]), [[12, 8, 6], [13, 2, 0]]);
  assert.deepEqual(files[0].functions.map(({ self, inJit }) => [self, inJit]), [[10, 6]]);
  assert.deepEqual(linesOf(stacks).files[0].functions.map(({ inJit }) => inJit), [0]);
});

test("functions of a file have self and total samples, and callers whatever line runs", () => {
  const { files, neighbours } = linesOf(["m:1;f:5;x:2 4", "n:1;f:6 2", "m:1;f:7;f:5 1"]);
  const [found] = files.find((file) => file.path === "/app/f.py").functions;
  assert.deepEqual([found.name, found.self, found.total], ["f", 3, 7]);
  assert.deepEqual(neighbours(found), { callers: ["m 5", "n 2", "f 1"], callees: ["x 4", "f 1"] });
});

test("files say where their code comes from; the hottest lines are of all files", () => {
  const { files, top } = linesOf(["m:1;a:12 4", "m:1;a:13;b:11 3", "m:2 1"]);
  assert.deepEqual(files.map((file) => file.kind), ["own", "own", "own"]);
  assert.deepEqual(top(2), [{ path: "/app/a.py", line: 12, self: 4, total: 4 }, { path: "/app/b.py", line: 11, self: 3,
    total: 3 }]);
});

test("of lines as hot as each other those with more below come first, then those further up, then those of the hotter file", () => {
  const { top } = linesOf(["a:1 5", "a:2 1", "a:3 9", "a:5 9", "b:3 9", "b:4 6", "b:5 6", "b:5;c:1 2", "b:7;d:1 1"]);
  assert.deepEqual(top(4).map(({ path, line }) => path + line), ["/app/a.py3", "/app/b.py3", "/app/a.py5",
    "/app/b.py5"]);
  assert.equal(top(20).length, 9);
});

test("callers and callees of a line, and of its recursion; a sample counts once for each", () => {
  const { files, neighbours } = linesOf(["m:1;f:5;x:2 4", "n:1;f:5;f:5;f:5;y:3 2", "f:5 1"]);
  const line = files.find((file) => file.path === "/app/f.py").lines.find((one) => one.line === 5);
  assert.deepEqual(neighbours(line), { callers: ["m 4", "f 2", "n 2"], callees: ["x 4", "f 2", "y 2"] });
});

test("a long file is shown around its samples, a short one whole", () => {
  assert.deepEqual(shownLines(5, [2], 10, 1), [1, 2, 3, 4, 5]);
  assert.deepEqual(shownLines(1000, [2, 3, 500, 1000], 10, 1), [1, 2, 3, 4, null, 499, 500, 501, null, 999, 1000]);
  assert.deepEqual(shownLines(1000, [4000], 10, 1), []);
});

test("of many lines with samples the hottest are kept, in their order", () => {
  const lines = [{ line: 1, self: 0, total: 9 }, { line: 2, self: 5, total: 5 }, { line: 3, self: 0, total: 1 }, {
    line: 4,
    self: 7,
    total: 7,
  }];
  assert.deepEqual(hottestLines(lines, 3).map(({ line }) => line), [1, 2, 4]);
  assert.equal(hottestLines(lines, 4), lines);
});

test("a stack of thousands of frames, and names that are no places", () => {
  const deep = "m:1;" + Array.from({ length: 5000 }, () => "f:5").join(";") + " 3";
  assert.deepEqual(linesOf([deep]).files.map(plain), [["/app/f.py", 3, 3, [5, 3, 3]], ["/app/m.py", 0, 3, [1, 0, 3]]]);
  assert.deepEqual(linesOf(["__proto__:3 2"]).files.map(plain), [["/app/__proto__.py", 2, 2, [3, 2, 2]]]);
});

test("functions without a line get the one that the source's answer has, and their samples with it", () => {
  const one = { id: 7, line: 0, name: "one", self: 3, total: 5, frames: [1] };
  const two = { id: 8, line: 0, name: "two", self: 2, total: 2, frames: [2] };
  const three = { id: 9, line: 4, name: "three", self: 1, total: 1, frames: [3] };
  const file = { path: "/a.py",
    lines: [{ line: 0, self: 5, inC: 0, total: 5, frames: [1, 2] }, { line: 4, self: 1, inC: 0, total: 1,
      frames: [3] }], functions: [one, two, three] };
  assert.equal(placedFile(file, undefined), file);
  assert.equal(placedFile(file, { function: [5], line: [1] }), file);
  const some = placedFile(file, { function: [7], line: [4] });
  assert.deepEqual(some.lines.map(({ line, self, total, frames }) => [line, self, total, frames]), [[0, 2, 5, [1, 2]], [
    4,
    4,
    6,
    [3, 1],
  ]]);
  assert.deepEqual(some.functions.map(({ name, line }) => [name, line]), [["two", 0], ["three", 4], ["one", 4]]);
  const all = placedFile(file, { function: [8, 7], line: [20, 10] });
  assert.deepEqual(all.lines.map(({ line, self, total }) => [line, self, total]), [[4, 1, 1], [10, 3, 5], [20, 2, 2]]);
  assert.deepEqual(all.functions.map(({ name, line }) => [name, line]), [["three", 4], ["one", 10], ["two", 20]]);
});

test("a native function is a file of its own, which has to be asked for", () => {
  const recording = recordingOf(["m:1;kernel 4", "m:1;<GC> 1"]);
  const id = recording.profile.functionName.values.findIndex((name) => recording.profile.strings[name] === "kernel");
  recording.profile.libraries.push({ path: "/app/kernel.py", buildId: "", interpreter: false });
  recording.profile.functionLibrary.values[id] = recording.profile.libraries.length - 1;
  const grouping = currentGrouping(recording, "line");
  const source = sourceLines(grouping, recording.profile, groupTotals(grouping, recording.counts),
    groupTotals(grouping, recording.inJit));
  const found = chosenFile(source, nativePath("/app/kernel.py", "kernel"));
  assert.deepEqual([found.function, found.self, found.lines.length,
    placedFile(found, { function: [id], line: [12] }).lines[0].line], [id, 4, 1, 12]);
  assert.equal(chosenFile(source, "/none").path, "/app/m.py");
  assert.equal(source.others.find((other) => other.name === "<GC>").file, null);
});
