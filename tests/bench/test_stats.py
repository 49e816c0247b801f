#!/usr/bin/env python3
"""The arithmetic of the bench, held against tables of statistics and against what can be worked out by hand."""

import importlib
import math
import tempfile
import unittest

import folded
import homogeneity
import stats
from sections import SECTIONS


class Sections(unittest.TestCase):
    def test_each_has_what_the_bench_calls(self):
        for name in SECTIONS:
            section = importlib.import_module("sections." + name.replace("-", "_"))
            self.assertTrue(section.TITLE)
            self.assertTrue(callable(section.measure))


class Distances(unittest.TestCase):
    def test_total_variation_is_half_of_what_differs(self):
        self.assertAlmostEqual(stats.total_variation({"a": 3, "b": 1}, {"a": 1, "b": 1}), 0.25)
        self.assertEqual(stats.total_variation({"a": 3}, {"b": 7}), 1)
        self.assertEqual(stats.total_variation({"a": 3, "b": 6}, {"a": 1, "b": 2}), 0)
        self.assertTrue(math.isnan(stats.total_variation({}, {"a": 1})))

    def test_farthest_key_has_its_sign(self):
        key, difference = stats.farthest({"a": 50, "b": 50}, {"a": 30, "b": 60, "c": 10})
        self.assertEqual(key, "a")
        self.assertAlmostEqual(difference, 0.2)
        key, difference = stats.farthest({"a": 1}, {"a": 1, "b": 3})
        self.assertAlmostEqual(difference, 0.75)
        self.assertEqual(key, "a")

    def test_chance_of_a_coin_is_that_of_the_normal_distribution(self):
        # The difference of two shares of 1/2 has this deviation; the mean of its size is sqrt(2/pi) of that.
        for a_size, b_size in ((1000, 1000), (500, 4000)):
            deviation = math.sqrt(0.25 * (1 / a_size + 1 / b_size))
            # One of two keys has what the other lacks: the farthest differs as much as all together.
            for found in stats.expected_distances({"a": 7, "b": 7}, a_size, b_size, draws=200):
                self.assertAlmostEqual(found / (deviation * math.sqrt(2 / math.pi)), 1, delta=0.1)

    def test_chance_is_that_of_both_together(self):
        a, b = {"a": 600, "b": 400}, {"a": 1000, "c": 3000}
        self.assertEqual(stats.chance(a, b), stats.expected_distances({"a": 1600, "b": 400, "c": 3000}, 1000, 4000))
        self.assertEqual(stats.chance({"a": 10}, {"a": 20}), (0, 0))
        self.assertEqual(stats.chance(a, b, 100.4), stats.expected_distances({"a": 1600, "b": 400, "c": 3000}, 100, 4000))


class ChiSquare(unittest.TestCase):
    def test_tail_agrees_with_the_tables(self):
        for statistic, degrees, tail in ((3.841459, 1, 0.05), (18.307038, 10, 0.05), (23.209251, 10, 0.01),
                                         (77.929465, 100, 0.95), (135.806723, 100, 0.01)):
            self.assertAlmostEqual(homogeneity.chi_square_tail(statistic, degrees), tail, delta=1e-6)
        self.assertAlmostEqual(homogeneity.chi_square_tail(3.0, 2), math.exp(-1.5))
        self.assertEqual(homogeneity.chi_square_tail(0, 4), 1)

    def test_tail_of_a_ratio_agrees_with_the_tables(self):
        for ratio, degrees, other, tail in ((4.964603, 1, 10, 0.05), (3.325835, 5, 10, 0.05), (1.391720, 100, 100, 0.05),
                                            (10.967021, 5, 5, 0.01), (19, 2, 2, 0.05)):
            self.assertAlmostEqual(homogeneity.f_tail(ratio, degrees, other), tail, delta=1e-6)
        self.assertAlmostEqual(homogeneity.f_tail(1, 7, 7), 0.5)
        self.assertEqual(homogeneity.f_tail(0, 3, 3), 1)

    def test_two_by_two_is_what_it_is_by_hand(self):
        statistic, degrees = homogeneity.chi_square([{"a": 10, "b": 20}, {"a": 20, "b": 10}])
        self.assertAlmostEqual(statistic, 20 / 3)
        self.assertEqual(degrees, 1)

    def test_equal_shares_differ_by_nothing(self):
        statistic, degrees = homogeneity.chi_square([{"a": 10, "b": 30, "c": 60}, {"a": 20, "b": 60, "c": 120}])
        self.assertAlmostEqual(statistic, 0)
        self.assertEqual(degrees, 2)

    def test_counts_that_stand_for_fewer_readings_differ_by_less(self):
        counters = [{"a": 10, "b": 20}, {"a": 20, "b": 10}]
        fewer = [{key: count / 4 for key, count in counter.items()} for counter in counters]
        self.assertAlmostEqual(homogeneity.chi_square(fewer, 1)[0], 20 / 3 / 4)

    def test_rare_keys_are_one(self):
        counters = [{"a": 100, "b": 100, "c": 3, "d": 3}, {"a": 100, "b": 100, "c": 3, "e": 3}]
        self.assertEqual(homogeneity.common_keys(counters), [["a"], ["b"], ["d", "e", "c"]])

    def test_too_few_rare_keys_take_the_rarest_frequent_one(self):
        counters = [{"a": 100, "b": 50, "c": 1}, {"a": 100, "b": 51}]
        self.assertEqual(homogeneity.common_keys(counters), [["a"], ["c", "b"]])

    def test_one_function_has_nothing_to_differ_in(self):
        self.assertEqual(homogeneity.chi_square([{"a": 10}, {"a": 20}]), (0, 0))

    def test_functions_that_change_places_are_found(self):
        steady = {"a": 2000, "b": 2000}
        counters = [dict(steady, x=38), dict(steady, y=26)]
        sigmas, key, least, greatest = homogeneity.farthest_pair(counters)
        self.assertEqual((key, least), ("x", 0))
        self.assertAlmostEqual(greatest, 38 / 4038)
        self.assertGreater(sigmas, 6)
        self.assertLess(homogeneity.chi_square_tail(*homogeneity.chi_square(counters)), 1e-10)


class Folded(unittest.TestCase):
    def test_frames_of_the_interpreter_are_left_out(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("tid:1;/x/app.py:main:3;__init__:__init__:0 2\n"
                       "tid:1;/x/app.py:main:3;__init__:__init__:0;/x/__init__.py:Box.__init__:7;~:len:0 5\n")
            file.flush()
            profile = folded.read_collapsed(file.name)
        self.assertEqual(profile.by_leaf(), {"main": 2, "Box.__init__": 5})
        self.assertEqual(profile.by_function(), {(("app.py", "main"),): 2,
                                                 (("app.py", "main"), ("__init__.py", "Box.__init__")): 5})


if __name__ == "__main__":
    unittest.main()
