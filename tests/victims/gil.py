"""A native extension that does not release the GIL, and a thread that needs it.

Usage: gil.py [MODE [SECONDS]]

`deadlock` (the default): "holder" waits in C for a mutex and keeps the GIL; "mutex" has the mutex and needs the GIL.  `blocked`: "holder"
reads from a pipe in C and keeps the GIL; "needs" needs it.

Answer:
    <module>:* ...
"""

import ctypes
import os
import subprocess
import sys
import threading
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else "deadlock"
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 0
# Calls of the first one keep the GIL, those of the other release it.
KEEPS, RELEASES = ctypes.PyDLL(None), ctypes.CDLL(None)
MUTEX = ctypes.create_string_buffer(64)
LOCKED = threading.Event()


def lock_and_block(mutex):
    LOCKED.wait()
    KEEPS.pthread_mutex_lock(mutex)


def lock_and_return(mutex):
    RELEASES.pthread_mutex_lock(mutex)
    LOCKED.set()
    RELEASES.usleep(300000)


def read_and_block(descriptor):
    LOCKED.wait()
    KEEPS.read(descriptor, ctypes.create_string_buffer(1), 1)


def sleep_and_return():
    LOCKED.set()
    RELEASES.usleep(300000)


def main():
    RELEASES.alarm(SECONDS)
    # Nothing more is run by Python then.
    subprocess.Popen(["sh", "-c", "sleep 1; echo READY"])
    if MODE == "deadlock":
        threads = [("holder", lock_and_block, (MUTEX,)), ("mutex", lock_and_return, (MUTEX,))]
    else:
        threads = [("holder", read_and_block, (os.pipe()[0],)), ("needs", sleep_and_return, ())]
    for name, target, words in threads:
        threading.Thread(target=target, args=words, name=name, daemon=True).start()
    time.sleep(1000000)


if __name__ == "__main__":
    main()
