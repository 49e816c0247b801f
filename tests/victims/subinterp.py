"""A thread runs a sub-interpreter that spins; the main interpreter's main thread waits.

Usage: subinterp.py [SECONDS]

Exits with 77 if this Python cannot create another interpreter. The last line of the answer is a thread state of the
sub-interpreter; the name of its file depends on the version.

Answer:
    <module>:54 main:44-51 ...
    ... host:40
    <module>:* inner:*
"""

import sys
import threading
import time

try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        sys.exit(77)

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 1e9
END = time.monotonic() + SECONDS
INNER = """
import time

def inner(end):
    while time.monotonic() < end:
        pass

inner({0!r})
""".format(END)


def host(interpreter):
    interpreters.run_string(interpreter, INNER)


def main():
    interpreter = interpreters.create()
    thread = threading.Thread(target=host, args=(interpreter,), name="host")
    thread.daemon = True
    thread.start()
    time.sleep(0.2)
    print("READY", flush=True)
    thread.join()
    interpreters.destroy(interpreter)


main()
