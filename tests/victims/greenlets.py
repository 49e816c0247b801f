"""Two greenlets take turns, each with a stack of its own; the hub between them only waits.

Usage: greenlets.py [SECONDS]

While a greenlet runs, the stack consists of its own frames: it begins where the greenlet begins, without frames of the
hub or of the other greenlet. A frame that has switched away stays at the line of the switch.

Exits with 77 if greenlet cannot be imported.

Answer:
    <module>:62 hub:54-58
    left:35-39 spin:29-32
    right:42-46 deeper:50 spin:29-32
"""

import sys
import time

try:
    import greenlet
except ImportError:
    print("skipped: greenlet is not here")
    sys.exit(77)

END = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")
TURN = 50


def spin(count):
    for _ in range(count * 20):
        count += 1
    return count


def left(main):
    while True:
        for _ in range(TURN):
            spin(20)
        main.switch()


def right(main):
    while True:
        for _ in range(TURN):
            deeper()
        main.switch()


def deeper():
    spin(20)


def hub(turns):
    while time.monotonic() < END:
        time.sleep(0.001)
        for turn in turns:
            turn.switch(greenlet.getcurrent())
    sys.exit(0)


print("READY", flush=True)
hub([greenlet.greenlet(left), greenlet.greenlet(right)])
