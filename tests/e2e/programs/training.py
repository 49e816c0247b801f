"""A machine-learning job: descends a gradient in one thread while another reports progress every second.

Usage: training.py SECONDS
"""

import random
import sys
import threading
import time

END = time.monotonic() + float(sys.argv[1])
FEATURES = 40


def load(count):
    rows = [[random.random() for _ in range(FEATURES)] for _ in range(count)]
    return rows, [sum(row) for row in rows]


def report(state):
    while time.monotonic() < END:
        time.sleep(1)
        state["seen"] = state["epoch"]


def gradient(weights, rows, targets):
    slopes = [0.0] * FEATURES
    for row, target in zip(rows, targets):
        error = sum(w * x for w, x in zip(weights, row)) - target  # the answer
        slopes[0] += error
    return slopes


def fit(rows, targets):
    state = {"epoch": 0, "seen": 0}
    threading.Thread(target=report, args=(state,), daemon=True).start()
    weights = [0.0] * FEATURES
    while time.monotonic() < END:
        slopes = gradient(weights, rows, targets)
        weights = [w - 1e-6 * s for w, s in zip(weights, slopes)]
        state["epoch"] += 1


def main():
    rows, targets = load(500)
    print("READY", flush=True)
    fit(rows, targets)


main()
