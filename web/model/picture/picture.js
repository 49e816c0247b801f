// From the state to what is drawn: trees, zoom, search, the cut drawing. Each step is cached until its inputs change.

import { TEXT } from "../../text/session.js";
import { changeStyle, compareGroups, compareRows, comparedSide, comparedSides } from "../trees/compare.js";
import { ALL_OPEN, FLAME_VIEWS } from "../page/address.js";
import { cutTree } from "../trees/cut.js";
import { isWithoutGil } from "../threads/activity.js";
import { emptyReason } from "../page/empty.js";
import { blockSums, createIntervals, samplesInTime } from "./intervals.js";
import { foldTree } from "../trees/folds.js";
import { frameKey, frameLabel, frameOfFunction } from "../profile/frames.js";
import { gilMatrix, causedCounts } from "../threads/gil.js";
import { taskGroups, tasksReason, tasksRequest } from "../threads/tasks.js";
import { groupCount, groupTotals, matchedSamples } from "../trees/grouping.js";
import { lineNeighbours, sourceLines, sourcePaths } from "../code/lines.js";
import { memoise } from "../base/memoise.js";
import { formatCount, formatPoints, formatShare, isKnown, ratio } from "../base/numbers.js";
import { createOwnLines, extendOwnLines, hottestOwnLines, waitingOwnLines } from "../code/own.js";
import { otherBaseline } from "../page/questions.js";
import { inJitOf, nativeSetting } from "../trees/native.js";
import { shownOrder } from "../page/state.js";
import { currentGrouping, isRunningBehind } from "../trees/recording.js";
import { nodeCount } from "../profile/profile.js";
import { isCounted } from "../filters/filter.js";
import { createMatcher, extendMatcher } from "../filters/search.js";
import { IDLE, isRunningAPart, PARTS, RUNNING, shownParts } from "../profile/parts.js";
import { STATE_FACTS, sumThreads } from "../profile/states.js";
import { WAIT_HUES } from "../profile/wait-causes.js";
import { contextShares } from "../profile/contexts.js";
import { waitShares } from "../profile/waits.js";
import { frameCounts, nameRanks, sortedRows, tableRows, topFrames } from "../code/table.js";
import { layOutRuns } from "../trees/stacks.js";
import { createFollowedThread } from "../page/stack-span.js";
import { distinctNames } from "../base/text.js";
import { createChosenThreads, threadIds, threadsWithStates } from "../threads/threads.js";
import { bottomUpTree, createMergedNames, resolveKeys, sandwichTrees, topDownTree, treeKeys, treePath } from "../trees/trees.js";

// Shares of all samples at which a frame glows one step hotter.
export const HEAT_STEPS = [0.002, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4];

const HOTTEST_COUNT = 12;
const WAITS_AMONG_HOTTEST = 24;
const OWN_COUNT = 5;
// A level of your code with such a share of the samples answers.
const ENOUGH = 0.01;
const OWN_WAITS = 3;

export function heatLevel(share) {
  let level = 0;
  while (level < HEAT_STEPS.length && share >= HEAT_STEPS[level]) level += 1;
  return level;
}

function remainderFields(kind, count, value, isMore, sum) {
  const number = formatCount(count) + (isMore ? "+" : "");
  const name = {
    more: TEXT.flame.more(number, formatShare(ratio(value, sum))),
    deeper: TEXT.flame.deeper(number),
    above: TEXT.flame.above(number),
  }[kind];
  return { name, label: name, self: 0, total: value, heat: 0, hue: "none", neutral: true, foreign: true };
}

function byLabel(a, b) {
  if (a.foreign !== b.foreign) return a.foreign ? 1 : -1;
  if (a.label !== b.label) return a.label < b.label ? -1 : 1;
  return Number(a.id) - Number(b.id);
}

// Siblings in that order; bottom-up always the largest first, as what leads to most samples is what is asked for.
function bySize(a, b) {
  return b.value - a.value || byLabel(a, b);
}

const siblingOrder = (order, isBottomUp) => (order === "size" || isBottomUp ? bySize : byLabel);

