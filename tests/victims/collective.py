"""Processes that reduce a number around a ring of sockets, as the collectives of torch.distributed do, and one that never comes to it.

Usage: collective.py [COUNT [ODD [SECONDS]]]

Each of the COUNT processes is a program of its own with RANK in its environment. Number ODD waits for its next batch from a queue
that a thread of its own does not fill. They end when the first one does.

Answer:
    <module>:* main:* ...
    <module>:* main:* train:* step:* all_reduce:* recv:* ...
    <module>:* main:* train:* load_batch:* ...
    ... fill:* ...
"""

import os
import queue
import socket
import subprocess
import sys
import threading
import time

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 8
ODD = int(sys.argv[2]) if len(sys.argv) > 2 else 3
END = time.monotonic() + float(sys.argv[3]) if len(sys.argv) > 3 else float("inf")
BATCHES = queue.Queue()


def fill():
    os.read(0, 1)
    # The first process has ended.
    os._exit(0)


def recv(left):
    return left.recv(8)


def all_reduce(left, right, value):
    for _ in range(COUNT - 1):
        right.sendall(b"%8d" % value)
        value += int(recv(left) or sys.exit())
    return value


def load_batch():
    return BATCHES.get()


def step(left, right):
    return all_reduce(left, right, 1)


def train(rank, left, right):
    os.write(1, b".")
    while True:
        if rank == ODD:
            load_batch()
        step(left, right)


def main():
    if "RANK" in os.environ:
        rank = int(os.environ["RANK"])
        threading.Thread(target=fill, name="loader", daemon=True).start()
        left, right = (socket.socket(fileno=int(number)) for number in os.environ["RING"].split())
        train(rank, left, right)
        return
    waits, ends = os.pipe()
    said, says = os.pipe()
    pairs = [socket.socketpair() for _ in range(COUNT)]
    for rank in range(COUNT):
        ring = pairs[rank][1].fileno(), pairs[(rank + 1) % COUNT][0].fileno()
        subprocess.Popen([sys.executable] + sys.argv, env=dict(os.environ, RANK=str(rank), RING="%d %d" % ring),
                         stdin=waits, stdout=says, pass_fds=ring)
    for pair in pairs:
        pair[0].close()
        pair[1].close()
    started = 0
    while started < COUNT:
        started += len(os.read(said, COUNT))
    print("READY", flush=True)
    while time.monotonic() < END:
        time.sleep(0.25)


if __name__ == "__main__":
    main()
