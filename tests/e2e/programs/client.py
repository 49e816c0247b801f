"""Asks a server of this machine for its page all the time, in one or more threads.

Usage: client.py PORT SECONDS [THREADS]
"""

import sys
import threading
import time
import urllib.request

END = time.monotonic() + float(sys.argv[2])


def ask():
    while time.monotonic() < END:
        try:
            urllib.request.urlopen("http://127.0.0.1:" + sys.argv[1] + "/", timeout=60).read()
        except OSError:
            break


for _ in range(int(sys.argv[3]) if len(sys.argv) > 3 else 1):
    threading.Thread(target=ask).start()
