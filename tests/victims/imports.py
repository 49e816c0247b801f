"""Threads that import modules which other threads import.

Usage: imports.py [SECONDS]

"outer" imports the module `first`, which imports `second`; "inner" imports `second` meanwhile, which imports `first`: importlib sees that, so
"inner" goes on with a part of `first`, and sleeps.  "again" imports `first`, too.  "locks" has the lock of all imports, by a call of
imp.acquire_lock() alone, and "other" imports a third module.

Answer:
    <module>:* main:* ...
"""

import _imp
import importlib.machinery
import sys
import threading
import time

END = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")
LONG = 1000000
BEGUN = threading.Event()


def run_first():
    BEGUN.set()
    time.sleep(0.3)
    __import__("second")


def run_second():
    time.sleep(0.6)
    __import__("first")
    time.sleep(LONG)


class Modules:
    """Modules that are functions of this program."""

    bodies = {"first": run_first, "second": run_second, "third": time.sleep}

    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name in self.bodies else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        self.bodies[module.__name__]()


def import_first():
    __import__("first")


def import_second():
    BEGUN.wait()
    __import__("second")


def import_again():
    __import__("first")


def hold_imports():
    _imp.acquire_lock()
    time.sleep(LONG)


def import_other():
    __import__("third")


def start(name, target):
    threading.Thread(target=target, name=name, daemon=True).start()


def main():
    sys.meta_path.insert(0, Modules())
    start("outer", import_first)
    start("inner", import_second)
    BEGUN.wait()
    start("again", import_again)
    time.sleep(1)
    start("locks", hold_imports)
    time.sleep(0.2)
    start("other", import_other)
    time.sleep(0.2)
    print("READY", flush=True)
    while time.monotonic() < END:
        time.sleep(0.25)


if __name__ == "__main__":
    main()
