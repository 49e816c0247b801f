"""A program that starts a daemon: that forks twice, is in a session of its own, and ends by itself."""

import os
import time

import work


def serve():
    end = time.monotonic() + 30
    while time.monotonic() < end:
        work.work()


print("READY", flush=True)
time.sleep(1)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        serve()
    os._exit(0)
time.sleep(60)
