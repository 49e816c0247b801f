"""Threads that wait, each for one cause, in a function that is named for it.

Usage: waiters.py SECONDS

Prints "PEERS": the ports of the peers that network_read, network_read_with_timeout and network_write wait for, then READY.
"""

import asyncio
import concurrent.futures
import ctypes
import fcntl
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
LIBC = ctypes.CDLL(None)
FOLDER = tempfile.mkdtemp()
MASTER, TERMINAL = os.openpty()


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


def gets():
    queue.Queue().get()


def queue_get_in_depth():
    gets()


class Worker:
    """Gets its jobs in a method, or asks another for an answer there."""

    jobs = queue.Queue()

    def next_job(self):
        return self.jobs.get()

    def next_of_a_list(self):
        one, found = threading.Condition(), []
        with one:
            while not found:
                one.wait()

    def asks(self, question):
        return queue.Queue().get() + question

    def run(self):
        while True:
            print(self.next_job())

    def run_list(self):
        while True:
            print(self.next_of_a_list())

    def run_questions(self):
        question = 0
        while True:
            question = self.asks(question)


def gets_in_a_loop():
    Worker().run()


def gets_of_a_list_in_a_loop():
    Worker().run_list()


def asks_in_a_loop():
    Worker().run_questions()


def condition():
    one = threading.Condition()
    with one:
        one.wait_for(lambda: False)


def event():
    threading.Event().wait()


def waits_for_event():
    threading.Event().wait()


def event_in_depth():
    waits_for_event()


def barrier():
    threading.Barrier(2).wait()


def semaphore():
    threading.Semaphore(0).acquire()


def future():
    concurrent.futures.Future().result()


def pause():
    while True:
        until = time.monotonic() + 0.02
        while time.monotonic() < until:
            pass
        time.sleep(0.02)


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


def named_pipe():
    path = os.path.join(FOLDER, "named")
    os.mkfifo(path)
    os.read(os.open(path, os.O_RDWR), 1)


def opens_named_pipe():
    path = os.path.join(FOLDER, "opened")
    os.mkfifo(path)
    os.open(path, os.O_RDONLY)


def terminal():
    os.read(TERMINAL, 1)


def terminal_of_a_child():
    os.read(MASTER, 1)


def unix_socket():
    near, far = socket.socketpair()
    near.recv(1)
    far.close()


def event_file():
    os.read(LIBC.eventfd(0, 0), 8)


def watches_files():
    os.read(LIBC.inotify_init1(0), 100)


def timer_file():
    os.read(LIBC.timerfd_create(time.CLOCK_MONOTONIC, 0), 8)


def signal_file():
    os.read(LIBC.signalfd(-1, bytes(128), 0), 128)


def process_file():
    poll = select.poll()
    poll.register(LIBC.syscall(434, subprocess.Popen(QUIET, stdin=subprocess.PIPE).pid, 0), select.POLLIN)  # pidfd_open
    poll.poll()


def kernel_file():
    with open("/proc/self/mounts", "rb") as file:
        poll = select.poll()
        poll.register(file, select.POLLPRI)
        file.read()
        poll.poll()
        poll.poll()


LOCKS = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX)
print(flush=True)
sys.stdin.read()
"""


def lock_of_a_file():
    path = os.path.join(FOLDER, "locked")
    holder = subprocess.Popen([sys.executable, "-S", "-c", LOCKS, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holder.stdout.readline()
    with open(path, "w") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)


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


WAITS = (event_loop, accept, queue_get, simple_queue_get, queue_get_in_depth, gets_in_a_loop, gets_of_a_list_in_a_loop,
         asks_in_a_loop, condition, event, event_in_depth, barrier, semaphore,
         future, pause, join, lock, with_lock, network_read,
         network_read_with_timeout, network_write, pipe,
         named_pipe, opens_named_pipe, terminal, terminal_of_a_child, unix_socket, event_file, watches_files, timer_file, signal_file,
         process_file, kernel_file, lock_of_a_file, child, child_output, disk, selects, selects_nothing, polls)


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
