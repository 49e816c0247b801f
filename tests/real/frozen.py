"""To be frozen: one program, or one folder, with the interpreter and all modules in it."""

import os
import sys

import work


def main():
    print("PYTHON %d" % os.getpid(), flush=True)
    print("READY", flush=True)
    while getattr(sys, "frozen", False):
        work.work()


if __name__ == "__main__":
    main()
