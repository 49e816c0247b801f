import assert from "node:assert/strict";
import { test } from "node:test";
import { filteredText, stateChips, stateLabel } from "../../../web/model/filters/chips.js";
import { doingParts, doingText, factText, isWithoutGil } from "../../../web/model/threads/activity.js";
import { measureGroups } from "../../../web/model/page/quality.js";
import { createPicture } from "../../../web/model/page/picture.js";
import { addState, addThreads, cleanWords, createSums, shownStates, stateMatches, stateQuery, sumThreads } from "../../../web/model/profile/states.js";
import { QUALITY_TEXT } from "../../../web/text/quality.js";
import { TEXT } from "../../../web/text/session.js";
import { createProgram } from "../support/made-up-program.mjs";
import { stateOf } from "../support/sample.mjs";

const ON_CPU = 1, HAS_GIL = 2, WAITS_GIL = 4, UNKNOWN_ON_CPU = 256, UNKNOWN_WAITS_GIL = 1024, UNKNOWN_HAS_EXCEPTION = 8192, RUNNABLE = 64, UNKNOWN_RUNNABLE = 16384;

// [[state bits, count], ...]
function sumsOf(rows) {
  const sums = createSums();
  for (const [state, count] of rows) addState(sums, state, count);
  return sums;
}

const chipOf = (sums, key, words = []) => stateChips(sums, words).find((chip) => chip.key === key);

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
    assert.deepEqual([0, ON_CPU, ON_CPU | HAS_GIL, WAITS_GIL, UNKNOWN_ON_CPU, RUNNABLE].filter((state) => stateMatches(state, query)), expected, words.join());
  }
});

test("words that contradict are dropped, the others stay in one order", () => {
  assert.deepEqual(cleanWords(["on_cpu", "~on_cpu", "!has_gil", "constructor"]), ["!has_gil", "on_cpu"]);
  assert.deepEqual(cleanWords(["unknown_in_gc", "!in_gc"]), ["unknown_in_gc"]);
});

