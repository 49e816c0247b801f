"""A tree that grows wide: thousands of different stacks a second, a hundred thousand nodes soon.

Usage: wide.py SECONDS

Legal is any function below any other.
"""

import random
import sys
import time

SECONDS = float(sys.argv[1])
FUNCTIONS = 12
DEPTH = 25

SOURCE = """
def f%d(depth):
    if depth:
        choose()(depth - 1)
    else:
        for _ in range(300):
            pass
"""

chance = random.Random(1)
space = {"choose": lambda: space["f%d" % chance.randrange(FUNCTIONS)]}
exec(compile("".join(SOURCE % i for i in range(FUNCTIONS)), "wide.py", "exec"), space)

print("READY", flush=True)
end = time.monotonic() + SECONDS
while time.monotonic() < end:
    space["f0"](DEPTH)