function createFields(recording, grouping, totals, tree) {
  const { frames } = grouping;
  return (id) => {
    const frame = tree.frame(id);
    const label = frameLabel(frames, recording.profile, frame);
    const self = tree.self(id);
    return {
      name: label.label,
      label: label.label,
      self,
      total: tree.total(id),
      heat: heatLevel(self / totals.sum),
      hue: label.hue,
      neutral: label.synthetic && label.wait === null && (!label.runs || self < totals.sum * HEAT_STEPS[0]),
      foreign: label.synthetic,
      function: frames.function[frame],
    };
  };
}

function drawTree(tree, focus, width, fields, sum, order) {
  const remainder = (kind, count, value, isMore) => remainderFields(kind, count, value, isMore, sum);
  const drawing = cutTree(tree, focus, { width, fields, remainder, order });
  return { ...drawing, byId: indexDrawing(drawing.root) };
}

// `open`: the folded chains that are open, or null: nothing is folded.
function makeDrawing(recording, version, grouping, totals, tree, focus, width, order, open) {
  if (totals.sum === 0 || width <= 0) return null;
  const plain = createFields(recording, grouping, totals, tree);
  const shown = open === null ? tree : foldTree(tree, grouping, totals, recording.profile, open);
  const fieldsOf = open === null ? plain : (id) => foldedFields(plain, tree, shown.foldOf(id), id);
  const all = { name: TEXT.all, label: TEXT.all, self: 0, total: totals.sum, heat: 0, hue: "none", neutral: true, foreign: true };
  return drawTree(shown, focus, width, (id) => (id === 0 ? all : fieldsOf(id)), totals.sum, order);
}

// A frame that stands for a chain of them.
function foldedFields(fieldsOf, tree, fold, id) {
  if (fold === null) return fieldsOf(id);
  const [functions, ids] = [[], []];
  for (let at = id; at !== tree.parent(fold.first); at = tree.parent(at)) {
    functions.push(fieldsOf(at));
    ids.push(String(at));
  }
  const label = TEXT.flame.folded(formatCount(fold.count), functions.at(-1).label, functions[0].label);
  return { ...functions[0], name: label, label, neutral: true, fold: fold.key, ids, functions: functions.map((one) => one.function) };
}

// The drawing with what a search makes of its frames, isMatch(frame): only their style differs, not their place.
function markDrawing(drawing, matcher) {
  if (drawing === null || !matcher.search.active) return drawing;
  return { ...drawing, isMatch: (frame) => (frame.functions ?? [frame.function ?? 0]).some((id) => matcher.matched[id]) };
}

// The frame that a link calls `key`, or 0.
function frameOfKey(frames, profile, key) {
  for (let frame = 1; frame < frames.function.length; frame += 1) if (frameKey(frames, profile, frame) === key) return frame;
  return 0;
}

// Callers and callees of one function: {label, key, total, self, callers, callees (drawings)}; null when it is not there.
function makeSandwich(recording, version, grouping, totals, key, width, names, order) {
  const frame = key === "" ? 0 : frameOfKey(grouping.frames, recording.profile, key);
  if (frame === 0 || totals.sum === 0) return null;
  const trees = sandwichTrees(names, grouping, totals, frame);
  const label = frameLabel(grouping.frames, recording.profile, frame);
  if (trees.sum === 0 || width <= 0) return { label, key, total: trees.sum, self: trees.self, callers: null, callees: null, keyOf: () => key };
  const draw = (tree, isBottomUp) => drawTree(tree, 0, width, createFields(recording, grouping, totals, tree), totals.sum, siblingOrder(order, isBottomUp));
  const keyOf = (side, id) => frameKey(grouping.frames, recording.profile, trees[side].frame(Number(id)));
  return { label, key, total: trees.sum, self: trees.self, callers: draw(trees.callers, true), callees: draw(trees.callees, false), keyOf };
}

function markSandwich(sandwich, matcher) {
  return sandwich && { ...sandwich, callers: markDrawing(sandwich.callers, matcher), callees: markDrawing(sandwich.callees, matcher) };
}

