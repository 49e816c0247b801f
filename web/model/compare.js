// Two time ranges compared by share of samples, and whether a change is significant: the two-proportion test
// with a false discovery rate of 5 % (as server/report/diff/compare.c).

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

// The p-value of a difference of two shares; null when there are too few samples.
export function pValueOfShares(baselineHits, currentHits, baselineAll, currentAll) {
  const hits = baselineHits + currentHits;
  const all = baselineAll + currentAll;
  if (!(baselineAll > 0) || !(currentAll > 0) || hits < HITS_LEAST || (hits * Math.min(baselineAll, currentAll)) / all < HITS_LEAST / 2) return null;
  const pooled = hits / all;
  const variance = pooled * (1 - pooled) * (1 / baselineAll + 1 / currentAll);
  return variance > 0 ? errorComplement(Math.abs((currentHits / currentAll - baselineHits / baselineAll) / Math.sqrt(variance)) / Math.SQRT2) : 1;
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

// For every group what became of its total: verdicts and changes of share.
export function compareGroups(baseline, current) {
  const count = current.total.length;
  const pValues = Array.from({ length: count }, (_, g) => (g === 0 ? null : pValueOfShares(baseline.total[g] ?? 0, current.total[g], baseline.sum, current.sum)));
  adjustPValues(pValues);
  const share = (totals, g) => (totals.sum > 0 ? (totals.total[g] ?? 0) / totals.sum : 0);
  return {
    verdict: (g) => verdictOf(baseline.total[g] ?? 0, current.total[g], baseline.sum, current.sum, pValues[g]),
    change: (g) => share(current, g) - share(baseline, g),
    // Both sides weigh the same, so that what is new and what is gone can be seen.
    totals: {
      total: Float64Array.from({ length: count }, (_, g) => share(current, g) + share(baseline, g)),
      self: Float64Array.from({ length: count }, (_, g) => (current.sum > 0 ? current.self[g] / current.sum : 0) + (baseline.sum > 0 ? (baseline.self[g] ?? 0) / baseline.sum : 0)),
      sum: (current.sum > 0 ? 1 : 0) + (baseline.sum > 0 ? 1 : 0),
    },
  };
}

// Rows of the function table of both sides as one: {frame, baseline: {self, total}, current: {self, total}, q, verdict, change}
// by self samples, largest change first.
export function compareRows(baselineRows, currentRows, baselineAll, currentAll) {
  const none = { self: 0, total: 0 };
  const rows = new Map();
  for (const row of currentRows) rows.set(row.frame, { frame: row.frame, baseline: none, current: row });
  for (const row of baselineRows) rows.set(row.frame, { ...(rows.get(row.frame) ?? { frame: row.frame, current: none }), baseline: row });
  const compared = Array.from(rows.values());
  const pValues = adjustPValues(compared.map((row) => pValueOfShares(row.baseline.self, row.current.self, baselineAll, currentAll)));
  compared.forEach((row, i) => {
    row.q = pValues[i];
    row.verdict = verdictOf(row.baseline.self, row.current.self, baselineAll, currentAll, pValues[i]);
    row.change = (currentAll > 0 ? row.current.self / currentAll : 0) - (baselineAll > 0 ? row.baseline.self / baselineAll : 0);
    row.totalChange = (currentAll > 0 ? row.current.total / currentAll : 0) - (baselineAll > 0 ? row.baseline.total / baselineAll : 0);
  });
  return compared.sort((a, b) => Math.abs(b.change) - Math.abs(a.change) || a.frame - b.frame);
}

const CHANGE_STEPS = [0.005, 0.03];

// How a change looks: "more-1" .. "less-3", or "" when it is not significant.
export function changeLook(verdict, change) {
  if (verdict === "same" || verdict === "few") return "";
  const level = 1 + CHANGE_STEPS.filter((step) => Math.abs(change) >= step).length;
  return (change > 0 ? "more-" : "less-") + level;
}
