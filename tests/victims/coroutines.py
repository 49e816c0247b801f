"""Coroutines that await each other and never leave their first run, like the cell of a notebook.

Usage: coroutines.py [SECONDS]

Their instructions run too rarely to be specialized, and the coroutines are never resumed.

Answer:
    <module>:43 outer:38 Base.middle:34 inner:29 <module>:1 forever:22-25 spin:18-19
"""

import sys
import time

END = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")


def spin(number):
    for _ in range(200):
        number += 1


def forever():
    while time.monotonic() < END:
        spin(1)
        spin(2)


async def inner():
    exec("forever()")


class Base:
    async def middle(self):
        await inner()


async def outer():
    await Base().middle()


print("READY", flush=True)
try:
    outer().send(None)
except StopIteration:
    pass