// -> sandwich(state, functions, totals() and counts() of them, matcher): of the function of the address, else of the one that was the hottest when it was first asked for, or when that no longer had samples.
function createSandwiching() {
  const namesOf = memoise((grouping, key) => ({ up: createMergedNames(), down: createMergedNames() }));
  const sandwichOf = memoise(makeSandwich);
  const markedOf = memoise(markSandwich);
  let hottest = "";
  function keyOf({ address: { about }, recording }, functions, counts) {
    if (about !== "") hottest = "";
    else if (!(counts().total[frameOfKey(functions.frames, recording.profile, hottest)] > 0)) {
      const found = makeHottest(recording, functions, counts());
      hottest = (found.find(({ label }) => !label.synthetic) ?? found[0])?.key ?? "";
    }
    return about || hottest;
  }
  return (state, functions, totals, counts, matcher) => {
    const key = keyOf(state, functions, counts);
    return markedOf(sandwichOf(state.recording, state.recordingVersion, functions, totals(), key, state.width, namesOf(functions, key), shownOrder(state)), matcher);
  };
}

// Every drawn frame by its id, with the frame above it and its level; a folded chain by the ids of all its frames.
function indexDrawing(root) {
  const byId = new Map([[root.id, { frame: root, parent: null, level: 0 }]]);
  const stack = [root];
  while (stack.length > 0) {
    const frame = stack.pop();
    const level = byId.get(frame.id).level + 1;
    for (const child of frame.children) {
      for (const id of child.ids ?? [child.id]) byId.set(id, { frame: child, parent: frame, level });
      stack.push(child);
    }
  }
  return byId;
}

function makeMatches(recording, version, grouping, totals, matcher) {
  if (!matcher.search.active) return { active: false, error: matcher.search.error, samples: 0, share: NaN, functions: 0 };
  const functionOf = grouping.frames.function;
  const { samples } = matchedSamples(grouping, totals, (frame) => matcher.matched[functionOf[frame]]);
  const functions = matcher.matched.reduce((count, matched) => count + Number(matched), 0);
  return { active: true, error: null, samples, share: ratio(samples, totals.sum), functions };
}

const DIFF_SIGNS = { new: "+ ", gone: "− ", more: "↑ ", less: "↓ " };

// Marks that say how a stack was read, not what the program did: they never differ significantly.
const READING_MARKS = ["<truncated>", "<gap>", "<native stack>", "<name not kept>"];

// Both sides of the sums, of {self, total} by frame or by group.
function sidesOfSums(baseline, current, self, total) {
  if (baseline === null || current === null) return null;
  return { baseline: { self: baseline.columns[self], total: baseline.columns[total] }, current: { self: current.columns[self], total: current.columns[total] } };
}

// What changed from the baseline to the current query, and the functions by change: {groups (of compareGroups), rows, count,
// baselineSum, currentSum}, or null without a baseline. The times of both sides are 0 where shares are compared.
function makeCompared(recording, version, grouping, totals, baselineTime, currentTime) {
  if (recording.baseline.total === 0) return null;
  const baseline = groupTotals(grouping, recording.baseline);
  if (baseline.sum === 0 && totals.sum === 0) return null;
  const isRate = baselineTime > 0;
  const [before, after] = [blockSums(recording, grouping, recording.blocks.baseline, isRate ? recording.baseline : null, true), blockSums(recording, grouping, recording.blocks.current, isRate ? recording.counts : null, true)];
  const sides = comparedSides(
    comparedSide(isRate ? samplesInTime(baselineTime, recording.baseline) : baseline.sum, before?.units ?? null),
    comparedSide(isRate ? samplesInTime(currentTime, recording.counts) : totals.sum, after?.units ?? null), isRate);
  const labelOf = (frame) => frameLabel(grouping.frames, recording.profile, frame);
  const mayDiffer = (frame) => !READING_MARKS.includes(labelOf(frame).raw);
  const rows = compareRows(frameCounts(grouping, baseline), frameCounts(grouping, totals), sides, sidesOfSums(before, after, "self", "total"), mayDiffer)
    .map((row) => ({ ...row, label: labelOf(row.frame), key: functionKey(recording, grouping, row.frame) }));
  const groups = compareGroups(baseline, totals, sides, sidesOfSums(before, after, "groupSelf", "groupTotal"), (group) => mayDiffer(grouping.frame.values[group]));
  return { groups, rows, count: rows.length, baselineSum: baseline.sum, currentSum: totals.sum, hasBlocks: before !== null && after !== null };
}

