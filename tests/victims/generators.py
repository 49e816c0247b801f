"""A consumer drives three nested generators, the outer two by `yield from`.

Usage: generators.py [SECONDS]

A generator's frame follows the frame that resumed it: consume > outer > middle > inner. No generator occurs without its
outer frames. inner calls step, so that a plain frame follows that of a generator.

Answer:
    <module>:45 consume:39-41 outer:25 middle:29 inner:33-35 step:19-21
"""

import sys
import time

END = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")


def step(number):
    for _ in range(20):
        number += 1
    return number


def outer():
    yield from middle()


def middle():
    yield from inner()


def inner():
    number = 0
    while True:
        yield step(number)


def consume():
    for number in outer():
        if time.monotonic() >= END:
            break


print("READY", flush=True)
consume()
