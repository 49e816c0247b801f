// Two profiles compared by share of samples or by time, and whether a change is significant: Welch's t test over blocks of time, a
// variation between runs, a least effect, and a false discovery rate of 5 % (as server/report/diff/compare.c).

import { addBlock, addUnit, createBlockSums, createUnits, estimateOf, hasBlocks, quantileOf } from "./blocks.js";
import { studentTails } from "./student.js";
import { variationByRow } from "./variation.js";

export const COMPARED_Q_MAX = 0.05;
export const CHANGE_LEAST = 0.005;
export const CHANGE_LEAST_RELATIVE = 0.03;
const HITS_LEAST = 10;

// The sides of a comparison: {isRate, baseline, current: {all, units}}; units are null without blocks.
export function comparedSides(baseline, current, isRate = false) {
  return { isRate, baseline, current };
}

/** @param {number} all @param {BlockUnits | null} units */
export function comparedSide(all, units = null) {
  return { all, units };
}

// Sums over blocks of several columns of rows at once: {units, columns: {name: sums}}. forEach(take) calls take(columns, all of the block).
export function sumBlocks(rows, forEach) {
  const units = createUnits();
  const columns = Object.fromEntries(Object.entries(rows).map(([name, count]) => [name, createBlockSums(count)]));
  forEach((block, all) => {
    addUnit(units, all);
    for (const name of Object.keys(columns)) addBlock(columns[name], block[name], all);
  });
  return { units, columns };
}

const shareOf = (count, all) => (all > 0 ? count / all : 0);

// Estimates of a row with sums over the blocks of both sides: {row, pooled (its share of both), a, b (estimates of
// estimateOf())}.
function estimatesOf({ isRate, baseline, current }, sums, row) {
  const pooled = (sums.baseline.hits[row] + sums.current.hits[row]) / (baseline.units.all + current.units.all);
  return { row, pooled, a: estimateOf(baseline.units, sums.baseline, row, pooled, isRate),
    b: estimateOf(current.units, sums.current, row, pooled, isRate) };
}

// {change, error, degrees} of the estimates of a row.
function differenceOf({ pooled, a, b }, variation) {
  const variance = a.variance + b.variance + 2 * (variation * pooled) ** 2;
  const squares = a.variance ** 2 / a.degrees + b.variance ** 2 / b.degrees;
  return { change: b.share - a.share, error: Math.sqrt(variance),
    degrees: squares > 0 ? variance ** 2 / squares : 1e6 };
}

// P-values turned into q-values, in place; null stays null. A row weighs as much as weightOf(row) among the others.
/** @param {(number | null)[]} pValues @param {(row: number) => number} weightOf */
export function adjustPValues(pValues, weightOf = () => 1) {
  const ranks = [];
  let all = 0;
  pValues.forEach((p, at) => {
    if (p === null) return;
    ranks.push({ at, chance: p / weightOf(at) });
    all += weightOf(at);
  });
  ranks.sort((a, b) => a.chance - b.chance || a.at - b.at);
  let least = 1;
  for (let rank = ranks.length; rank > 0; rank -= 1) {
    least = Math.min(least, (ranks[rank - 1].chance * all) / rank);
    pValues[ranks[rank - 1].at] = least;
  }
  return pValues;
}

export function isLargeChange(before, after) {
  const change = Math.abs(after - before);
  return change >= CHANGE_LEAST && change >= CHANGE_LEAST_RELATIVE * Math.max(before, after);
}

// same | few | more | less | new | gone; `before` and `after` are shares.
export function verdictOf(before, after, isEnough, q) {
  if (!isEnough) return "few";
  if (q === null || q > COMPARED_Q_MAX || !isLargeChange(before, after)) return "same";
  if (before === 0) return "new";
  if (after === 0) return "gone";
  return after > before ? "more" : "less";
}

// One number of every row on both sides, before it is judged: {baselineOf, before, after (shares), isEnough, estimates} of a row, and candidates:
// the estimates of those that may have changed, else null. sums: {baseline, current} over blocks, or null; mayDiffer(row): false for what never
// differs significantly.
function countedNumber(baseline, current, sides, sums, mayDiffer) {
  const has = sums !== null && hasBlocks(sides.baseline.units) && hasBlocks(sides.current.units);
  const baselineOf = (row) => baseline[row] ?? 0;
  const before = (row) => shareOf(baselineOf(row), sides.baseline.all);
  const after = (row) => shareOf(current[row], sides.current.all);
  const isEnough = (row) => has && baselineOf(row) + current[row] >= HITS_LEAST;
  const estimates = (row) => estimatesOf(sides, sums, row);
  const candidates = Array.from(current,
    (_, row) => (isEnough(row) && before(row) + after(row) >= CHANGE_LEAST && mayDiffer(row) ? estimates(row) : null))
    // Blocks may be older than the counts, and know nothing of a row.
    .map((found) => (found !== null && found.pooled > 0 ? found : null));
  return { baselineOf, currentOf: (row) => current[row], before, after, isEnough, estimates, candidates };
}

