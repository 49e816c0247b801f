"""Publishes spans of OpenTelemetry as tracers with native code do, with known shares of time: 70 % one span, 30 % another.

Usage: thread_contexts.py LIBRARY|program attach|rewrite|mixed [now|late] [SECONDS]

    attach    each request publishes another record
    rewrite   each request changes the published record
    mixed     "seventy" publishes its span; "thirty" takes it back, so only OpenTelemetry's variable has its span

    program   the program itself has what the library has

    late      the library is loaded at SIGUSR1; until then only OpenTelemetry's variable has spans

A request is handled by a function of its own: handle_seventy or handle_thirty. What it publishes is SPANS; with mixed or late
OpenTelemetry's variable is set too, to OTHERS. Eight threads that do nothing have no span.
"""

import contextvars
import ctypes
import itertools
import signal
import sys
import threading
import time

LIBRARY, MODE = sys.argv[1:3]
IS_LATE = sys.argv[3:4] == ["late"]
END = time.monotonic() + float(sys.argv[4]) if len(sys.argv) > 4 else float("inf")
SHARES = {"seventy": 0.007, "thirty": 0.003}
SPANS = {"seventy": ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"), "thirty": ("0" * 31 + "1", "f" * 16)}
OTHERS = {"seventy": (7, 70), "thirty": (3, 30)}

current_context = contextvars.ContextVar("current_context")
is_wanted, is_ready = threading.Event(), threading.Event()


class Span:
    def __init__(self, ids):
        self._context = tuple(ids)


def load():
    library = ctypes.PyDLL(None if LIBRARY == "program" else LIBRARY)
    if MODE == "broken":
        # The thread's own one.
        variable = ctypes.c_uint64.in_dll(library, "otel_thread_ctx_v1")
        addresses = itertools.cycle((1, 8, 4096, 2 ** 64 - 1, 2 ** 63, 2 ** 47 - 16, id(library) + 1, ctypes.addressof(variable)))

        def break_it(_):
            variable.value = next(addresses)
        return break_it
    function = library.thread_context_rewrite if MODE == "rewrite" else library.thread_context_attach
    function.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    ids = {name: [bytes.fromhex(number) for number in span] for name, span in SPANS.items()}

    def publish(name):
        if MODE == "mixed" and name == "thirty":
            library.thread_context_detach()
        else:
            function(*ids[name])
    return publish


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


def serve():
    publish = None
    while time.monotonic() < END:
        for name in SHARES:
            if publish is None and is_wanted.is_set():
                publish = load()
            if MODE in ("mixed", "broken") or IS_LATE:
                current_context.set({"current-span-1": Span(OTHERS[name])})
            if publish is not None:
                publish(name)
            is_ready.set()
            HANDLERS[name]()


def main():
    if IS_LATE:
        signal.signal(signal.SIGUSR1, lambda *_: is_wanted.set())
    else:
        is_wanted.set()
    for _ in range(4):
        threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()
    thread = threading.Thread(target=serve, name="server", daemon=True)
    thread.start()
    is_ready.wait()
    print("READY", flush=True)
    while thread.is_alive():
        thread.join(0.1)


main()
