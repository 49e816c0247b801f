"""Variables of every kind; each thread is named after its own, and waits, but for `running`.

Usage: variables.py [SECONDS]

Answer:
    <module>:* main:* ...
    ... wait:* ...
    ... spin:* ...
"""

import asyncio
import collections
import enum
import sys
import threading
import time

END = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")
EVENT = threading.Event()
READY = threading.Semaphore(0)


class Hostile:
    """Says nothing of itself without saying that it was asked."""

    def __repr__(self):
        print("CALLED", flush=True)
        return "called"

    __str__ = __len__ = __iter__ = __hash__ = __getattr__ = __repr__


class Texts(str):
    pass


class Lists(list):
    pass


class Numbers(int):
    pass


class Colour(enum.IntEnum):
    RED = 1


Point = collections.namedtuple("Point", "x y")
Fake = type("list", (), {"__module__": "builtins"})
Escape = type("Escape\x1b[31m<b>\u202e", (), {})


def wait():
    READY.release()
    while time.monotonic() < END:
        EVENT.wait(0.25)


def numbers(none=None, true=True, false=False, zero=0, small=7, negative=-12345, /, *, large=2**200, most=-(2**359), huge=10**5000):
    half, tiny, tall, whole, odd = 0.5, 5e-324, 1e+16, 123456789012345.0, 0.1 + 0.2
    infinite, missing, below_zero = float("-inf"), float("nan"), -0.0
    both, imaginary = 1.5 - 2j, 3j
    dots, never, steps, evens = ..., NotImplemented, range(10), range(0, -10, -2)
    wait()
    del half, tiny, tall, whole, odd, infinite, missing, below_zero, both, imaginary, dots, never, steps, evens


def texts():
    empty, plain, quoted, both = "", "plain", "it's", "it's \"both\""
    escapes, terminal, page = "\0\t\n\r\\\x7f\x85", "\x1b]0;title\x07\x1b[31m", "<script>alert(1)</script>&amp;"
    latin, wide, astral = "caf\xe9 \xa0", "\u4e16\u754c", "\U0001f40d"
    surrogate, hidden = "a\udc80\ud800b", "\u202e\u200b\ufeff\U000e0041"
    long, longest = "x" * 101, "\U0001f40d" * 10_000_000
    data, quoted_data, array, empty_array = b"\0\xff'a\\", b"x" * 65, bytearray(b"abc\n"), bytearray()
    wait()
    del (empty, plain, quoted, both, escapes, terminal, page, latin, wide, astral, surrogate, hidden, long, longest, data, quoted_data,
         array, empty_array)


def containers():
    nothing = [[], (), {}, set(), frozenset()]
    items, one, pairs = [1, "a", None], (1,), {"a": 1, 2: [3], (4, 5): {6}}
    million, entries = list(range(1000000)), {i: -i for i in range(1000000)}
    members, frozen, odd = {7}, frozenset(["x"]), {1, 2}
    odd.discard(1)
    removed = {1: 1, 2: 2, 3: 3}
    del removed[1], removed[2]
    shrunk = bytearray(b"0123456789")
    del shrunk[:5]
    deep = [1, [2, [3, [4, [5, [6]]]]]]
    itself = [1]
    itself.append(itself)
    mutual = {"list": [itself]}
    mutual["self"] = mutual
    chained = ([],)
    chained[0].append(chained)
    wide = [["x" * 90] * 10] * 10
    wait()
    del (nothing, items, one, pairs, million, entries, members, frozen, removed, shrunk, deep, mutual, chained, wide)


def others():
    hostile, hostiles = Hostile(), [Hostile(), {"a": Hostile()}]
    text, lists, number, colour, point = Texts("a"), Lists([1]), Numbers(1), Colour.RED, Point(1, 2)
    fake, escape, function, module, kind = Fake(), Escape(), wait, sys, int
    deque = collections.deque([1])
    wait()
    del hostile, hostiles, text, lists, number, colour, point, fake, escape, function, module, kind, deque


def arguments(first, second="b", *rest, third, fourth="d", **named):
    local = first + 1
    if not named:
        unbound = None
    wait()
    return local, unbound


def closures(captured, plain):
    counted = 0

    def inner(own):
        nonlocal counted
        counted += 1
        wait()
        return captured, later, own

    inner("own")
    later = 1
    return plain


def generators():
    def numbered(limit):
        for number in range(limit):
            yield number
            wait()

    def outer():
        before = "outer"
        yield from numbered(3)
        del before

    for value in outer():
        last = value
    return last


def coroutines():
    async def inner(depth):
        local = "inner"
        wait()
        return depth, local

    async def outer():
        return await inner(depth=2)

    asyncio.new_event_loop().run_until_complete(outer())


def bodies():
    class Body:
        attribute = "in a class"
        number = 5
        wait()

    return Body


def executed():
    exec("x = 1\nwait()", globals(), {"y": 2})


def comprehensions():
    kept = "outer"
    found = [(item, wait()) for item in [41] for other in (item,)]
    return kept, found


def recursion(depth):
    if depth:
        return recursion(depth - 1)
    return wait()


def many():
    exec(compile("def call():\n" + "".join(" v%d = %d\n" % (i, i) for i in range(300)) + " wait()\n", "made.py", "exec"), globals())
    globals()["call"]()


def running():
    spin(0, ["spins"])


def spin(count, fixed):
    READY.release()
    while time.monotonic() < END:
        count += 1
    del fixed


THREADS = {"numbers": numbers, "texts": texts, "containers": containers, "others": others,
           "arguments": lambda: arguments(1, "two", 3, 4, third=3.0, key="value"), "closures": lambda: closures([1], "plain"),
           "generators": generators, "coroutines": coroutines, "bodies": bodies, "executed": executed, "comprehensions": comprehensions,
           "recursion": lambda: recursion(400), "many": many, "running": running}


def main():
    for name, target in THREADS.items():
        threading.Thread(target=target, name=name, daemon=True).start()
    for _ in THREADS:
        READY.acquire()
    print("READY", flush=True)
    while time.monotonic() < END:
        time.sleep(0.25)


if __name__ == "__main__":
    main()
