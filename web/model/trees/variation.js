// How much shares vary between runs of one program, estimated from a comparison itself (as server/report/diff/variation.c, which says why).

const VARIATION_LEAST = 0.005;
const VARIATION_MOST = 0.02;
// Fewer others say nothing of a row; a move is cut at so many times the variance that it has without a change.
const OTHERS_LEAST = 7;
const SQUARES_MOST = 16;

// The weighted median of the moves but one. They are sorted.
function middleOf(moves, without) {
  const weightOf = (move) => (move === without ? 0 : 1 / move.expected);
  const all = moves.reduce((sum, move) => sum + weightOf(move), 0);
  let below = 0;
  return moves.find((move) => {
    below += weightOf(move);
    return move !== without && 2 * below >= all;
  })?.by ?? 0;
}

function variationWithout(moves, without) {
  if (moves.length - (without === null ? 0 : 1) < OTHERS_LEAST) return VARIATION_LEAST;
  const middle = middleOf(moves, without);
  let sum = 0;
  let weights = 0;
  for (const move of moves) {
    if (move === without) continue;
    const square = Math.min((move.by - middle) ** 2, SQUARES_MOST * move.expected);
    const weight = 1 / move.expected ** 2;
    sum += (weight * (square - move.variance)) / 2;
    weights += weight;
  }
  return Math.min(Math.max(Math.sqrt(Math.max(sum / weights, 0)), VARIATION_LEAST), VARIATION_MOST);
}

// rows: estimates {row, pooled, a, b} of self samples, one for each row that says something. -> of(row): the variation, as a part of its share
export function variationByRow(rows) {
  const moves = rows.map(({ row, pooled, a, b }) => {
    const variance = (a.variance + b.variance) / pooled ** 2;
    return { row, by: (b.share - a.share) / pooled, variance, expected: variance + 2 * VARIATION_LEAST ** 2 };
  }).sort((a, b) => a.by - b.by);
  const ofAll = variationWithout(moves, null);
  const known = new Map(moves.map((move) => [move.row, variationWithout(moves, move)]));
  return (row) => known.get(row) ?? ofAll;
}
