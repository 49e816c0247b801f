// The cases of tests/contexts.json, which tests/unit/profile/test_contexts.c runs through the server's half.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createPicture } from "../../../web/model/picture/picture.js";
import { contextOf, contextShares } from "../../../web/model/profile/contexts.js";
import { outline, stateOf } from "../support/sample.mjs";
import { readSharedCases } from "../support/shared-cases.mjs";

const { cases: all, keys, recording, shown, checkPatterns } = readSharedCases("contexts.json");
const { functions, contexts, cases, shares } = all;
const { profile } = recording;

test("a pattern matches what it matches on the server", checkPatterns);

test("stacks are what they are on the server, and never show what they work for", () => {
  for (const [showsContexts, filters, lines] of cases)
    if (!showsContexts) assert.deepEqual(shown(filters), lines.toSorted(), filters.join(", "));
});

test("functions say what they say on the server", () => {
  keys.forEach((key, i) => {
    const found = contextOf(profile, i + 1);
    assert.deepEqual(found && [found.variable, found.kind, found.value], contexts[key] ?? null, key);
  });
});

test("samples are added up by value, the most first, with those that wait", () => {
  const rows = contextShares(profile, recording.counts, () => true);
  assert.deepEqual(rows.map(({ text, samples }) => [text, samples]),
    shares.map(([key, samples]) => [functions[key][0].slice("<context ".length, -1), samples]));
  assert.deepEqual(contextShares(profile, recording.counts, () => false), []);
});

test("the picture lists what the samples that are left work for", () => {
  const stacks = ["main;work;<context id: 1> 6", "main;wait;<context id: 2> 3", "main;work 2"];
  const all = createPicture()(stateOf(stacks));
  assert.deepEqual(outline(all.drawing.root), ["all 11", " main  app/main.py 11", "  wait  app/wait.py 3",
    "  work  app/work.py 8"]);
  assert.deepEqual(all.contexts.map(({ text, samples }) => [text, samples]), [["id: 1", 6], ["id: 2", 3]]);
  const filtered = createPicture()(stateOf(stacks, { filters: ["focus context:/^id: 2$/"] }));
  assert.deepEqual(filtered.contexts.map(({ text, samples }) => [text, samples]), [["id: 2", 3]]);
});
