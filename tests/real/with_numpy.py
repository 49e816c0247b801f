"""numpy: a call of C with a name, and Python between."""

import numpy

import work

print("READY", flush=True)
matrix = numpy.random.default_rng(1).random((400, 400))


def multiply():
    return numpy.dot(matrix, matrix)


def main():
    while True:
        multiply()
        work.work(2)


main()
