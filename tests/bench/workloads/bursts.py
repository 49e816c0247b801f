"""A neighbour that wants the processor in bursts of up to 200 ms, with pauses as long.

Usage: bursts.py SECONDS
"""

import random
import sys
import time

end = time.monotonic() + float(sys.argv[1])
rng = random.Random()
print("READY", flush=True)
while time.monotonic() < end:
    time.sleep(rng.uniform(0, 0.2))
    stop = time.monotonic() + rng.uniform(0, 0.2)
    while time.monotonic() < stop:
        pass
