// The cases of tests/native-frames.json, which tests/unit/profile/test_native_frames.c runs through the server's half.

import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultAddress, formatAddress, parseAddress } from "../../../web/model/page/address.js";
import { frameLabel, hasSource } from "../../../web/model/profile/frames.js";
import { groupTotals } from "../../../web/model/trees/grouping.js";
import { NATIVE_SETTINGS, nativeSetting } from "../../../web/model/trees/native.js";
import { createRecording, currentGrouping, takeBaseline, takeDelivery } from "../../../web/model/trees/recording.js";
import { bottomUpTree, createMergedNames } from "../../../web/model/trees/trees.js";
import { readSharedCases } from "../support/shared-cases.mjs";

const { cases: all, answered, view, recording, shown, checkPatterns, keys } = readSharedCases("native-frames.json");
const { functions, stacks, cases } = all;
const { profile } = recording;

test("a pattern matches what it matches on the server", checkPatterns);

test("stacks are what they are on the server", () => {
  for (const [native, filters, lines] of cases) {
    const what = native + " " + filters.join(", ");
    recording.groupings.clear();
    assert.deepEqual(shown(filters, false, native), lines.toSorted(), what);
    recording.groupings.clear();
    currentGrouping(recording, "function", [], native);
    assert.deepEqual(shown(filters, false, native), lines.toSorted(), what + ", from a grouping without filters");
  }
});

test("bottom-up trees have the samples of top-down ones", () => {
  for (const native of NATIVE_SETTINGS) {
    const grouping = currentGrouping(recording, "function", [], native);
    const totals = groupTotals(grouping, recording.counts);
    const tree = bottomUpTree(createMergedNames(), grouping, totals);
    assert.equal(tree.children(0).reduce((sum, id) => sum + tree.total(id), 0), totals.sum, native);
  }
});

test("a label names the library, and the place its source or its library", () => {
  const { frames } = currentGrouping(recording, "function", [], "all");
  const label = (key) => frameLabel(frames, profile, frames.function.indexOf(keys.indexOf(key) + 1));
  assert.deepEqual([label("gemm").library, label("gemm").hue, label("gemm").label], ["libopenblas-r0.so", "native",
    "cblas_dgemm  libopenblas-r0.so"]);
  assert.equal(label("own").place, "/srv/own.cc:7");
  assert.equal(label("main").library, "");
  assert.deepEqual(["own", "gemm", "main", "gc"].map((key) => hasSource(profile, keys.indexOf(key) + 1)), [true, false,
    true, false]);
});

test("functions of a baseline are those of the same library", () => {
  const two = createRecording();
  takeDelivery(two, { restart: true, recount: true, trees: [answered], view });
  const before = two.profile.functionName.length;
  takeBaseline(two, { trees: [], other: { ...answered, epoch: "other" }, view });
  assert.equal(two.profile.functionName.length, before);
  assert.equal(two.baseline.total, two.counts.total);
});

test("the address has the choice, a session or a report the default", () => {
  const address = { ...defaultAddress(), native: "library" };
  assert.equal(parseAddress(formatAddress(address)).native, "library");
  assert.equal(parseAddress("v=1&native=full").native, null);
  assert.equal(nativeSetting(address, null, true), "library");
  const chosen = defaultAddress();
  assert.equal(nativeSetting(chosen, null, true), "leaf");
  assert.equal(nativeSetting(chosen, { settings: { native_frames: "hidden" } }, true), "hidden");
  assert.equal(nativeSetting(chosen, { selection: { native: "everything" } }, false), "leaf");
  assert.equal(nativeSetting(chosen, { selection: { native: "all" } }, false), "all");
});

test("a library that does not exist is refused", () => {
  const bad = { ...answered, functions: { ...answered.functions, library: answered.functions.library.map(() => 99) } };
  assert.throws(() => takeDelivery(createRecording(), { restart: true, recount: true, trees: [bad], view }),
    RangeError);
});
