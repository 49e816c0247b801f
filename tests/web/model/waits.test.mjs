// The cases of tests/waits.json, which tests/unit/profile/test_waits.c runs through the server's half.

import assert from "node:assert/strict";
import { test } from "node:test";
import { waitOf, waitShares } from "../../../web/model/profile/waits.js";
import { createPicture } from "../../../web/model/picture/picture.js";
import { readSharedCases } from "../support/shared-cases.mjs";
import { outline, stateOf } from "../support/sample.mjs";

const { cases: all, keys, recording, shown, checkPatterns } = readSharedCases("waits.json");
const { waits, cases } = all;
const { profile } = recording;

test("a pattern matches what it matches on the server", checkPatterns);

test("stacks are what they are on the server", () => {
  for (const [showsWaits, filters, lines] of cases) assert.deepEqual(shown(filters, showsWaits), lines.toSorted(), showsWaits + " " + filters.join(", "));
});

test("functions say what they say on the server", () => {
  keys.forEach((key, i) => {
    const [cause, idle, peer] = waits[key] ?? [];
    const found = waitOf(profile, i + 1);
    assert.deepEqual(found && [found.cause, found.idle, found.peer], key in waits ? [cause, idle, peer] : null, key);
  });
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

test("stacks end with what they wait for, in a hue of its own", () => {
  const picture = createPicture()(stateOf(STACKS));
  assert.deepEqual(outline(picture.drawing.root), ["all 11", " main  app/main.py 11", "  poll  app/poll.py 3", "   waits: event loop 3", "  recv  app/recv.py 6", "   waits: network read 10.0.0.5:5432 6", "  work  app/work.py 2"]);
  const leaf = picture.drawing.root.children[0].children[1].children[0];
  assert.deepEqual([leaf.hue, leaf.neutral, leaf.foreign], ["wait-network", false, true]);
  assert.deepEqual(picture.waitHues, ["network", "idle"]);
  // A waiting sample counts at what it waits for, so no function has what it did not do.
  assert.deepEqual(picture.hottest.map(({ label, self }) => label.name + " " + self), ["work 2"]);
  const { table } = createPicture()(stateOf(STACKS, { view: "table" }));
  assert.deepEqual(table.rows.slice(0, 3).map((row) => table.labelOf(row).name + " " + row.self), ["waits: network read 10.0.0.5:5432 6", "waits: event loop 3", "work 2"]);
});

test("the address may leave them out", () => {
  const picture = createPicture()(stateOf(STACKS, { hidesWaits: true }));
  assert.ok(outline(picture.drawing.root).every((line) => !line.includes("waits:")));
  assert.deepEqual(picture.hottest.map(({ label, self }) => label.name + " " + self), ["recv 6", "poll 3", "work 2"]);
  assert.deepEqual(picture.waitHues, []);
});
