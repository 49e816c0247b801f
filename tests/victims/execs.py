"""Spins in before for two seconds, then replaces itself by chain.py: same process id, another program.

Usage: execs.py [SECONDS]

execs.py passes SECONDS to chain.py, which prints READY a second time.

Answer:
    <module>:24 before:19-21
"""

import os
import sys
import time

END = time.monotonic() + 2


def before():
    print("READY", flush=True)
    while time.monotonic() < END:
        pass


before()
CHAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "chain.py")
os.execv(sys.executable, [sys.executable, CHAIN] + sys.argv[1:])
