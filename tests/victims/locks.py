"""Threads that wait for locks and other objects, and threads that hold them; each is named after its wait.

Usage: locks.py [MODE [SECONDS]]

`deadlock` (the default) has three threads that wait for each other for ever besides the others; `timed` has the same three, of which
one gives up after a time that does not come; `free` has none of them.

Answer:
    <module>:* main:* ...
    ... take:* ...
    ... move:* ...
    ... hold:* ...
"""

import concurrent.futures
import queue
import sys
import threading
import time

LONG = 1000000
MODE = sys.argv[1] if len(sys.argv) > 1 else "deadlock"
END = time.monotonic() + float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")


class Account:
    def __init__(self):
        self.lock = threading.Lock()


class Inbox(queue.Queue):
    pass


ACCOUNTS = [Account() for _ in range(3)]
MEETING = threading.Barrier(3)
HELD = {"lock": threading.Lock(), "rlock": threading.RLock(), "nested": threading.RLock(), "condition": threading.Condition()}
NEVER = {"event": threading.Event(), "barrier": threading.Barrier(2), "queue": queue.Queue(), "inbox": Inbox(),
         "semaphore": threading.Semaphore(0), "future": concurrent.futures.Future(), "waiting": threading.Condition()}
READY = threading.Semaphore(0)
NAMED = threading.Lock()


def hold():
    """Holds all of HELD, in three frames, and sleeps or runs."""
    with HELD["lock"], HELD["rlock"]:
        hold_more()


def hold_more():
    with HELD["nested"]:
        with HELD["nested"]:
            hold_all()


def hold_all():
    with HELD["condition"]:
        READY.release()
        time.sleep(LONG)


def hold_running():
    with NAMED:
        READY.release()
        while time.monotonic() < END:
            pass


def take_by_with(lock):
    with lock:
        pass


def take_by_call(lock):
    lock.acquire()


def take_event(event):
    event.wait()


def take_queue(one):
    one.get()


def take_future(future):
    future.result()


def take_condition(condition):
    with condition:
        condition.wait()


def take_end(thread):
    thread.join()


def move(first, second):
    with first.lock:
        MEETING.wait()
        if MODE == "timed" and second is ACCOUNTS[0]:
            second.lock.acquire(timeout=100000)
        with second.lock:
            pass


def main():
    holders = [threading.Thread(target=target, name=target.__name__, daemon=True) for target in (hold, hold_running)]
    for holder in holders:
        holder.start()
        READY.acquire()
    waiters = [("with lock", take_by_with, HELD["lock"]), ("with rlock", take_by_with, HELD["rlock"]),
               ("rlock.acquire", take_by_call, HELD["nested"]), ("with condition", take_by_with, HELD["condition"]),
               ("lock.acquire", take_by_call, NAMED), ("event", take_event, NEVER["event"]),
               ("barrier", take_event, NEVER["barrier"]), ("queue", take_queue, NEVER["queue"]), ("inbox", take_queue, NEVER["inbox"]),
               ("semaphore", take_by_with, NEVER["semaphore"]), ("future", take_future, NEVER["future"]),
               ("condition", take_condition, NEVER["waiting"]), ("with waiting", take_by_with, NEVER["waiting"]),
               ("join", take_end, holders[0])]
    for name, target, what in waiters:
        if name != "with waiting":
            threading.Thread(target=target, args=(what,), name=name, daemon=True).start()
    if MODE != "free":
        for i in range(3):
            threading.Thread(target=move, args=(ACCOUNTS[i], ACCOUNTS[(i + 1) % 3]), name="mover-%d" % i, daemon=True).start()
    time.sleep(0.5)
    print("READY", flush=True)
    while time.monotonic() < END:
        time.sleep(0.25)


if __name__ == "__main__":
    main()
