// Student's t distribution (as server/report/diff/student.c).

const TERMS_MAX = 200;
const PRECISION = 1e-14;
const TINY = 1e-300;
const HALVINGS_MAX = 100;
const QUANTILE_MAX = 1e8;
// Lanczos' approximation of the logarithm of the gamma function, with g = 7, to 1e-15.
const LANCZOS = [0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];

function logGamma(x) {
  const at = x - 1;
  const sum = LANCZOS.reduce((total, term, i) => (i === 0 ? term : total + term / (at + i)), 0);
  const t = at + 7.5;
  return 0.5 * Math.log(2 * Math.PI) + (at + 0.5) * Math.log(t) - t + Math.log(sum);
}

const awayFromZero = (value) => (Math.abs(value) < TINY ? TINY : value);

// The continued fraction of the incomplete beta function, by Lentz's method.
function betaFraction(a, b, x) {
  let c = 1;
  let d = 1 / awayFromZero(1 - ((a + b) * x) / (a + 1));
  let value = d;
  for (let m = 1; m <= TERMS_MAX; m += 1) {
    const terms = [(m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)),
      (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))];
    for (const term of terms) {
      d = 1 / awayFromZero(1 + term * d);
      c = awayFromZero(1 + term / c);
      value *= c * d;
    }
    if (Math.abs(c * d - 1) < PRECISION) break;
  }
  return value;
}

function incompleteBeta(a, b, x, rest) {
  if (!(x > 0)) return 0;
  if (!(rest > 0)) return 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(rest));
  return x < (a + 1) / (a + b + 2) ? (front * betaFraction(a, b, x)) / a : 1 - (front * betaFraction(b, a, rest)) / b;
}

// The probability of a value at least as far from 0 as t.
export function studentTails(t, degrees) {
  const square = t * t;
  if (!Number.isFinite(square)) return 0;
  return incompleteBeta(degrees / 2, 0.5, degrees / (degrees + square), square / (degrees + square));
}

// The t whose tails have that probability.
export function studentQuantile(tails, degrees) {
  let [low, high] = [0, 1];
  while (high < QUANTILE_MAX && studentTails(high, degrees) > tails) high *= 2;
  for (let i = 0; i < HALVINGS_MAX && high - low > PRECISION * high; i += 1) {
    const middle = (low + high) / 2;
    if (studentTails(middle, degrees) > tails) low = middle;
    else high = middle;
  }
  return high;
}
