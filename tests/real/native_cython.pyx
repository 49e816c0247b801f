# cython: language_level=3
"""A simulation in Cython, without line tracing."""


cdef class Body:
    cdef double place, speed

    def __init__(self, double place):
        self.place = place
        self.speed = 0

    cdef void pull(self, Body other):
        cdef double apart = other.place - self.place
        self.speed += apart / (1 + apart * apart * apart * apart)

    cdef void move(self):
        self.place += self.speed * 0.001


def totals(list bodies):
    """A generator."""
    for body in bodies:
        yield (<Body>body).speed


def simulate(int count, int steps):
    cdef list bodies = [Body(i) for i in range(count)]
    cdef int step, i
    for step in range(steps):
        for i in range(count):
            (<Body>bodies[i]).pull(<Body>bodies[(i + 1) % count])
        for i in range(count):
            (<Body>bodies[i]).move()
        if step % 10 == 0:
            sum(totals(bodies))
    return sum(totals(bodies))
