"""As many functions as a large application has, all of them called, in as many files and on as many lines.

Usage: functions.py SECONDS FILES FUNCTIONS

FILES files with FUNCTIONS functions each; every function calls some others, up to twelve deep.
"""

import random
import sys
import time

SECONDS, FILES, FUNCTIONS = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
DEPTH = 12


def source(file, rng):
    lines = []
    for number in range(FUNCTIONS):
        lines += ["class Handler_%d_%d:" % (file, number),
                  "    def respond_to_request_%d_%d(self, depth, value):" % (file, number),
                  "        value = value * 3 + 1",
                  "        if depth == 0:",
                  "            return value % 1000",
                  "        value = HANDLERS[%d](depth - 1, value)" % rng.randrange(FILES * FUNCTIONS),
                  "        return HANDLERS[%d](depth - 1, value) if value %% 16 == 0 else value"
                  % rng.randrange(FILES * FUNCTIONS),
                  "HANDLERS.append(Handler_%d_%d().respond_to_request_%d_%d)" % (file, number, file, number)]
    return "\n".join(lines)


HANDLERS = []
chance = random.Random(7)
for at in range(FILES):
    exec(compile(source(at, chance), "/srv/application/package_%d/module_with_views_%d.py" % (at % 40, at), "exec"))


def main():
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for handler in HANDLERS:
            handler(DEPTH, 1)


print("READY", flush=True)
main()
