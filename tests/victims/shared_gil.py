"""The main thread spins, and so does a thread in a sub-interpreter: both need the one GIL, which the interpreters share.

Usage: shared_gil.py [SECONDS]

Exits with 77 before Python 3.13: until then a sub-interpreter that computes never gives the GIL back. The last line of the answer
is a thread state of the sub-interpreter; the name of its file depends on the version.

Answer:
    <module>:* main:* spin:44-45
    <module>:* inner:*
"""

import os
import sys
import threading
import time

try:
    import _interpreters as interpreters
except ImportError:
    sys.exit(77)

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 1e9
END = time.monotonic() + SECONDS
READING, WRITING = os.pipe()
INNER = """
import os
import time

def inner(end):
    while time.monotonic() < end:
        pass

os.write({1}, b"x")
inner({0!r})
""".format(END, WRITING)


def host(interpreter):
    interpreters.run_string(interpreter, INNER)


def spin():
    while time.monotonic() < END:
        pass


def main():
    interpreter = interpreters.create("legacy")
    threading.Thread(target=host, args=(interpreter,), name="host", daemon=True).start()
    os.read(READING, 1)
    print("READY", flush=True)
    spin()


main()