// The comparison as it is drawn: what makeCompared() gives and {drawing, focus, keysTo(id)}; zoom, widthOf and by are those of the address.
function makeDiff(compared, recording, grouping, width, zoom, widthOf, by, order) {
  if (compared === null) return null;
  const { groups } = compared;
  const totals = groups.totals(widthOf);
  const tree = topDownTree(grouping, totals);
  const { frames } = grouping;
  const fields = (id) => {
    const changes = { total: groups.total(id), self: groups.self(id) };
    if (id === 0) return { name: TEXT.all, label: TEXT.all, heat: 0, hue: "none", neutral: true, foreign: true, changes };
    const label = frameLabel(frames, recording.profile, tree.frame(id));
    const { verdict, baselineShare, currentShare } = changes[by];
    const points = verdict === "same" || verdict === "few" ? "" : "  " + formatPoints(currentShare - baselineShare);
    // Siblings are in the order of the flame graph, by name without a sign.
    return { name: (DIFF_SIGNS[verdict] ?? "") + label.label + points, label: label.label, heat: 0, hue: label.wait === null ? label.hue : "none", neutral: false, foreign: label.synthetic, change: changeStyle(verdict, currentShare - baselineShare), changes, function: frames.function[tree.frame(id)] };
  };
  const { id, missing } = resolveKeys(tree, frames, recording.profile, zoom);
  const focus = missing === 0 && tree.total(id) > 0 ? id : 0;
  return {
    ...compared, focus,
    drawing: width > 0 && totals.sum > 0 ? drawTree(tree, focus, width, fields, totals.sum, siblingOrder(order, false)) : null,
    keysTo: (to) => treeKeys(tree, frames, recording.profile, Number(to)),
  };
}

// The drawing with both what changed and what a search makes of its frames.
function markDiff(diff, matcher) {
  if (diff === null) return null;
  return { ...diff, drawing: markDrawing(diff.drawing, matcher) };
}

// The seconds of the baseline and of what is compared with it, 0 where shares are compared.
function timesOf({ session, address }) {
  const other = otherBaseline({ session, address });
  if (other?.by !== "time") return { baseline: 0, current: 0 };
  const { range } = address;
  const { duration_s: duration, to_s: end } = session.selection;
  return { baseline: other.selection.duration_s, current: range === null ? duration : (range.to ?? end) - range.from };
}

const TOP_LINES = 20;

// Which share of self samples code of CPython's JIT executed; null: none, or nothing is known.
export function inJitBadge(inJit, self) {
  return inJit > 0 ? TEXT.states.facts.in_jit + " " + formatShare(ratio(inJit, self)) : null;
}

// -> the badge of a frame, for the rows of the table
function makeInJit(recording, version, grouping, { self }) {
  const { self: inJit } = frameCounts(grouping, groupTotals(grouping, recording.inJit));
  return (frame) => inJitBadge(inJitOf(recording.profile, grouping.frames.function[frame], inJit[frame]), self[frame]);
}

// Files and lines: {files, others, top (lines), names (Map of path -> short name), nameOf(line), describe(frame), neighbours(line or function)}.
function makeSource(recording, version, grouping, totals) {
  const labelOf = (frame) => frameLabel(grouping.frames, recording.profile, frame);
  const { files, others, top } = totals.sum === 0 ? { files: [], others: [], top: () => [] } : sourceLines(grouping, recording.profile, totals, groupTotals(grouping, recording.inJit));
  return {
    files,
    others,
    top: top(TOP_LINES),
    names: distinctNames(files.map((file) => file.path)),
    nameOf: (line) => (line === undefined ? "" : labelOf(line.frames[0]).name),
    describe: (frame) => ({ label: labelOf(frame), key: functionKey(recording, grouping, frame) }),
    neighbours: ({ frames }) => lineNeighbours(grouping, totals, frames),
  };
}

