"""Functions and a thread with names that break careless readers, writers and pages.

Usage: hostile.py [SECONDS]

main calls spin in turn for a few milliseconds under each name and file name of NAMES. Only the name of the code object
changes; its code and lines are those of spin. The second thread sleeps in rest under NAMES[0].

Answer:
    <module>:72 main:62-69 ...
    <module>:72 main:69 NAME:38-40
    ... rest:44-45
"""

import sys
import threading
import time

END = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")
NAMES = (
    "</script><img src=x onerror=alert(1)>",
    "<b>&amp;\"'`",
    "__proto__",
    "constructor",
    "",
    "right\u202eleft",
    "lone\udc80surrogate\ud800",
    "nul\0inside",
    "\U0001f525 emoji",
    "x" * 100000,
    "space and;semicolon",
    "line\nbreak\ttab\x1b[31m",
    "%s%n%d",
    "../../etc/passwd",
)


def spin():
    end = time.monotonic() + 0.002
    while time.monotonic() < end:
        pass


def rest():
    while time.monotonic() < END:
        time.sleep(0.25)


def renamed(name):
    code = spin.__code__
    code = code.replace(co_name=name, co_filename="/tmp/%s.py" % name)
    if hasattr(code, "co_qualname"):
        code = code.replace(co_qualname=name)

    def function():
        pass

    function.__code__ = code
    return function


def main():
    functions = [renamed(name) for name in NAMES]
    sleeper = threading.Thread(target=rest, name=NAMES[0])
    sleeper.daemon = True
    sleeper.start()
    print("READY", flush=True)
    while time.monotonic() < END:
        for function in functions:
            function()


main()
