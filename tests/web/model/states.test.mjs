import assert from "node:assert/strict";
import { test } from "node:test";
import { filteredText, markChips, partItems, partsAfter,
  selectionLabel } from "../../../web/model/filters/selection.js";
import { measureGroups } from "../../../web/model/page/quality.js";
import { createPicture } from "../../../web/model/picture/picture.js";
import { partOf, PARTS, shownParts, usualParts } from "../../../web/model/profile/parts.js";
import { addState, addThreads, cleanWords, createSums, stateMatches, stateQuery,
  sumThreads } from "../../../web/model/profile/states.js";
import { factText, isWithoutGil, partShares, partsText } from "../../../web/model/threads/activity.js";
import { QUALITY_TEXT } from "../../../web/text/quality.js";
import { TEXT } from "../../../web/text/session.js";
import { createProgram } from "../support/made-up-program.mjs";
import { stateOf } from "../support/sample.mjs";

const ON_CPU = 1, HAS_GIL = 2, WAITS_GIL = 4, UNKNOWN_ON_CPU = 256, UNKNOWN_WAITS_GIL = 1024,
  UNKNOWN_HAS_EXCEPTION = 8192, RUNNABLE = 64, UNKNOWN_RUNNABLE = 16384;

// [[state bits, count], ...]
function sumsOf(rows) {
  const sums = createSums();
  for (const [state, count] of rows) addState(sums, state, partOf(state, null), count);
  return sums;
}

const itemOf = (sums, key) => partItems(sums, PARTS).find((item) => item.key === key);
const markOf = (sums, key, words = []) => markChips(sums, words).find((chip) => chip.key === key);

test("words choose as they do on the server", () => {
  const rows = [
    [["on_cpu"], [ON_CPU, ON_CPU | HAS_GIL]],
    [["!on_cpu"], [0, WAITS_GIL, RUNNABLE]],
    [["~on_cpu"], [0, WAITS_GIL, UNKNOWN_ON_CPU, RUNNABLE]],
    [["runnable"], [RUNNABLE]],
    [["unknown_on_cpu"], [UNKNOWN_ON_CPU]],
    [["!has_gil", "on_cpu"], [ON_CPU]],
    [["!on_cpu", "~has_gil", "~runnable", "~waits_gil"], [0]],
    [[], [0, ON_CPU, ON_CPU | HAS_GIL, WAITS_GIL, UNKNOWN_ON_CPU, RUNNABLE]],
  ];
  for (const [words, expected] of rows) {
    const query = stateQuery(words);
    assert.deepEqual(
      [0, ON_CPU, ON_CPU | HAS_GIL, WAITS_GIL, UNKNOWN_ON_CPU, RUNNABLE].filter((state) => stateMatches(state, query)),
      expected,
      words.join(),
    );
  }
});

test("words that contradict are dropped, the others stay in one order", () => {
  assert.deepEqual(cleanWords(["on_cpu", "~on_cpu", "!has_gil", "constructor"]), ["!has_gil", "on_cpu"]);
  assert.deepEqual(cleanWords(["unknown_in_gc", "!in_gc"]), ["unknown_in_gc"]);
});

test("the words of a mark are as an address has them", () => {
  const sums = sumsOf([[HAS_GIL | ON_CPU | 8, 5], [WAITS_GIL, 5]]);
  for (const chip of markChips(sums, ["in_jit"])) assert.deepEqual(cleanWords(chip.words), chip.words, chip.key);
});

test("sums of increments are the sums of the whole", () => {
  const program = createProgram({ threads: 6, now: () => 0 });
  let threads = new Map();
  for (let second = 1; second < 4; second += 1) {
    program.advance(second);
    threads = addThreads(threads, program.threadStates({ since: second - 1 }));
  }
  assert.deepEqual(threads, addThreads(new Map(), program.threadStates({})));
  assert.equal(sumThreads(threads, []).samples, program.view({}).total);
  assert.equal(sumThreads(threads, [1, 2]).yes[0], program.view({ threads: [1, 2], states: ["on_cpu"] }).total);
  assert.equal(sumThreads(threads, [99]).samples, 0);
});

test("the shares of the bar add up to all, and each is what its part alone would leave", () => {
  const program = createProgram({ threads: 6, now: () => 0 });
  program.advance(3);
  const sums = sumThreads(addThreads(new Map(), program.threadStates({})), []);
  const items = partItems(sums, PARTS);
  assert.ok(Math.abs(items.reduce((sum, { share }) => sum + share, 0) - 1) < 1e-9);
  assert.ok(items.filter(({ share }) => share > 0).length >= 4);
  for (const { key, share } of items)
    assert.equal(program.view({ parts: [key] }).total, Math.round(share * program.view({}).total), key);
  for (const chip of markChips(sums, [])) {
    const left = program.view({ states: chip.words }).total / program.view({}).total;
    assert.ok(Math.abs(parseFloat(chip.share) - left * 100) <= 0.051, chip.key + ": " + chip.share + ", " + left);
  }
});