const GIL_SIDES_MAX = 12;

// Why there is nothing to say of the GIL, or null.
function gilReason(gil, sums, withoutGil) {
  const waits = STATE_FACTS.indexOf("waits_gil");
  if (sums.samples === 0) return TEXT.noSamples;
  if (withoutGil) return TEXT.gil.freeThreaded;
  const holds = STATE_FACTS.indexOf("has_gil");
  if (sums.yes[waits] === 0 && sums.unknown[waits] > 0 && sums.unknown[waits] + sums.yes[holds] >= sums.samples) return TEXT.gil.unknown;
  return gil.waited > 0 ? null : TEXT.gil.none;
}

// GIL contention by thread: {reason, waited, unattributed, caused, matrix, hottest, drawing, keyOf}.
function makeGil(recording, version, grouping, gil, threads, sums, withoutGil, width) {
  const reason = gilReason(gil, sums, withoutGil);
  const totals = groupTotals(grouping, causedCounts(gil, nodeCount(recording.profile)));
  const tree = topDownTree(grouping, totals);
  const fieldsOf = createFields(recording, grouping, totals, tree);
  const all = { name: TEXT.all, label: TEXT.all, self: 0, total: totals.sum, heat: 0, hue: "none", neutral: true, foreign: true };
  return {
    ...gil,
    reason,
    caused: totals.sum,
    matrix: gilMatrix(gil, threads, GIL_SIDES_MAX),
    hottest: makeHottest(recording, grouping, frameCounts(grouping, totals)),
    drawing: totals.sum > 0 && width > 0 ? drawTree(tree, 0, width, (id) => (id === 0 ? all : fieldsOf(id)), totals.sum, byLabel) : null,
    keyOf: (id) => (Number(id) === 0 ? "" : functionKey(recording, grouping, tree.frame(Number(id)))),
  };
}

function makeTasks(recording, version, tasks, reason, again) {
  return { ...taskGroups(tasks, recording.profile), reason, again };
}

// All rows in their order; labels are made where they are shown.
function makeTable(recording, version, grouping, all, matcher, table, ranks) {
  const { frames } = grouping;
  const rows = matcher.search.active ? all.filter((row) => matcher.matched[frames.function[row.frame]]) : all;
  const labelOf = (row) => frameLabel(frames, recording.profile, row.frame);
  const sorted = sortedRows(rows, table.sort, table.descending, ranks);
  return { rows: sorted, count: rows.length, functions: all.length, labelOf, keyOf: (row) => functionKey(recording, grouping, row.frame) };
}

// What a link calls the function of a frame, whatever line of it.
function functionKey(recording, grouping, frame) {
  const functions = currentGrouping(recording, "function", grouping.filters, grouping.native, grouping.waits);
  const same = frameOfFunction(functions.frames, grouping.frames.function[frame]);
  return same > 0 ? frameKey(functions.frames, recording.profile, same) : "";
}

// The frames with the most self samples, without what threads wait for: [{label, self, key}]
function makeHottest(recording, grouping, { self }) {
  const labelOf = (frame) => frameLabel(grouping.frames, recording.profile, frame);
  const hottest = topFrames(self, HOTTEST_COUNT + WAITS_AMONG_HOTTEST).map((frame) => ({ frame, label: labelOf(frame), self: self[frame] }));
  return hottest.filter(({ label }) => label.wait === null).slice(0, HOTTEST_COUNT).map(({ frame, label, self: samples }) => ({ label, self: samples, key: functionKey(recording, grouping, frame) }));
}

