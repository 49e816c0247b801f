"""Work in contexts, with known shares of time: 70 % for one request, 30 % for another.

Usage: contexts.py threads|tasks|fast|instants|waits [SECONDS]

    threads   a thread sets the variable before each request, and OpenTelemetry's variable to a span
    tasks     each request is a task of asyncio, which has a context of its own
    fast      a thread sets the variable all the time, to values of every kind
    instants  a thread handles requests of 50 to 100 microseconds
    waits     a thread handles requests that wait, in the same place, and in their context

A request is handled by a function of its own: handle_seventy or handle_thirty.  The variable is request_id; the values are "seventy" and "thirty". The spans are those of SPANS, in a context such as
OpenTelemetry's. Forty other variables have values too.
"""

import asyncio
import contextvars
import os
import sys
import threading
import time
import uuid

END = time.monotonic() + float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")
# As long as on a machine that is not slow, in readings.
SLOWNESS = float(os.environ.get("PYROMETER_SLOWNESS", "1"))
SHARES = {"seventy": 0.007 * SLOWNESS, "thirty": 0.003 * SLOWNESS}
SPANS = {"seventy": (0x4bf92f3577b34da6a3ce929d0e0e4736, 0x00f067aa0ba902b7), "thirty": (0x1, 0xffffffffffffffff)}
KEY = "current-span-" + str(uuid.uuid4())

request_id = contextvars.ContextVar("request_id")
current_context = contextvars.ContextVar("current_context")
others = [contextvars.ContextVar("other_%d" % i) for i in range(40)]


class Context(dict):
    pass


class SpanContext(tuple):
    pass


class Span:
    def __init__(self, ids):
        self.name = "a span"
        self.attributes = {}
        self._context = SpanContext(ids + (False, 1, (), True))


class Text(str):
    pass


class Request:
    pass


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(50):
            pass


def handle_seventy():
    work(SHARES["seventy"])


def handle_thirty():
    work(SHARES["thirty"])


HANDLERS = {"seventy": handle_seventy, "thirty": handle_thirty}


def begin(name):
    request_id.set(name)
    current_context.set(Context({KEY: Span(SPANS[name]), "baggage": {}}))


def serve():
    for variable in others:
        variable.set(variable.name)
    while time.monotonic() < END:
        for name in SHARES:
            begin(name)
            HANDLERS[name]()


async def handle(name):
    begin(name)
    HANDLERS[name]()
    await asyncio.sleep(0)


async def serve_tasks():
    while time.monotonic() < END:
        await asyncio.gather(*[asyncio.ensure_future(handle(name)) for name in SHARES])


def be_fast():
    values = ["<context request_id: lie>", "a\nb;c 7", "", "x" * 100000, b"\xff\x00", -1, 2 ** 200, None, True, Text("t"), Request(), 1.5,
              "\u4e00\U0001f600", Ellipsis, [1], {}]
    while time.monotonic() < END:
        for value in values:
            request_id.set(value)
            contextvars.copy_context().run(request_id.set, "inner")


def switch():
    """Each function runs in a context of its own, in which the variable has its name."""
    contexts = {}
    for name in SHARES:
        contexts[name] = contextvars.copy_context()
        contexts[name].run(request_id.set, name)
    while time.monotonic() < END:
        for name in SHARES:
            contexts[name].run(BRIEF[name])


def spin():
    for _ in range(1500):
        pass


def wait():
    time.sleep(0.03)


# The handlers' names say which request runs.
def brief(name, body):
    space = {"body": body}
    exec(compile("def handle_%s():\n    body()\n" % name, __file__, "exec"), space)
    return space["handle_" + name]


BRIEF = {name: brief(name, spin) for name in SHARES}
WAITING = {name: brief(name, wait) for name in SHARES}


def serve_waiting():
    """Two threads that wait in one place, each in its context."""
    def run(name):
        request_id.set(name)
        while time.monotonic() < END:
            WAITING[name]()
    for name in SHARES:
        threading.Thread(target=run, args=(name,), daemon=True).start()
    while time.monotonic() < END:
        time.sleep(1)


MODES = {"threads": serve, "fast": be_fast, "instants": switch, "waits": serve_waiting}


def main():
    mode = sys.argv[1]
    if mode == "tasks":
        print("READY", flush=True)
        asyncio.new_event_loop().run_until_complete(serve_tasks())
        return
    thread = threading.Thread(target=MODES[mode], name="server", daemon=True)
    thread.start()
    print("READY", flush=True)
    thread.join()


main()
