"""Arithmetic on measurements; standard library only."""

import math
import random
import statistics

# Two-sided 95 % points of Student's t for 1, 2, ... degrees of freedom; beyond the table the normal one.
T_95 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
        2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042]
Z_95 = 1.959964


def median(values):
    return statistics.median(values)


def mean_interval(values):
    """Mean and half the width of its 95 % interval."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, math.inf
    t = T_95[len(values) - 2] if len(values) - 2 < len(T_95) else Z_95
    return mean, t * statistics.stdev(values) / math.sqrt(len(values))


def wilson(hits, count):
    """95 % interval of a proportion."""
    share, z2 = hits / count, Z_95 ** 2
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = Z_95 / (1 + z2 / count) * math.sqrt(share * (1 - share) / count + z2 / (4 * count ** 2))
    return middle - half, middle + half


def total_variation(a, b):
    """Distance of two counters as distributions: 0 (equal) to 1."""
    a_total, b_total = sum(a.values()), sum(b.values())
    if not a_total or not b_total:
        return math.nan
    return sum(abs(a.get(key, 0) / a_total - b.get(key, 0) / b_total) for key in set(a) | set(b)) / 2


def farthest(a, b):
    """(key, its share in a less its share in b) of the key whose shares differ most; both have samples."""
    a_total, b_total = sum(a.values()), sum(b.values())
    differences = {key: a.get(key, 0) / a_total - b.get(key, 0) / b_total for key in set(a) | set(b)}
    return max(sorted(differences.items()), key=lambda item: abs(item[1]))


def expected_distances(weights, a_size, b_size, draws=20, seed=1):
    """(total variation, difference of the farthest key) that chance alone makes between samples of these sizes.

    The means over pairs of samples that are both drawn from `weights`.
    """
    rng = random.Random(seed)
    keys, numbers = list(weights), list(weights.values())
    if not sum(numbers) or not a_size or not b_size:
        return math.nan, math.nan
    distances, differences = [], []
    for _ in range(draws):
        a, b = draw(rng, keys, numbers, a_size), draw(rng, keys, numbers, b_size)
        distances.append(total_variation(a, b))
        differences.append(abs(farthest(a, b)[1]))
    return statistics.fmean(distances), statistics.fmean(differences)


def expected_floor(reference, count):
    """The distance that chance makes between the reference, as large as it is, and count samples of its distribution."""
    return expected_distances(reference, sum(reference.values()), count)[0]


def chance(a, b, a_size=None, b_size=None):
    """The distances that chance makes, as expected_distances, between two counters if both are samples of one distribution, that of the
    two together.

    The sizes are those of the counters, if they are not given: of samples that count several times they are less.
    """
    pooled = dict(a)
    for key, count in b.items():
        pooled[key] = pooled.get(key, 0) + count
    return expected_distances(pooled, round(a_size or sum(a.values())), round(b_size or sum(b.values())))


def draw(rng, keys, weights, count):
    counts = {}
    for key in rng.choices(keys, weights, k=count):
        counts[key] = counts.get(key, 0) + 1
    return counts