test("waiting tasks are in no part, and make none smaller", () => {
  const sums = { ...sumsOf([[ON_CPU, 10], [0, 10]]), samples: 90 };
  assert.deepEqual(partItems(sums, PARTS).map(({ text }) => text), ["50.0 %", "0 %", "0 %", "50.0 %", "0 %"]);
});

test("knowing only of the holder that it does not wait for the GIL is not knowing", () => {
  assert.equal(itemOf(sumsOf([[ON_CPU | HAS_GIL, 40], [UNKNOWN_WAITS_GIL, 60]]), "needs_gil").text,
    TEXT.states.unknown);
  assert.equal(itemOf(sumsOf([[ON_CPU | HAS_GIL, 40], [0, 1], [UNKNOWN_WAITS_GIL, 59]]), "needs_gil").text, "0 %");
  assert.ok(
    itemOf(sumsOf([[ON_CPU | HAS_GIL, 40], [UNKNOWN_WAITS_GIL, 60]]), "needs_gil").hint.includes(
      TEXT.states.unavailable,
    ),
  );
});

test("that a thread which waits is not runnable says nothing of those that run", () => {
  assert.equal(itemOf(sumsOf([[ON_CPU | UNKNOWN_RUNNABLE, 40], [0, 60]]), "needs_processor").text, TEXT.states.unknown);
  assert.equal(itemOf(sumsOf([[ON_CPU, 40], [0, 60]]), "needs_processor").text, "0 %");
  assert.equal(itemOf(sumsOf([[ON_CPU, 40], [RUNNABLE, 60]]), "needs_processor").text, "60.0 %");
});

test("before there are samples nothing is claimed", () => {
  for (const item of partItems(createSums(), PARTS)) assert.equal(item.text, "", item.key);
  assert.deepEqual(markChips(createSums(), []), []);
});

test("marks are there where they matter: from one sample in twenty on, and who holds the GIL where others need it", () => {
  const keys = (rows, words) => markChips(sumsOf(rows), words).map(({ key }) => key);
  assert.deepEqual(keys([[ON_CPU | HAS_GIL, 99]], []), []);
  assert.deepEqual(keys([[ON_CPU | HAS_GIL, 95], [WAITS_GIL, 5]], []), ["has_gil"]);
  assert.deepEqual(keys([[ON_CPU | 8, 1], [ON_CPU, 200]], []), []);
  assert.deepEqual(keys([[ON_CPU | 8, 1], [ON_CPU, 200]], ["in_gc"]), ["in_gc"]);
  assert.deepEqual(markOf(sumsOf([[ON_CPU | 8, 5]]), "in_gc", ["has_gil"]).words, ["has_gil", "in_gc"]);
  assert.deepEqual(markOf(sumsOf([[ON_CPU | 8, 5]]), "in_gc", ["has_gil", "in_gc"]).words, ["has_gil"]);
});

test("words of a link that are no mark get a chip of their own, which removes them", () => {
  const chips = markChips(createSums(), ["!has_gil", "in_gc", "on_cpu"]);
  assert.deepEqual(chips.map(({ key, isPressed }) => [key, isPressed]), [["in_gc", true], ["link", true]]);
  assert.deepEqual([chips[1].label, chips[1].words], ["not: holds the GIL, on a processor", ["in_gc"]]);
});

test("what is shown has a name", () => {
  assert.equal(selectionLabel(PARTS, []), "");
  assert.equal(selectionLabel(PARTS.slice(0, 4), []), TEXT.parts.allButIdle);
  assert.equal(selectionLabel(["running", "blocked"], ["in_gc"]), "running + blocked, collecting garbage");
  assert.equal(selectionLabel(PARTS, ["unknown_in_gc", "!unknown_on_cpu", "~has_gil"]),
    "collecting garbage: unknown, on a processor: known, all but: holds the GIL");
});

test("a click shows one part alone and then the usual ones again; with a modifier parts come and go", () => {
  const usual = PARTS.slice(0, 4);
  assert.deepEqual(partsAfter(usual, usual, "blocked", false), ["blocked"]);
  assert.equal(partsAfter(["blocked"], usual, "blocked", false), null);
  assert.deepEqual(partsAfter(["blocked"], usual, "running", true), ["running", "blocked"]);
  assert.deepEqual(partsAfter(usual, usual, "idle", true), PARTS);
  assert.equal(partsAfter(PARTS, usual, "idle", true), null);
  assert.equal(partsAfter(["blocked"], usual, "blocked", true), null);
});

test("a filter that leaves nothing says what there is instead", () => {
  assert.equal(filteredText(["running"], [], sumsOf([[0, 4000]]), ""),
    TEXT.empty.filteredState("4,000", "", "running"));
  assert.equal(filteredText(PARTS, ["has_gil"], sumsOf([[0, 30]]), TEXT.empty.ofThreads),
    TEXT.empty.filteredState("30", TEXT.empty.ofThreads, "holds the GIL"));
  assert.equal(filteredText(PARTS, ["on_cpu"], sumsOf([[0, 30], [UNKNOWN_ON_CPU, 5]]), ""),
    TEXT.empty.filteredState("35", "", "on a processor") + TEXT.empty.unknownFor("5"));
  assert.equal(filteredText(PARTS, ["on_cpu"], sumsOf([[UNKNOWN_ON_CPU, 5]]), ""), TEXT.empty.filteredUnknown("5", ""));
});

