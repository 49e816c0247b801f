"""A pipeline of three generators, each doing next to nothing.

Usage: generators.py SECONDS

A generator's frame stands above whoever resumed it: legal is every beginning of
`<module> > use > third > second > first > step`.
"""

import sys
import time

SECONDS = float(sys.argv[1])


def step(number):
    return number + 1


def first(count):
    for number in range(count):
        yield step(number)


def second(count):
    for number in first(count):
        yield number * 2


def third(count):
    for number in second(count):
        if number % 3:
            yield number


def use():
    end = time.monotonic() + SECONDS
    total = 0
    while time.monotonic() < end:
        for number in third(1000):
            total += number
    return total


print("READY", flush=True)
use()
