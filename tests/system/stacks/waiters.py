"""Threads that wait, each for one cause, in a function that is named for it.

Usage: waiters.py SECONDS

Prints "PEERS": the ports of the peers that network_read, network_read_with_timeout and network_write wait for, then READY.
"""

import asyncio
import concurrent.futures
import os
import queue
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time

SECONDS = float(sys.argv[1])
# Ends once its standard input does.
QUIET = [sys.executable, "-c", "import sys; sys.stdin.read()"]
LOCK = threading.Lock()
LOCK.acquire()


def pair():
    """Both ends of a connection over TCP, and the port of the end that was connected to."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    return near, far, near.getpeername()[1]


NEAR, FAR, PORT = pair()
TIMED, TIMED_FAR, TIMED_PORT = pair()
FULL, FULL_FAR, FULL_PORT = pair()
LISTENER = socket.create_server(("127.0.0.1", 0))


def sleep():
    time.sleep(SECONDS)


def event_loop():
    async def wait():
        await asyncio.sleep(SECONDS)
    asyncio.run(wait())


def accept():
    LISTENER.accept()


def queue_get():
    queue.Queue().get()


def simple_queue_get():
    queue.SimpleQueue().get()


def condition():
    threading.Event().wait()


def join():
    threading.main_thread().join()


def lock():
    LOCK.acquire()


def with_lock():
    with LOCK:
        pass


def network_read():
    NEAR.recv(1)


def network_read_with_timeout():
    TIMED.settimeout(SECONDS)
    TIMED.recv(1)


def network_write():
    while True:
        FULL.send(b"x" * 65536)


def pipe():
    os.read(os.pipe()[0], 1)


def child():
    subprocess.Popen(QUIET, stdin=subprocess.PIPE).wait()


def child_output():
    subprocess.Popen(QUIET, stdin=subprocess.PIPE, stdout=subprocess.PIPE).stdout.read()


def disk():
    file, path = tempfile.mkstemp(dir="/var/tmp")
    os.unlink(path)
    while True:
        os.pwrite(file, b"x" * 4096, 0)
        os.fsync(file)


def selects():
    select.select([NEAR], [], [], SECONDS)


def selects_nothing():
    select.select([], [], [], SECONDS)


def polls():
    poll = select.poll()
    poll.register(LISTENER, select.POLLIN)
    poll.register(NEAR, select.POLLIN)
    poll.poll()


WAITS = (event_loop, accept, queue_get, simple_queue_get, condition, join, lock, with_lock, network_read,
         network_read_with_timeout, network_write, pipe, child, child_output, disk, selects, selects_nothing, polls)


def main():
    for wait in WAITS:
        threading.Thread(target=wait, name=wait.__name__, daemon=True).start()
    pool = concurrent.futures.ThreadPoolExecutor(2, thread_name_prefix="worker")
    for _ in range(2):
        pool.submit(time.sleep, 0.1)
    time.sleep(0.5)  # until the workers are idle
    print("PEERS", PORT, TIMED_PORT, FULL_PORT, flush=True)
    print("READY", flush=True)
    sleep()
    os._exit(0)


if __name__ == "__main__":
    main()