// The lines of your code with the most samples, whatever these lines called, of the first level that has enough of them, or the last: {running, waiting: what hottestOwnLines() and waitingOwnLines() give, and the level; null where
// none of it is shown, or nothing waits}; null while it is not known yet what runs: of what is counted, or, `anyway`, of any of it.
function createOwn() {
  const linesOf = memoise((profile, patterns) => createOwnLines(patterns));
  const ownOf = memoise((recording, version, runningVersion, grouping, patterns, words) => {
    const parts = words.split(",");
    const runs = parts.includes(PARTS[RUNNING]);
    const waits = parts.some((part) => part !== PARTS[RUNNING] && part !== PARTS[IDLE]);
    const running = !runs ? null : parts.length === 1 ? recording.counts : recording.running;
    const { profile, counts } = recording;
    const lines = linesOf(profile, patterns);
    const find = (count) => {
      let found;
      for (const level of profile.ownCode) {
        extendOwnLines(lines, profile, level);
        found = { ...count(), level };
        if (found.samples >= ENOUGH * found.all) break;
      }
      return found;
    };
    const waiting = waits ? find(() => waitingOwnLines(lines, profile, grouping, counts, running, OWN_WAITS)) : null;
    // Nothing that waits is no news; that none of your code runs is.
    return { running: runs ? find(() => hottestOwnLines(lines, profile, grouping, counts, running, OWN_COUNT)) : null, waiting: waiting?.rows.length > 0 ? waiting : null };
  });
  return ({ recording, recordingVersion, ownPatterns, ...state }, grouping, anyway) => {
    if (isRunningAPart(state) && (anyway ? recording.running === null : isRunningBehind(recording))) return null;
    return ownOf(recording, recordingVersion, recording.runningVersion, grouping, ownPatterns, shownParts(state).join());
  };
}

// What threads waited for, or worked for, of the samples that the filters keep.
function makeShares(shares, recording, { filter, seen, groupOfNode }) {
  const counted = (node) => filter.terms.length === 0 || isCounted(seen.values[node], groupOfNode.values[node]);
  return shares(recording.profile, recording.counts, counted);
}

// -> overview(recording, version, grouping, counts() of its frames): {hottest(), waits(), contexts(), waitHues(): those of wait-causes.js that are drawn}
function createOverview() {
  const hottestOf = memoise(makeHottest);
  const waitsOf = memoise((recording, version, grouping) => makeShares(waitShares, recording, grouping));
  const contextsOf = memoise((recording, version, grouping) => makeShares(contextShares, recording, grouping));
  return (recording, version, grouping, counts) => ({
    hottest: () => hottestOf(recording, grouping, counts()),
    waits: () => waitsOf(recording, version, grouping),
    contexts: () => contextsOf(recording, version, grouping),
    waitHues: () => (grouping.waits ? WAIT_HUES.filter((hue) => waitsOf(recording, version, grouping).some((wait) => wait.hue === hue)) : []),
  });
}

// What a function is, wherever it is called: null when it has no samples.
function describeFunction(recording, functions, { self, total }, key) {
  const frame = key === "" ? 0 : frameOfKey(functions.frames, recording.profile, key);
  return frame === 0 || !(total[frame] > 0) ? null : { label: frameLabel(functions.frames, recording.profile, frame), key, frame, self: self[frame], total: total[frame] };
}

// What a frame of the tree is, for the details: null when there is no such frame.
function describeFrame(recording, grouping, tree, id) {
  const label = frameLabel(grouping.frames, recording.profile, tree.frame(id));
  return { id: String(id), label, key: functionKey(recording, grouping, tree.frame(id)), self: tree.self(id), total: tree.total(id) };
}

// -> diff(state, functions, totalsOfFunctions(), native, matcher): the comparison as it is drawn; null while nothing is compared.
// Another session has functions of its own, so those are compared by name.
function createComparing() {
  const totalsOf = memoise((recording, version, grouping) => groupTotals(grouping, recording.counts));
  const comparedOf = memoise(makeCompared);
  const diffOf = memoise(makeDiff);
  const markedOf = memoise(markDiff);
  return (state, functions, totalsOfFunctions, native, matcher) => {
    const { recording, recordingVersion: version, address } = state;
    const isOther = otherBaseline(state) !== null;
    if (!isOther && address.baseline === null) return null;
    const names = isOther ? currentGrouping(recording, "name", address.filters, native, !address.hidesWaits) : functions;
    const times = timesOf(state);
    const sums = isOther ? totalsOf(recording, version, names) : totalsOfFunctions();
    const compared = comparedOf(recording, version, names, sums, times.baseline, times.current);
    return markedOf(diffOf(compared, recording, names, state.width, address.zoom, address.diffWidth, address.diffBy, shownOrder(state)), matcher);
  };
}