// of(row) -> {baseline, current (samples), baselineShare, currentShare, half (of the change's 95 % interval), q, verdict}. variationOf: of variation.js.
function judgeNumber({ baselineOf, currentOf, before, after, isEnough, estimates, candidates }, variationOf) {
  const qValues = adjustPValues(candidates.map((found) => {
    if (found === null) return null;
    const { change, error, degrees } = differenceOf(found, variationOf(found.row));
    return error > 0 ? studentTails(change / error, degrees) : 1;
  }), (row) => candidates[row].pooled);
  return (row) => {
    const { error, degrees } = isEnough(row)
      ? differenceOf(estimates(row), variationOf(row))
      : { error: NaN, degrees: 1 };
    return {
      baseline: baselineOf(row),
      current: currentOf(row),
      baselineShare: before(row),
      currentShare: after(row),
      half: error * quantileOf(Math.round(degrees)),
      q: qValues[row],
      verdict: verdictOf(before(row), after(row), isEnough(row), qValues[row]),
    };
  };
}

const numbersOf = (sums, name) => sums && { baseline: sums.baseline[name], current: sums.current[name] };

// {self(row), total(row)} of judgeNumber(). What self samples of rows say of the variation between runs holds for their totals, too.
function compareNumbers(baseline, current, sides, sums, mayDiffer) {
  const [self, total] = ["self", "total"].map((name) =>
    countedNumber(baseline[name], current[name], sides, numbersOf(sums, name), mayDiffer)
  );
  const variationOf = variationByRow(self.candidates.filter((found) => found !== null));
  return { self: judgeNumber(self, variationOf), total: judgeNumber(total, variationOf) };
}

const WIDTHS = { both: [1, 1], current: [0, 1], baseline: [1, 0] };

// For every group what became of it: {total(g), self(g) (as judgeNumber), totals(width)}; totals() are shares to draw, those of
// `width`: both, current or baseline. sums: {baseline, current: {total, self}} over blocks, or null.
/** @param {Totals} baseline @param {Totals} current @param {ReturnType<typeof comparedSides>} sides @param {BothSums | null} sums @param {(row: number) => boolean} mayDiffer */
export function compareGroups(baseline, current, sides, sums = null, mayDiffer = () => true) {
  return {
    ...compareNumbers(baseline, current, sides, sums, mayDiffer),
    totals(width) {
      const [ofBaseline, ofCurrent] = WIDTHS[width];
      const shares = (before, now) =>
        Float64Array.from(now, (count, g) =>
          ofCurrent * shareOf(count, sides.current.all) + ofBaseline * shareOf(before[g] ?? 0, sides.baseline.all));
      const total = shares(baseline.total, current.total);
      return { total, self: shares(baseline.self, current.self), sum: total[0] };
    },
  };
}

// Functions of both sides, by frame: rows {frame, self, total (as judgeNumber), change, totalChange}, largest change of self first. Columns are
// {self, total} by frame.
/** @param {{ self: Float64Array, total: Float64Array }} baseline @param {{ self: Float64Array, total: Float64Array }} current @param {ReturnType<typeof comparedSides>} sides @param {BothSums | null} sums @param {(row: number) => boolean} mayDiffer */
export function compareRows(baseline, current, sides, sums = null, mayDiffer = () => true) {
  const { self, total } = compareNumbers(baseline, current, sides, sums, mayDiffer);
  const rows = [];
  for (let frame = 1; frame < current.total.length; frame += 1) {
    if (!(current.total[frame] > 0) && !((baseline.total[frame] ?? 0) > 0)) continue;
    const [ofSelf, ofTotal] = [self(frame), total(frame)];
    rows.push({ frame, self: ofSelf, total: ofTotal, change: ofSelf.currentShare - ofSelf.baselineShare,
      totalChange: ofTotal.currentShare - ofTotal.baselineShare });
  }
  const rank = ({ self: { verdict: a }, total: { verdict: b } }) =>
    Number([a, b].every((verdict) => verdict === "same" || verdict === "few"));
  return rows.sort((a, b) =>
    rank(a) - rank(b) || Math.abs(b.change) - Math.abs(a.change) || Math.abs(b.totalChange) - Math.abs(a.totalChange)
    || a.frame - b.frame
  );
}

const CHANGE_STEPS = [0.005, 0.03];

// The style of a change: "more-1" .. "less-3", or "" when it is not significant.
export function changeStyle(verdict, change) {
  if (verdict === "same" || verdict === "few") return "";
  const level = 1 + CHANGE_STEPS.filter((step) => Math.abs(change) >= step).length;
  return (change > 0 ? "more-" : "less-") + level;
}