test("every chip's words are as an address has them", () => {
  for (const chip of stateChips(createSums(), [])) assert.deepEqual(cleanWords(chip.words), chip.words, chip.key);
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

test("the share on a chip is what it would leave", () => {
  const program = createProgram({ threads: 6, now: () => 0 });
  program.advance(3);
  const sums = sumThreads(addThreads(new Map(), program.threadStates({})), []);
  for (const chip of stateChips(sums, []).filter(({ key }) => key !== "all")) {
    const left = program.view({ states: chip.words }).total / program.view({}).total;
    assert.ok(Math.abs(parseFloat(chip.share) - left * 100) <= 0.051, chip.key + ": " + chip.share + ", " + left);
  }
});

test("a fact that is unknown everywhere disables its chip and says so", () => {
  const sums = sumsOf([[UNKNOWN_HAS_EXCEPTION | ON_CPU | HAS_GIL, 40], [UNKNOWN_HAS_EXCEPTION | UNKNOWN_WAITS_GIL, 60]]);
  const chip = chipOf(sums, "has_exception");
  assert.deepEqual([chip.disabled, chip.share], [true, "unknown"]);
  assert.ok(chip.hint.endsWith(TEXT.states.unavailable));
  assert.equal(chipOf(sums, "on_cpu").disabled, false);
  assert.equal(chipOf(sums, "on_cpu").share, "40.0 %");
});

test("knowing only of the holder that it does not wait for the GIL is not knowing", () => {
  assert.equal(chipOf(sumsOf([[ON_CPU | HAS_GIL, 40], [UNKNOWN_WAITS_GIL, 60]]), "waits_gil").disabled, true);
  assert.equal(chipOf(sumsOf([[ON_CPU | HAS_GIL, 40], [0, 1], [UNKNOWN_WAITS_GIL, 59]]), "waits_gil").disabled, false);
});

test("that a thread which waits is not runnable says nothing of those that run", () => {
  assert.equal(chipOf(sumsOf([[ON_CPU | UNKNOWN_RUNNABLE, 40], [0, 60]]), "runnable").disabled, true);
  assert.equal(chipOf(sumsOf([[ON_CPU, 40], [0, 60]]), "runnable").disabled, false);
  assert.equal(chipOf(sumsOf([[ON_CPU, 40], [RUNNABLE, 60]]), "runnable").share, "60.0 %");
});

test("before there are samples nothing is disabled and nothing is claimed", () => {
  for (const chip of stateChips(createSums(), [])) assert.deepEqual([chip.disabled, chip.share], [false, ""], chip.key);
});

test("words of a link that are no chip get one of their own", () => {
  const chips = stateChips(createSums(), ["!has_gil", "on_cpu"]);
  assert.deepEqual([chips.at(-1).pressed, chips.at(-1).label], [true, "not holding the GIL, on CPU"]);
  assert.equal(chips.filter((chip) => chip.pressed).length, 1);
  assert.equal(stateLabel(["on_cpu"]), "On CPU");
  assert.equal(stateLabel(["unknown_in_gc", "!unknown_on_cpu", "~has_gil"]), "in GC: unknown, on CPU: known, all but holding the GIL");
});

test("a filter that leaves nothing says what there is instead", () => {
  assert.equal(filteredText(["on_cpu"], sumsOf([[0, 4000]]), ""), TEXT.empty.filteredState("4,000", "", "On CPU"));
  assert.equal(filteredText(["has_gil"], sumsOf([[0, 30]]), TEXT.empty.ofThreads), TEXT.empty.filteredState("30", TEXT.empty.ofThreads, "Holding the GIL"));
  assert.equal(filteredText(["on_cpu"], sumsOf([[0, 30], [UNKNOWN_ON_CPU, 5]]), ""), TEXT.empty.filteredState("35", "", "On CPU") + TEXT.empty.unknownFor("5"));
  assert.equal(filteredText(["on_cpu"], sumsOf([[UNKNOWN_ON_CPU, 5]]), ""), TEXT.empty.filteredUnknown("5", ""));
});

test("an empty picture offers the way back to all states", () => {
  const state = { ...stateOf(["a 0"], { states: ["in_gc"] }), threadStates: new Map([[0, sumsOf([[ON_CPU, 12]])]]) };
  const { empty } = createPicture()(state);
  assert.equal(empty.text, TEXT.empty.filteredState("12", "", "In GC"));
  assert.deepEqual(empty.actions, [{ label: TEXT.empty.allStates, action: { type: "address", changes: { states: [] }, how: "push" } }]);
  const main = createPicture()({ ...state, session: { state: "running", settings: { mode: "wall", threads: "main" } } });
  assert.equal(main.empty.text, empty.text + " " + TEXT.empty.onlyMain);
});

test("a recording that kept nothing says that its mode did it", () => {
  const session = { state: "running", settings: { mode: "gil" }, quality: { samples: 0, filtered: 4000 } };
  const { empty } = createPicture()({ ...stateOf(["a 0"]), session });
  assert.match(empty.text, /--mode gil left out all 4,000 samples/);
});

test("what a thread did is parts of a whole, and unknown is one of them", () => {
  const sums = sumsOf([[ON_CPU | HAS_GIL, 50], [WAITS_GIL, 30], [UNKNOWN_ON_CPU, 20]]);
  assert.equal(doingParts(sums).reduce((sum, part) => sum + part.share, 0), 1);
  assert.equal(doingText(sums), "100 samples: 50.0 % holding the GIL, 30.0 % waiting for the GIL, 20.0 % unknown");
  assert.equal(doingText(createSums()), "no samples");
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
  for (const chip of stateChips(sums, [], true)) assert.equal(chip.share === TEXT.doing.noGil, ["has_gil", "waits_gil"].includes(chip.key), chip.key);
});

test("every number of quality is in the panel, those nobody has heard of too", () => {
  const program = createProgram({ threads: 3, now: () => 0 });
  program.advance(2);
  const quality = { ...program.fullQuality(), interval_mean_s: 0.001, brand_new: 7 };
  const rows = measureGroups(quality).flatMap((group) => group.rows);
  const keys = rows.map((row) => row.key);
  for (const [key, value] of Object.entries(quality)) if (typeof value === "number") assert.ok(keys.includes(key), key);
  assert.ok(keys.includes("bias_share") && keys.includes("biased_price_of"));
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
  assert.deepEqual(groups.map((group) => group.title), [QUALITY_TEXT.groups.rate, QUALITY_TEXT.groups.samples, QUALITY_TEXT.groups.bias, QUALITY_TEXT.groups.failed, QUALITY_TEXT.groups.target]);
  assert.deepEqual(measureGroups(null), []);
});

test("a comparison leaves out what waits for a processor, until other states are chosen", () => {
  const shown = (view, states = null, session = null) => shownStates({ address: { view, states }, session });
  assert.deepEqual([shown("flame"), shown("diff"), shown("diff", ["on_cpu"]), shown("diff", [])], [["active"], ["active", "~runnable"], ["on_cpu"], []]);
  assert.deepEqual(shown("diff", null, { selection: { state: "on_cpu" } }), []);
  const sums = sumsOf([[HAS_GIL | ON_CPU, 60], [RUNNABLE, 30], [0, 10]]);
  const chip = stateChips(sums, shown("diff")).find(({ pressed }) => pressed);
  assert.deepEqual([chip.key, chip.share, chip.isIdle], ["compared", "60.0 %", false]);
  assert.equal(chipOf(sums, "compared", ["active"]).isIdle, true);
});