test("an empty picture offers the way back to all parts", () => {
  const state = { ...stateOf(["a 0"], { states: ["in_gc"] }), threadStates: new Map([[0, sumsOf([[ON_CPU, 12]])]]) };
  const { empty } = createPicture()(state);
  assert.equal(empty.text, TEXT.empty.filteredState("12", "", TEXT.parts.allButIdle + ", collecting garbage"));
  assert.deepEqual(empty.actions, [{ label: TEXT.empty.allParts,
    action: { type: "address", changes: { parts: PARTS, states: [] }, how: "push" } }]);
  const main = createPicture()({ ...state,
    session: { state: "running", settings: { mode: "wall", threads: "main" } } });
  assert.equal(main.empty.text, empty.text + " " + TEXT.empty.onlyMain);
});

test("a recording that kept nothing says that its mode did it", () => {
  const session = { state: "running", settings: { mode: "gil" }, quality: { samples: 0, filtered: 4000 } };
  const { empty } = createPicture()({ ...stateOf(["a 0"]), session });
  assert.match(empty.text, /--mode gil left out all 4,000 samples/);
});

test("what a thread did is parts of a whole", () => {
  const sums = sumsOf([[ON_CPU | HAS_GIL, 50], [WAITS_GIL, 30], [UNKNOWN_ON_CPU, 20]]);
  assert.equal(partShares(sums).reduce((sum, part) => sum + part.share, 0), 1);
  assert.equal(partsText(sums), "100 samples: 70.0 % running, 30.0 % needs the GIL");
  assert.equal(partsText(createSums()), "no samples");
  assert.equal(factText(sums, "on_cpu"), "50.0 %");
  assert.equal(factText(sumsOf([[UNKNOWN_ON_CPU, 7]]), "on_cpu"), "—");
});

test("an interpreter without a lock has no shares of it", () => {
  const session = { target: { python: "3.14.2t" } };
  const sums = sumsOf([[ON_CPU, 50]]);
  assert.equal(isWithoutGil(session, sums), true);
  assert.equal(isWithoutGil({ target: { python: "3.14.2" } }, sums), false);
  assert.equal(isWithoutGil(session, sumsOf([[ON_CPU, 5], [HAS_GIL, 1]])), false);
  assert.equal(factText(sums, "has_gil", true), TEXT.doing.noGil);
  assert.equal(factText(sums, "on_cpu", true), "100 %");
  for (const item of partItems(sums, PARTS, true))
    assert.equal(item.text === TEXT.doing.noGil, item.key === "needs_gil", item.key);
});

test("every number of quality is in the panel, those nobody has heard of too", () => {
  const program = createProgram({ threads: 3, now: () => 0 });
  program.advance(2);
  const quality = { ...program.fullQuality(), interval_mean_s: 0.001, brand_new: 7 };
  const rows = measureGroups(quality).flatMap((group) => group.rows);
  const keys = rows.map((row) => row.key);
  for (const [key, value] of Object.entries(quality)) if (typeof value === "number") assert.ok(keys.includes(key), key);
  assert.ok(keys.includes("failed_gone") && keys.includes("state_has_gil"));
  assert.equal(new Set(keys).size, keys.length);
  assert.equal(rows.find((row) => row.key === "brand_new").label, "brand new");
  assert.equal(rows.find((row) => row.key === "rss_bytes").value, "7.0 MiB");
  assert.equal(rows.find((row) => row.key === "interval_mean_s").value, "1.0 ms");
  assert.equal(rows.find((row) => row.key === "state_in_native").value, "unknown");
});

test("the numbers of a session alone make a panel too, and none makes none", () => {
  const program = createProgram({ threads: 3, now: () => 0 });
  program.advance(1);
  const groups = measureGroups(program.session().quality);
  assert.deepEqual(groups.map((group) => group.title), [QUALITY_TEXT.groups.rate, QUALITY_TEXT.groups.samples,
    QUALITY_TEXT.groups.stops, QUALITY_TEXT.groups.failed, QUALITY_TEXT.groups.target]);
  assert.deepEqual(measureGroups(null), []);
});

test("idle is hidden; a comparison leaves out what needs a processor too, until parts are chosen", () => {
  const shown = (view, parts = null, session = null) => shownParts({ address: { view, parts, took: null }, session });
  assert.deepEqual([shown("flame"), shown("diff"), shown("diff", ["idle"])], [PARTS.slice(0, 4), ["running",
    "needs_gil", "blocked"], ["idle"]]);
  const ofReport = (view, parts) => usualParts({ address: { view }, session: { selection: { parts } } });
  assert.deepEqual([ofReport("flame", "blocked,idle"), ofReport("flame", "idle"), ofReport("flame", ""),
    ofReport("diff", PARTS.slice(0, 4).join())], [["blocked"], ["idle"], PARTS.slice(0, 4), ["running", "needs_gil",
    "blocked"]]);
});
