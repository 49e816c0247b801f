"""Spins for a second (or SECONDS) in work and ends by itself with exit code 3.

Usage: exits.py [SECONDS]

Answer:
    <module>:21 work:16-18
"""

import sys
import time

END = time.monotonic() + float(sys.argv[1] if len(sys.argv) > 1 else 1)


def work():
    print("READY", flush=True)
    while time.monotonic() < END:
        pass


work()
sys.exit(3)
