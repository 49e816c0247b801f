// Samples divided into slices of time, and how certain a share of them is: the method of server/report/diff/compare.h for one run
// on each side.
//
// Blocks are {rows, seconds, node, self} as /view answers with `blocks`. Sums over blocks of a column of rows are
// {hits, squares, products}: of the hits, of their squares, and of hits times all.

import { studentQuantile } from "./student.js";

export const BLOCKS_MAX = 24;
const BLOCKS_LEAST = 6;
const TAILS = 0.05;

// Calls take(counts, i) for each block; counts are those of recording.js for the nodes of that block, and are good until the next call.
export function forEachBlock(blocks, nodes, take) {
  const counts = { self: new Float64Array(nodes) };
  let at = 0;
  blocks.rows.forEach((rows, i) => {
    for (let row = at; row < at + rows; row += 1) counts.self[blocks.node[row]] += blocks.self[row];
    take(counts, i);
    for (let row = at; row < at + rows; row += 1) counts.self[blocks.node[row]] = 0;
    at += rows;
  });
}

// The blocks with the ids of nodes of another tree.
export function movedBlocks(blocks, nodeOf) {
  return { ...blocks, node: blocks.node.map(nodeOf) };
}

export function createBlockSums(rows) {
  return { hits: new Float64Array(rows), squares: new Float64Array(rows), products: new Float64Array(rows) };
}

export function addBlock(sums, column, all) {
  for (let row = 0; row < column.length; row += 1) {
    const hits = column[row];
    if (hits === 0) continue;
    sums.hits[row] += hits;
    sums.squares[row] += hits * hits;
    sums.products[row] += hits * all;
  }
}

// Units of a side's blocks: {count, all, squares}.
export function createUnits() {
  return { count: 0, all: 0, squares: 0 };
}

export function addUnit(units, all) {
  if (!(all > 0)) return;
  units.count += 1;
  units.all += all;
  units.squares += all * all;
}

export function hasBlocks(units) {
  return units !== null && units.count >= BLOCKS_LEAST && units.all > 0;
}

// The spread of a single sample, if samples are independent: binomial, or Poisson's.
const spreadOf = (share, isRate) => (isRate ? share : Math.max(share * (1 - share), 0));

// {share, variance, degrees} of a row; `expected` is the share by which the variance of independent samples is judged.
export function estimateOf(units, sums, row, expected, isRate) {
  const { count, all, squares } = units;
  const share = sums.hits[row] / all;
  const residuals = Math.max(sums.squares[row] - 2 * share * sums.products[row] + share * share * squares, 0);
  const within = ((count / (count - 1)) * residuals) / (all * all);
  return { share, variance: Math.max(within, spreadOf(expected, isRate) / all), degrees: count - 1 };
}

const quantiles = new Map();

export function quantileOf(degrees) {
  if (!quantiles.has(degrees)) quantiles.set(degrees, studentQuantile(TAILS, degrees));
  return quantiles.get(degrees);
}

// The 95 % interval of a row's share: Wilson's with the effective size and Student's t. NaN where nothing can be said.
export function shareInterval(units, sums, row, isRate = false) {
  if (!hasBlocks(units)) return { low: NaN, high: NaN };
  const { share, variance, degrees } = estimateOf(units, sums, row, sums.hits[row] / units.all, isRate);
  const t = quantileOf(degrees);
  const spread = spreadOf(share, isRate);
  const size = variance > 0 && spread > 0 ? spread / variance : units.all;
  const part = (t * t) / size;
  const middle = share + part / 2;
  const half = t * Math.sqrt(spread / size + part / (4 * size));
  const scale = isRate ? 1 : 1 + part;
  return { low: Math.max(0, (middle - half) / scale), high: (middle + half) / scale };
}
