"""Threads that wait for objects of multiprocessing, concurrent.futures, queue and subprocess, and one that holds some of them; each is
named after its wait.

Usage: shared_locks.py [SECONDS]

A child process holds the lock of the thread "elsewhere"; it and the program `cat` end when the victim does.

Answer:
    <module>:* main:* ...
    ... take:* ...
    ... hold:* ...
    ... take_*:* ...
    ... (_feed|_handle_workers|_handle_tasks|_handle_results):* ...
"""

import concurrent.futures
import multiprocessing
import queue
import subprocess
import sys
import threading
import time

LONG = 1000000
END = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")
FORK = multiprocessing.get_context("fork")
READY = threading.Semaphore(0)


def hold(lock, rlock, condition):
    with lock, rlock:
        with condition:
            READY.release()
            time.sleep(LONG)


def hold_elsewhere(lock, ready, end, ends):
    ends.close()
    with lock:
        ready.send_bytes(b".")
        try:
            end.recv_bytes()
        except EOFError:
            pass


def wait_for_end(end, ends):
    ends.close()
    try:
        end.recv_bytes()
    except EOFError:
        pass


def take_by_with(lock):
    with lock:
        pass


def take_by_call(lock):
    lock.acquire()


def take_in_condition(condition):
    with condition:
        condition.wait()


def take_event(event):
    event.wait()


def take_queue(one):
    one.get()


def take_room(full):
    full.put(2)


def take_end(one):
    one.join()


def take_message(connection):
    connection.recv()


def take_process(process):
    process.wait()


def take_result(result):
    result.get()


def take_first(futures):
    for _ in concurrent.futures.as_completed(futures):
        pass


def take_all(futures):
    concurrent.futures.wait(futures)


def main():
    # Children first: they are forked while there is one thread.
    end, ends = FORK.Pipe(False)
    said, says = FORK.Pipe(False)
    elsewhere = FORK.Lock()
    children = [FORK.Process(target=hold_elsewhere, args=(elsewhere, says, end, ends), daemon=True),
                FORK.Process(target=wait_for_end, args=(end, ends), daemon=True)]
    for child in children:
        child.start()
    said.recv_bytes()
    program = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    lock, rlock, condition = FORK.Lock(), FORK.RLock(), FORK.Condition()
    holder = threading.Thread(target=hold, args=(lock, rlock, condition), name="hold", daemon=True)
    holder.start()
    READY.acquire()
    full, joined = FORK.Queue(1), FORK.JoinableQueue()
    full.put(1)
    joined.put(1)
    never, _unused = FORK.Pipe(False)
    future = concurrent.futures.Future()
    waiters = [("with lock", take_by_with, lock), ("lock.acquire", take_by_call, lock), ("with rlock", take_by_with, rlock),
               ("with condition", take_by_with, condition), ("elsewhere", take_by_with, elsewhere),
               ("condition", take_in_condition, FORK.Condition()), ("semaphore", take_by_with, FORK.Semaphore(0)),
               ("bounded", take_by_call, FORK.BoundedSemaphore(1)), ("event", take_event, FORK.Event()),
               ("barrier", take_event, FORK.Barrier(2)), ("queue", take_queue, FORK.Queue()), ("room", take_room, full),
               ("simple", take_queue, FORK.SimpleQueue()), ("joined", take_end, joined), ("message", take_message, never),
               ("process", take_end, children[1]), ("program", take_process, program), ("simple queue", take_queue, queue.SimpleQueue()),
               ("as_completed", take_first, [future]), ("wait", take_all, [future]),
               ("barrier of threads", take_event, threading.Barrier(2))]
    waiters[7][2].acquire()
    for name, target, what in waiters:
        threading.Thread(target=target, args=(what,), name=name, daemon=True).start()
    time.sleep(0.5)
    print("READY", flush=True)
    while time.monotonic() < END:
        time.sleep(0.25)
    ends.close()


if __name__ == "__main__":
    main()
