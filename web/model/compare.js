// Two ranges of time laid over each other, as shares of all samples of each; and whether a change is more than chance: the
// two-proportion test, with the share of false discoveries held at 5 % (as server/report/diff/compare.c).

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

// The chance of a difference so large or larger if nothing differs; null when there are too few samples to say.
export function chanceOfShares(baseHits, nowHits, baseAll, nowAll) {
  const hits = baseHits + nowHits;
  const all = baseAll + nowAll;
  if (!(baseAll > 0) || !(nowAll > 0) || hits < HITS_LEAST || (hits * Math.min(baseAll, nowAll)) / all < HITS_LEAST / 2) return null;
  const pooled = hits / all;
  const variance = pooled * (1 - pooled) * (1 / baseAll + 1 / nowAll);
  return variance > 0 ? errorComplement(Math.abs((nowHits / nowAll - baseHits / baseAll) / Math.sqrt(variance)) / Math.SQRT2) : 1;
}

// Chances as q values, in place; null stays null.
export function adjustChances(chances) {
  const ranks = [];
  chances.forEach((chance, at) => {
    if (chance !== null) ranks.push(at);
  });
  ranks.sort((a, b) => chances[a] - chances[b] || a - b);
  let least = 1;
  for (let rank = ranks.length; rank > 0; rank -= 1) {
    least = Math.min(least, (chances[ranks[rank - 1]] * ranks.length) / rank);
    chances[ranks[rank - 1]] = least;
  }
  return chances;
}

// same | few | more | less | new | gone
export function verdictOf(base, now, baseAll, nowAll, q) {
  if (q === null) return "few";
  if (q > COMPARED_Q_MAX) return "same";
  if (base === 0) return "new";
  if (now === 0) return "gone";
  return now / nowAll > base / baseAll ? "more" : "less";
}

// For every group what became of its total: verdicts and changes of share.
export function compareGroups(base, now) {
  const count = now.total.length;
  const chances = Array.from({ length: count }, (_, g) => (g === 0 ? null : chanceOfShares(base.total[g] ?? 0, now.total[g], base.sum, now.sum)));
  adjustChances(chances);
  const share = (totals, g) => (totals.sum > 0 ? (totals.total[g] ?? 0) / totals.sum : 0);
  return {
    verdict: (g) => verdictOf(base.total[g] ?? 0, now.total[g], base.sum, now.sum, chances[g]),
    change: (g) => share(now, g) - share(base, g),
    // Both sides weigh the same, so that what is new and what is gone can be seen.
    totals: {
      total: Float64Array.from({ length: count }, (_, g) => share(now, g) + share(base, g)),
      self: Float64Array.from({ length: count }, (_, g) => (now.sum > 0 ? now.self[g] / now.sum : 0) + (base.sum > 0 ? (base.self[g] ?? 0) / base.sum : 0)),
      sum: (now.sum > 0 ? 1 : 0) + (base.sum > 0 ? 1 : 0),
    },
  };
}

// Rows of the function table of both sides as one: {frame, base: {self, total}, now: {self, total}, q, verdict, change}
// by own samples, largest change first.
export function compareRows(baseRows, nowRows, baseAll, nowAll) {
  const none = { self: 0, total: 0 };
  const rows = new Map();
  for (const row of nowRows) rows.set(row.frame, { frame: row.frame, base: none, now: row });
  for (const row of baseRows) rows.set(row.frame, { ...(rows.get(row.frame) ?? { frame: row.frame, now: none }), base: row });
  const compared = Array.from(rows.values());
  const chances = adjustChances(compared.map((row) => chanceOfShares(row.base.self, row.now.self, baseAll, nowAll)));
  compared.forEach((row, i) => {
    row.q = chances[i];
    row.verdict = verdictOf(row.base.self, row.now.self, baseAll, nowAll, chances[i]);
    row.change = (nowAll > 0 ? row.now.self / nowAll : 0) - (baseAll > 0 ? row.base.self / baseAll : 0);
    row.totalChange = (nowAll > 0 ? row.now.total / nowAll : 0) - (baseAll > 0 ? row.base.total / baseAll : 0);
  });
  return compared.sort((a, b) => Math.abs(b.change) - Math.abs(a.change) || a.frame - b.frame);
}

const CHANGE_STEPS = [0.005, 0.03];

// How a change looks: "more-1" .. "less-3", or "" when it may be chance.
export function changeLook(verdict, change) {
  if (verdict === "same" || verdict === "few") return "";
  const level = 1 + CHANGE_STEPS.filter((step) => Math.abs(change) >= step).length;
  return (change > 0 ? "more-" : "less-") + level;
}
