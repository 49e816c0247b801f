"""Many threads that wait for one event.

Usage: crowd.py [N [SECONDS]]

Answer:
    <module>:* main:* ...
    ... wait:* ...
"""

import sys
import threading
import time

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 20
END = time.monotonic() + float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")


def main():
    threading.stack_size(1 << 16)
    event = threading.Event()
    for _ in range(COUNT):
        threading.Thread(target=event.wait, daemon=True).start()
    print("READY", flush=True)
    while time.monotonic() < END:
        time.sleep(0.25)


if __name__ == "__main__":
    main()
