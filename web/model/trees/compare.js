// Two profiles compared by share of samples or by time, and whether a change is significant: the two-proportion test, or that
// of two rates, with a false discovery rate of 5 % (as server/report/diff/compare.c).

export const COMPARED_Q_MAX = 0.05;
const HITS_LEAST = 10;

// The complementary error function, to 1.2e-7 of itself (Numerical Recipes, erfcc).
function errorComplement(x) {
  const t = 1 / (1 + 0.5 * Math.abs(x));
  const terms = [-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277];
  const sum = terms.reduceRight((value, term) => term + t * value, 0);
  const result = t * Math.exp(-x * x + sum);
  return x >= 0 ? result : 2 - result;
}

// Of the hits of both at least ten, and of those that each side should have at least five.
function isEnough(hits, baselineAll, currentAll) {
  return baselineAll > 0 && currentAll > 0 && hits >= HITS_LEAST && (hits * Math.min(baselineAll, currentAll)) / (baselineAll + currentAll) >= HITS_LEAST / 2;
}

// The p-value of a difference of two shares; null when there are too few samples.
export function pValueOfShares(baselineHits, currentHits, baselineAll, currentAll) {
  const hits = baselineHits + currentHits;
  if (!isEnough(hits, baselineAll, currentAll)) return null;
  const pooled = hits / (baselineAll + currentAll);
  const variance = pooled * (1 - pooled) * (1 / baselineAll + 1 / currentAll);
  return variance > 0 ? errorComplement(Math.abs((currentHits / currentAll - baselineHits / baselineAll) / Math.sqrt(variance)) / Math.SQRT2) : 1;
}

// The same of two rates, hits in a time: without a difference the hits fall on the two sides as the time does.
export function pValueOfRates(baselineHits, currentHits, baselineAll, currentAll) {
  const hits = baselineHits + currentHits;
  if (!isEnough(hits, baselineAll, currentAll)) return null;
  const part = currentAll / (baselineAll + currentAll);
  return errorComplement(Math.abs(currentHits - hits * part) / Math.sqrt(hits * part * (1 - part)) / Math.SQRT2);
}

// P-values turned into q-values, in place; null stays null.
export function adjustPValues(pValues) {
  const ranks = [];
  pValues.forEach((p, at) => {
    if (p !== null) ranks.push(at);
  });
  ranks.sort((a, b) => pValues[a] - pValues[b] || a - b);
  let least = 1;
  for (let rank = ranks.length; rank > 0; rank -= 1) {
    least = Math.min(least, (pValues[ranks[rank - 1]] * ranks.length) / rank);
    pValues[ranks[rank - 1]] = least;
  }
  return pValues;
}

// same | few | more | less | new | gone
export function verdictOf(baseline, current, baselineAll, currentAll, q) {
  if (q === null) return "few";
  if (q > COMPARED_Q_MAX) return "same";
  if (baseline === 0) return "new";
  if (current === 0) return "gone";
  return current / currentAll > baseline / baselineAll ? "more" : "less";
}

// What a count is compared to on either side: all samples, or the time of the side in samples: {baseline, current, pValue}.
// times: {baseline, current}, how many samples the time of each side stands for, or null for shares.
export function comparedSides(baselineSum, currentSum, times = null) {
  return times === null ? { baseline: baselineSum, current: currentSum, pValue: pValueOfShares } : { ...times, pValue: pValueOfRates };
}

const share = (count, all) => (all > 0 ? count / all : 0);

// One number of every group on both sides: {of(group) -> {baseline, current (samples), baselineShare, currentShare, q, verdict}}.
function compareNumber(baseline, current, sides) {
  const baselineOf = (g) => baseline[g] ?? 0;
  const qValues = adjustPValues(Array.from({ length: current.length }, (_, g) => (g === 0 ? null : sides.pValue(baselineOf(g), current[g], sides.baseline, sides.current))));
  return (g) => ({
    baseline: baselineOf(g), current: current[g], baselineShare: share(baselineOf(g), sides.baseline), currentShare: share(current[g], sides.current), q: qValues[g],
    verdict: verdictOf(baselineOf(g), current[g], sides.baseline, sides.current, qValues[g]),
  });
}

const WIDTHS = { both: [1, 1], current: [0, 1], baseline: [1, 0] };

// For every group what became of it: {total(g), self(g) (as compareNumber), totals(width)}; totals() are shares to draw, those of
// `width`: both, current or baseline.
export function compareGroups(baseline, current, sides = comparedSides(baseline.sum, current.sum)) {
  return {
    total: compareNumber(baseline.total, current.total, sides),
    self: compareNumber(baseline.self, current.self, sides),
    totals(width) {
      const [ofBaseline, ofCurrent] = WIDTHS[width];
      const shares = (before, now) => Float64Array.from(now, (count, g) => ofCurrent * share(count, sides.current) + ofBaseline * share(before[g] ?? 0, sides.baseline));
      const total = shares(baseline.total, current.total);
      return { total, self: shares(baseline.self, current.self), sum: total[0] };
    },
  };
}

// Rows of the function table of both sides as one: {frame, baseline: {self, total}, current: {self, total}, baselineShare,
// currentShare, q, verdict, change} by self samples, largest change first, and totalChange.
export function compareRows(baselineRows, currentRows, sides) {
  const none = { self: 0, total: 0 };
  const rows = new Map();
  for (const row of currentRows) rows.set(row.frame, { frame: row.frame, baseline: none, current: row });
  for (const row of baselineRows) rows.set(row.frame, { ...(rows.get(row.frame) ?? { frame: row.frame, current: none }), baseline: row });
  const compared = Array.from(rows.values());
  const column = (side, number) => compared.map((row) => row[side][number]);
  const self = compareNumber([0, ...column("baseline", "self")], [0, ...column("current", "self")], sides);
  compared.forEach((row, i) => {
    const { baselineShare, currentShare, q, verdict } = self(i + 1);
    const totalChange = share(row.current.total, sides.current) - share(row.baseline.total, sides.baseline);
    Object.assign(row, { baselineShare, currentShare, q, verdict, change: currentShare - baselineShare, totalChange });
  });
  return compared.sort((a, b) => Math.abs(b.change) - Math.abs(a.change) || a.frame - b.frame);
}

const CHANGE_STEPS = [0.005, 0.03];

// The style of a change: "more-1" .. "less-3", or "" when it is not significant.
export function changeStyle(verdict, change) {
  if (verdict === "same" || verdict === "few") return "";
  const level = 1 + CHANGE_STEPS.filter((step) => Math.abs(change) >= step).length;
  return (change > 0 ? "more-" : "less-") + level;
}
