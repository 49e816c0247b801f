"""A shop that works through orders; one function of it, discount(), has a fifth of the time, and can be made slower.

Usage: compared.py SECONDS PERCENT

discount() does PERCENT more of its work than it does with 0. The other functions stay as they are. Orders differ in length, at
random, so that the program is not periodic.
"""

import json
import random
import re
import sys
import time

SECONDS, PERCENT = float(sys.argv[1]), float(sys.argv[2])
STEPS = round(400 * (1 + PERCENT / 100))
WORDS = re.compile(r"(\w+)-(\d+)")


def discount(items):
    total = 0
    for step in range(STEPS):
        total += step * items % 7
    return total


def parse(text):
    return [(word, int(count)) for word, count in WORDS.findall(text)]


def price(orders):
    total = 0
    for word, count in orders:
        total += len(word) * count
        total -= total // 100
    return total


def tax(total):
    for rate in range(330):
        total = (total * 107 + rate) // 106
        total %= 1000003
    return total


def write(orders, total):
    return json.loads(json.dumps({"orders": orders, "total": total}))


def rank(orders):
    return sorted(orders, key=weigh)


def weigh(order):
    word, count = order
    return count * len(word)


def serve(rng):
    length = rng.randrange(8, 40)
    orders = parse(" ".join("thing-%d" % rng.randrange(1000) for _ in range(length)))
    discount(length)
    write(rank(orders), tax(price(orders)))


def main():
    rng = random.Random()
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        serve(rng)


print("READY", flush=True)
main()
