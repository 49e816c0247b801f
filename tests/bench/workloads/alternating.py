"""Two chains of calls, called in turn, that never mix.

Usage: alternating.py SECONDS DEPTH [LOCALS]

Legal is every beginning of `<module> > main > a_1 > ... > a_DEPTH` and of the same with b.
"""

import sys
import time

from chain_source import chain_source, file_name

SECONDS, DEPTH = float(sys.argv[1]), int(sys.argv[2])
LOCALS = int(sys.argv[3]) if len(sys.argv) > 3 else 0

for letter in "ab":
    exec(compile(chain_source(letter, DEPTH, LOCALS), file_name(letter), "exec"))


def main():
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for _ in range(100):
            a_1(1)  # noqa: F821
            b_1(1)  # noqa: F821


print("READY", flush=True)
main()