// Of a frame in a stack chart: {label, style (as in the style sheet), function}, made once.
function createFaces(recording, version, grouping, totals) {
  const faces = [];
  const fieldsOf = createFields(recording, grouping, totals, topDownTree(grouping, totals));
  return (group) => (faces[group] ??= fieldsOf(group));
}

// -> stacks(state, grouping, totals, followed thread): {thread, isBusiest, layout (of stacks.js; null: nothing is known yet), faceOf(group)}
function createStackChart() {
  const layoutOf = memoise((runs, grouping, groups) => layOutRuns(runs, grouping));
  const facesOf = memoise(createFaces);
  return ({ recording, recordingVersion: version }, grouping, totals, { thread, isBusiest }) => ({
    thread,
    isBusiest,
    layout: thread === null || recording.runs.key !== thread.ids.join() ? null : layoutOf(recording.runs, grouping, groupCount(grouping)),
    faceOf: facesOf(recording, version, grouping, totals),
  });
}

const pathsOf = memoise((profile) => sourcePaths(profile));
const badgesOf = memoise(makeInJit);

// -> compute(state): `functions()` are all with samples, most total samples first: [{label, key}]; `paths()` are their files; `tree` is what the flame graph is drawn of, and
// isMatch(id) whether the search matches a frame of it. It gives the same objects again for as long as nothing they show has changed
export function createPicture() {
  const totalsOf = memoise((recording, version, grouping) => groupTotals(grouping, recording.counts));
  const treeOf = memoise((recording, version, grouping, totals, bottomUp, by) =>
    bottomUp ? bottomUpTree(grouping.bottomUpNames, grouping, totals) : topDownTree(grouping, totals));
  const focusOf = memoise(resolveKeys);
  const selectedOf = memoise(resolveKeys);
  const matcherOf = memoise((profile, term) => createMatcher(term));
  const matchesOf = memoise(makeMatches);
  const drawingOf = memoise(makeDrawing);
  const markedOf = memoise(markDrawing);
  const gilOf = memoise(makeGil);
  const tasksOf = memoise(makeTasks);
  const sandwich = createSandwiching();
  const ranksOf = memoise((frames, profile, count) => nameRanks(frames, profile));
  const intervals = createIntervals();
  const diff = createComparing();
  const lineTotalsOf = memoise((recording, version, grouping) => groupTotals(grouping, recording.counts));
  const sourceOf = memoise(makeSource);
  const functionTotalsOf = memoise((recording, version, grouping) => groupTotals(grouping, recording.counts));
  const countsOf = memoise((version, grouping, totals) => frameCounts(grouping, totals));
  const functionCountsOf = memoise((version, grouping, totals) => frameCounts(grouping, totals));
  const rowsOf = memoise(tableRows);
  const tableOf = memoise(makeTable);
  const overview = createOverview();
  const own = createOwn();
  const stackChart = createStackChart();
  const followedThread = createFollowedThread();
  const chosenThreads = createChosenThreads();
  const sumsOf = memoise((threadStates, chosen, threads) => sumThreads(threadStates, threadIds(threadsWithStates(chosen.chosen, threads))));

  return function compute(state) {
    const { recording, recordingVersion: version, address } = state;
    const { profile } = recording;
    const native = nativeSetting(address, state.session, state.live);
    const isFlame = FLAME_VIEWS.includes(address.view);
    const grouping = currentGrouping(recording, address.by, address.filters, native, !address.hidesWaits);
    const totals = totalsOf(recording, version, grouping);
    const tree = treeOf(recording, version, grouping, totals, address.bottomUp && address.view !== "stacks", address.by);
    const focus = focusOf(tree, grouping.frames, profile, address.zoom);
    const selected = selectedOf(tree, grouping.frames, profile, address.frame);
    const matcher = matcherOf(profile, address.search);
    extendMatcher(matcher, profile);
    const { threads, chosen } = chosenThreads(state);
    const drawing = isFlame ? markedOf(drawingOf(recording, version, grouping, totals, tree, focus.id, state.width, siblingOrder(shownOrder(state), address.bottomUp), address.bottomUp || address.open.includes(ALL_OPEN) ? null : address.open), matcher) : null;
    const functions = currentGrouping(recording, "function", address.filters, native, !address.hidesWaits);
    const byLine = () => {
      const lines = currentGrouping(recording, "line", address.filters, native, !address.hidesWaits);
      return sourceOf(recording, version, lines, lineTotalsOf(recording, version, lines));
    };
    const functionTotals = () => functionTotalsOf(recording, version, functions);
    const functionCounts = () => functionCountsOf(version, functions, functionTotals());
    const sums = sumsOf(state.threadStates, chosen, threads);
    const shownDiff = address.view === "diff" ? diff(state, functions, functionTotals, native, matcher) : null;
    const followed = followedThread(state, chosen.chosen, threads);
    return {
      sum: totals.sum,
      // The native frames that are shown; null: there are none.
      native: profile.libraries.length > 1 ? native : null,
      drawing,
      focus,
      focusTotal: tree.total(focus.id),
      selected: selected.missing === 0 && selected.id !== 0 ? String(selected.id) : null,
      matches: matchesOf(recording, version, grouping, totals, matcher),
      // For every function whether the search matches it; null while nothing is searched for.
      matched: matcher.search.active ? matcher.matched : null,
      table: address.view === "table" ? tableOf(recording, version, grouping, rowsOf(countsOf(version, grouping, totals)), matcher, state.table, ranksOf(grouping.frames, profile, grouping.frames.function.length)) : null,
      inJit: (frame) => badgesOf(recording, version, grouping, countsOf(version, grouping, totals))(frame),
      ...intervals(recording, version, grouping, functions),
      sandwich: address.view === "sandwich" ? sandwich(state, functions, functionTotals, functionCounts, matcher) : null,
      source: address.view === "source" ? byLine() : null,
      // The thread in the order of time, and its boxes.
      stackThread: followed.thread,
      stacks: address.view === "stacks" ? stackChart(state, grouping, totals, followed) : null,
      own: (anyway) => own(state, grouping, anyway),
      diff: shownDiff,
      gil: address.view === "gil" ? gilOf(recording, version, functions, state.gil, threads, sums, isWithoutGil(state.session, sums), state.width) : null,
      tasks: address.view === "tasks" ? tasksOf(recording, version, state.tasks, tasksReason(state.tasks, state.session, state.live, profile), tasksRequest(state) !== null) : null,
      secondsPerSample: isKnown(recording.counts.seconds) && recording.counts.seconds > 0 ? ratio(recording.counts.seconds, recording.counts.total) : 1 / (state.session?.quality?.achieved_hz || NaN),
      functions: () => rowsOf(countsOf(version, grouping, totals)).slice().sort((a, b) => b.total - a.total).map((row) => ({ label: frameLabel(grouping.frames, profile, row.frame), key: functionKey(recording, grouping, row.frame) })),
      paths: () => pathsOf(profile, profile.functionName.length),
      ...overview(recording, version, grouping, () => countsOf(version, grouping, totals)),
      // The function that the address is about.
      about: () => address.about === "" ? null : describeFunction(recording, functions, functionCounts(), address.about),
      threads, chosen, sums,
      empty: emptyReason(state, totals.sum, sums, shownDiff !== null),
      tree,
      isMatch: (id) => matcher.matched[grouping.frames.function[tree.frame(id)]],
      // Frames are asked for by the id they are drawn under.
      describe: (id) => describeFrame(recording, grouping, tree, Number(id)),
      pathTo: (id) => treePath(tree, Number(id)).map((at) => describeFrame(recording, grouping, tree, at)),
      keysTo: (id) => treeKeys(tree, grouping.frames, profile, Number(id)),
    };
  };
}
