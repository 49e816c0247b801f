"""Small functions and methods that call each other all the time, at several depths.

Usage: calls.py SECONDS

Legal is what the source says: who calls whom on which line.
"""

import sys
import time

SECONDS = float(sys.argv[1])


def is_digit(character):
    return "0" <= character <= "9"


class Reader:
    def __init__(self, text):
        self.text, self.at = text, 0

    def peek(self):
        return self.text[self.at]

    def skip(self):
        while self.peek() == " ":
            self.at += 1

    def number(self):
        self.skip()
        number = 0
        while is_digit(self.peek()):
            number = number * 10 + ord(self.peek()) - 48
            self.at += 1
        return number


def parse():
    reader = Reader("12 345 6 78901   23 4;")
    return [
        reader.number(),
        reader.number(),
        reader.number(),
        reader.number(),
        reader.number(),
        reader.number(),
    ]


def fib(number):
    return number if number < 2 else fib(number - 1) + fib(number - 2)


def clip(number):
    return 0 if number < 0 else number


def double(number):
    return number * 2


def weigh(depth):
    return clip(depth) + double(depth)


def climb(depth):
    if depth == 0:
        return weigh(depth)
    return climb(depth - 1) + weigh(depth)


def main():
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for _ in range(10):
            parse()
            fib(8)
            climb(30)


print("READY", flush=True)
main()
