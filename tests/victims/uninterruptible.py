"""A thread in a wait that only the end of a child can end, in state D: of vfork, whose child waits for a named pipe before it executes.

Usage: uninterruptible.py FOLDER [SECONDS]

The pipe is made in FOLDER. Another thread waits for a lock meanwhile.

Answer:
    <module>:* main:* start:*
    ... wait:* ...
"""

import contextlib
import os
import sys
import threading
import time

FOLDER = sys.argv[1]
END = time.monotonic() + float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")


def say_ready():
    # The other thread holds the GIL for ever, so a child says it.
    if os.fork() == 0:
        time.sleep(1)
        print("READY", flush=True)
        while os.getppid() == PARENT and time.monotonic() < END:
            time.sleep(0.25)
        # The child of vfork may have ended.
        with contextlib.suppress(OSError):
            os.open(PIPE, os.O_WRONLY | os.O_NONBLOCK)
        os.unlink(PIPE)
        os._exit(0)


def start():
    return os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, PIPE, os.O_RDONLY, 0)])


def wait(lock):
    lock.acquire()


def main():
    lock = threading.Lock()
    lock.acquire()
    threading.Thread(target=wait, args=(lock,), name="waiter", daemon=True).start()
    time.sleep(0.2)
    say_ready()
    start()


PARENT = os.getpid()
PIPE = os.path.join(FOLDER, "uninterruptible-%d" % PARENT)
os.mkfifo(PIPE)
if __name__ == "__main__":
    main()
