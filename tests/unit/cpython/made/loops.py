#!/usr/bin/env python3
"""Writes where functions of the running interpreter call self.here(), as code that has run often enough to be specialised.

For each function of HEAD, INSIDE and NONE below, standard output gets a record of native 32-bit numbers: version (PY_VERSION_HEX), count of
code units, the unit of the call, and the place that is right (as in loops.h); then the name of the function, of 32 bytes, and the units.
"""

import struct
import sys
import threading

NONE, INSIDE, HEAD = 1, 2, 3
ROUNDS = 80


class Done(Exception):
    pass


class Case:
    """The class whose methods the functions are."""

    def __init__(self):
        self.rounds, self.place, self.lock, self.jobs, self.running = 0, -1, threading.Lock(), [], True

    def here(self, *arguments, timeout=None):
        frame = sys._getframe(1)
        self.place = frame.f_lasti // 2
        self.rounds += 1
        if self.rounds >= ROUNDS:
            raise Done
        return self.rounds

    def other(self, *arguments):
        return [len(arguments)]


def work(*arguments):
    return arguments


class Head:
    def takes(self):
        while True:
            job = self.here()
            work(job)

    def passes_on(self):
        while True:
            work(self.here())

    def waits_for_some_time(self):
        while True:
            job = self.here(timeout=0.5)
            work(job)

    def while_it_runs(self):
        while self.running:
            job = self.here()
            work(job)

    def tests_first(self):
        while True:
            if not self.other(self):
                break
            job = self.here()
            work(job)

    def does_something_first(self):
        while True:
            self.other()
            for job in range(self.here()):
                work(job)
                break

    def with_a_lock(self):
        while True:
            with self.lock:
                job = self.here()
            work(job)

    def tries(self):
        while True:
            try:
                job = self.here(self.jobs, 3)
            except KeyError:
                continue
            if job is None:
                break
            work(job)

    def with_an_inner_loop(self):
        while True:
            job = self.here()
            for one in range(2):
                work(job, one)


class Inside:
    def has_a_job(self):
        while True:
            job = self.other()
            answer = self.here()
            work(job, answer)

    def asks(self):
        question = 1
        while True:
            question = self.here(question)

    def asks_with_something_new(self):
        while True:
            work(self.here(self.other()))

    def goes_through_jobs(self):
        for job in range(200):
            answer = self.here()
            work(job, answer)

    def in_an_inner_loop(self):
        while True:
            job = self.other()
            while job:
                answer = self.here()
                work(answer)

    def wants_nothing(self):
        while True:
            self.here()

    def keeps_the_job(self):
        while True:
            self.jobs = self.other()
            answer = self.here()
            work(answer)

    def of_the_loop(self):
        for number in range(200):
            work(self.here(number))


class Outside:
    def before(self):
        answer = self.here()
        while answer > 1000:
            answer = work(answer)

    def after(self):
        for number in range(3):
            work(number)
        return self.here()

    def alone(self):
        return work(self.here())


def write(name, function, right):
    for _ in range(ROUNDS):
        case = Case()
        try:
            function(case)
        except Done:
            pass
        if right != NONE:
            break
    code = function.__code__
    units = getattr(code, "_co_code_adaptive", code.co_code)
    sys.stdout.buffer.write(struct.pack("=4I32s", sys.hexversion, len(units) // 2, case.place, right, name.encode()) + units)


for group, place in ((Head, HEAD), (Inside, INSIDE), (Outside, NONE)):
    for one, value in vars(group).items():
        if callable(value):
            write(one, value, place)
