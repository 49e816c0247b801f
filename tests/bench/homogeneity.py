"""Are several counters samples of one distribution? Pearson's chi-square, and how to judge it; standard library only."""

import math

LEAST_EXPECTED = 5
TINY = 1e-300
MOST_TERMS = 10000


def common_keys(counters, least=LEAST_EXPECTED):
    """Groups of keys such that each counter is expected to hold `least` of every group.

    A key that is frequent enough is a group of its own; all others are one, to which the rarest of the frequent ones are added
    for as long as it is too small.
    """
    totals = {}
    for counter in counters:
        for key, count in counter.items():
            totals[key] = totals.get(key, 0) + count
    samples = sum(totals.values())
    smallest = min(sum(counter.values()) for counter in counters) / samples if samples else 0
    groups, rare, rare_expected = [], [], 0
    for key in sorted(totals, key=lambda key: (totals[key], key)):
        expected = totals[key] * smallest
        if expected >= least and (not rare or rare_expected >= least):
            groups.append([key])
        else:
            rare.append(key)
            rare_expected += expected
    return groups + ([rare] if rare else [])


def chi_square(counters, least=LEAST_EXPECTED):
    """(statistic, degrees of freedom) of the hypothesis that all counters are samples of one distribution."""
    groups = common_keys(counters, least)
    rows = [[sum(counter.get(key, 0) for key in group) for group in groups] for counter in counters]
    columns = [sum(column) for column in zip(*rows)]
    sizes = [sum(row) for row in rows]
    samples = sum(sizes)
    statistic = 0.0
    for row, size in zip(rows, sizes):
        for count, column in zip(row, columns):
            expected = size * column / samples
            statistic += (count - expected) ** 2 / expected
    return statistic, (len(rows) - 1) * max(0, len(columns) - 1)


def farthest_pair(counters, least=LEAST_EXPECTED):
    """(sigmas, key, least share, greatest share) of the key in which two of the counters lie farthest apart, rare keys left out."""
    found = (0.0, None, 0.0, 0.0)
    sizes = [sum(counter.values()) for counter in counters]
    for key in sorted(group[0] for group in common_keys(counters, least) if len(group) == 1):
        for at, a in enumerate(counters):
            for other in range(at):
                low, high = a.get(key, 0) / sizes[at], counters[other].get(key, 0) / sizes[other]
                pooled = (a.get(key, 0) + counters[other].get(key, 0)) / (sizes[at] + sizes[other])
                sigma = math.sqrt(pooled * (1 - pooled) * (1 / sizes[at] + 1 / sizes[other]))
                if sigma and abs(low - high) / sigma > found[0]:
                    found = abs(low - high) / sigma, key, min(low, high), max(low, high)
    return found


def chi_square_tail(statistic, degrees):
    """The probability that chance makes a chi-square at least that large."""
    return upper_gamma(degrees / 2, statistic / 2)


def f_tail(ratio, degrees, other_degrees):
    """The probability that chance makes the ratio of two variances, of which the second has other_degrees, at least that large."""
    if ratio <= 0:
        return 1.0
    return beta_share(other_degrees / (other_degrees + degrees * ratio), other_degrees / 2, degrees / 2)


def upper_gamma(a, x):
    """The regularized upper incomplete gamma function Q(a, x): a series below a + 1, a continued fraction above."""
    if x <= 0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for n in range(1, MOST_TERMS):
            term *= x / (a + n)
            total += term
            if term < total * 1e-15:
                break
        return 1 - total * scale
    terms = (((n * (a - n)) if n else 1.0, x + 1 - a + 2 * n) for n in range(MOST_TERMS))
    return scale * continued_fraction(terms)


def beta_share(x, a, b):
    """The regularized incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_share(1 - x, b, a)
    scale = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a

    def terms():
        yield 1.0, 1.0
        for m in range(MOST_TERMS):
            yield -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), 1.0
            yield (m + 1) * (b - m - 1) * x / ((a + 2 * m + 1) * (a + 2 * m + 2)), 1.0
    return scale * continued_fraction(terms())


def continued_fraction(terms):
    """a1 / (b1 + a2 / (b2 + ...)) of pairs (a, b), by Lentz's method."""
    value, c, d = TINY, TINY, 0.0
    for a, b in terms:
        d = 1 / ((b + a * d) or TINY)
        c = (b + a / c) or TINY
        value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value
