"""Goes down to a depth by chance, and from there down and up again, across several chunks of the data stack.

Usage: depths.py [SECONDS]

Outer frames stay while inner ones come and go, and so do chunks.

Answer:
    <module>:50 main:44-46 down:20-22* turn:26-27 around:31-35* leaf:39-40
"""

import random
import sys
import time

END = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")
DEPTHS = [random.randrange(300) for _ in range(1000)]


def down(left):
    if left:
        return down(left - 1)
    return turn()


def turn():
    for depth in DEPTHS[:6]:
        around(depth // 2)


def around(left):
    leaf()
    if left == 0:
        return
    around(left - 1)
    leaf()


def leaf():
    for _ in range(30):
        pass


def main():
    while time.monotonic() < END:
        DEPTHS.append(DEPTHS.pop(0))
        down(DEPTHS[-1])


print("READY", flush=True)
main()
