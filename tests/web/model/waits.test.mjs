// The cases of tests/waits.json, which tests/unit/profile/test_waits.c runs through the server's half.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseTerm } from "../../../web/model/filters/filter.js";
import { groupTotals } from "../../../web/model/trees/grouping.js";
import { onlyWaits } from "../../../web/model/profile/wait-causes.js";
import { waitOf, waitShares } from "../../../web/model/profile/waits.js";
import { createRecording, currentGrouping, takeDelivery } from "../../../web/model/trees/recording.js";
import { createPicture } from "../../../web/model/page/picture.js";
import { topDownTree } from "../../../web/model/trees/trees.js";
import { outline, stateOf } from "../support/sample.mjs";

const { functions, waits, calls_that_only_wait: calls, patterns, stacks, cases } = JSON.parse(readFileSync(new URL("../../waits.json", import.meta.url), "utf8"));
const keys = Object.keys(functions);

// What /tree and /view answer of the stacks.
function answers() {
  const strings = [""];
  const idOf = (text) => (strings.includes(text) ? strings.indexOf(text) : strings.push(text) - 1);
  const columns = { name: [0], file: [0], line: [0], library: [0] };
  const libraries = { first: 0, path: [0], build_id: [0], interpreter: [0] };
  for (const [name, file, line] of Object.values(functions)) {
    columns.name.push(idOf(name));
    columns.file.push(idOf(file));
    columns.line.push(line);
    columns.library.push(0);
  }
  const nodes = { first: 0, parent: [0], function: [0], line: [0] };
  const view = { epoch: "e", generation: 1, since: 0, total: 0, node: [], self: [] };
  for (const [stack, count] of stacks) {
    let parent = 0;
    for (const key of stack.split(";")) {
      nodes.parent.push(parent);
      nodes.line.push(1);
      parent = nodes.function.push(keys.indexOf(key) + 1) - 1;
    }
    view.node.push(parent);
    view.self.push(count);
  }
  return { tree: { epoch: "e", generation: 1, since: 0, strings: { first: 0, values: strings }, libraries, functions: { first: 0, ...columns }, nodes, threads: { first: 0, process: [0], tid: [7], name: [0], main: [1] }, processes: { first: 0, pid: [7], name: [0] } }, view };
}

const { tree: answered, view } = answers();
const recording = createRecording();
takeDelivery(recording, { restart: true, recount: true, trees: [answered], view });
const { profile } = recording;

function shown(showsWaits, filters) {
  const grouping = currentGrouping(recording, "function", filters, "leaf", showsWaits);
  const tree = topDownTree(grouping, groupTotals(grouping, recording.counts));
  const lines = [];
  const walk = [[0, []]];
  const nameOf = (frame) => keys[grouping.frames.function[frame] - 1];
  while (walk.length > 0) {
    const [id, path] = walk.pop();
    if (tree.self(id) > 0) lines.push(path.join(";") + " " + tree.self(id));
    for (const child of tree.children(id)) walk.push([child, [...path, nameOf(tree.frame(child))]]);
  }
  return lines.sort();
}

test("a pattern matches what it matches on the server", () => {
  for (const [pattern, matched] of patterns) {
    const term = parseTerm("hide " + pattern);
    assert.equal(term.error, null, pattern);
    assert.deepEqual(keys.filter((_, i) => term.matches(profile, i + 1)).sort(), matched.toSorted(), pattern);
  }
});

test("stacks are what they are on the server", () => {
  for (const [showsWaits, filters, lines] of cases) assert.deepEqual(shown(showsWaits, filters), lines.toSorted(), showsWaits + " " + filters.join(", "));
});

test("functions say what they say on the server", () => {
  keys.forEach((key, i) => {
    const [cause, idle, peer] = waits[key] ?? [];
    const found = waitOf(profile, i + 1);
    assert.deepEqual(found && [found.cause, found.idle, found.peer], key in waits ? [cause, idle, peer] : null, key);
  });
});

test("calls that only wait are those of the server", () => {
  for (const [name, expected] of calls) assert.equal(onlyWaits(name), expected, name);
});

test("waits are added up by cause and peer, the most first", () => {
  const rows = waitShares(profile, recording.counts, () => true);
  assert.deepEqual(rows.map(({ text, name, idle, samples }) => [text, name, idle, samples]), [
    ["idle event loop", "event loop", true, 48],
    ["blocked network read", "network read", false, 8],
    ["blocked network read 10.0.0.5:5432", "network read 10.0.0.5:5432", false, 6],
  ]);
  assert.deepEqual(waitShares(profile, recording.counts, () => false), []);
});

const STACKS = ["main;recv;<waits: network read 10.0.0.5:5432> 6", "main;poll;<waits: event loop> 3", "main;work 2"];

test("stacks end with what they wait for where samples that wait are shown, in a hue of its own", () => {
  const picture = createPicture()(stateOf(STACKS, { states: [] }));
  assert.deepEqual(outline(picture.drawing.root), ["all 11", " main  main.py 11", "  poll  poll.py 3", "   waits: event loop 3", "  recv  recv.py 6", "   waits: network read 10.0.0.5:5432 6", "  work  work.py 2"]);
  const leaf = picture.drawing.root.children[0].children[1].children[0];
  assert.deepEqual([leaf.hue, leaf.neutral, leaf.foreign], ["wait-network", false, true]);
  assert.deepEqual(picture.waitHues(), ["idle", "network"]);
  // The lists of functions count such a sample where it waits.
  assert.deepEqual(picture.hottest().map(({ label, self }) => label.name + " " + self), ["recv 6", "poll 3", "work 2"]);
});

test("where samples that wait are hidden there are no such frames", () => {
  const picture = createPicture()(stateOf(STACKS));
  assert.ok(outline(picture.drawing.root).every((line) => !line.includes("waits:")));
  assert.deepEqual(picture.waitHues(), []);
});
