import json
import time


def totals(rows):
    begun = time.thread_time()
    found = sorted(str(row * 7919 % 65521) for row in rows)  # the answer
    return time.thread_time() - begun, found


def cell(seconds):
    line = 0.0
    begun, used = time.monotonic(), time.process_time()
    while time.monotonic() < begun + seconds:
        line += totals(range(20000))[0]
        list(range(60000))
    return {"seconds": time.monotonic() - begun, "processor": time.process_time() - used, "line": line}


print("READY", flush=True)
print("TRUTH " + json.dumps(cell(SECONDS)), flush=True)  # noqa: F821
