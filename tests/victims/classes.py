"""Methods, nested functions, a lambda, a generator expression and comprehensions: qualified names of every kind.

Usage: classes.py [SECONDS]

Names are qualified from 3.11 on; before, only their last part is known (`spin`, `inner`, `<lambda>`). A list
comprehension has a frame of its own before 3.12 only.

Answer:
    <module>:80 main:67-77 Base.method:35 spin:28-30
    <module>:80 main:67-77 Derived.method:48 Base.method:35 spin:28-30
    <module>:80 main:67-77 Base.of_class:39 spin:28-30
    <module>:80 main:67-77 Base.of_none:43 spin:28-30
    <module>:80 main:67-77 Outer.Inner.method:54 spin:28-30
    <module>:80 main:67-77 outer:58-60 outer.<locals>.inner:59 spin:28-30
    <module>:80 main:67-77 <lambda>:63 spin:28-30
    <module>:80 main:67-77 spin:28-30
    <module>:80 main:67-77 main.<locals>.<listcomp>:76 spin:28-30
    <module>:80 main:67-77 main.<locals>.<genexpr>:77 spin:28-30
"""

import sys
import time

END = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")


def spin():
    for _ in range(200):
        pass
    return 1


class Base:
    def method(self):
        return spin()

    @classmethod
    def of_class(cls):
        return spin()

    @staticmethod
    def of_none():
        return spin()


class Derived(Base):
    def method(self):
        return super().method()


class Outer:
    class Inner:
        def method(self):
            return spin()


def outer():
    def inner():
        return spin()
    return inner()


QUICK = lambda: spin()  # noqa: E731


def main():
    print("READY", flush=True)
    while time.monotonic() < END:
        Base().method()
        Derived().method()
        Base.of_class()
        Base.of_none()
        Outer.Inner().method()
        outer()
        QUICK()
        [spin() for _ in range(2)]
        sum(spin() for _ in range(2))


main()
