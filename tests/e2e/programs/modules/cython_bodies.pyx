# cython: language_level=3
"""A simulation; Cython compiles it, without line tracing.  compiled.py runs it."""

import time


cdef class Body:
    cdef double place, speed

    def __init__(self, double place):
        self.place = place
        self.speed = 0

    cdef void move(self):
        self.place += self.speed * 0.001


def pull(list bodies):
    cdef Body one, other
    cdef double apart
    for one in bodies:
        for other in bodies:
            apart = other.place - one.place
            one.speed += apart / (1 + apart * apart * apart * apart)  # the answer


def move(list bodies):
    for body in bodies:
        (<Body>body).move()


def work(double seconds):
    """-> seconds of the processor in `pull`"""
    cdef double spent = 0, begun, end = time.monotonic() + seconds
    bodies = [Body(i) for i in range(400)]
    while time.monotonic() < end:
        begun = time.thread_time()
        pull(bodies)
        spent += time.thread_time() - begun
        for _ in range(100):
            move(bodies)
    return spent
