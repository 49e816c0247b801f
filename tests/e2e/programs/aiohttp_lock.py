"""A server of aiohttp whose handlers share one lock.  Clients in another process.

Usage: aiohttp_lock.py SECONDS
"""

import asyncio
import json
import os
import subprocess
import sys
import time

from aiohttp import web

HOLD_SECONDS = 0.02
CLIENTS = 8
CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "client.py")
SPENT = {"line": 0.0, "all": 0.0}
LOCK = asyncio.Lock()


async def handle(_):
    begun = time.monotonic()
    await LOCK.acquire()  # the answer
    SPENT["line"] += time.monotonic() - begun
    try:
        await asyncio.sleep(HOLD_SECONDS)
    finally:
        LOCK.release()
    SPENT["all"] += time.monotonic() - begun
    return web.Response(text="done")


async def main():
    seconds = float(sys.argv[1])
    app = web.Application()
    app.add_routes([web.get("/", handle)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    client = subprocess.Popen([sys.executable, CLIENT, str(runner.addresses[0][1]), str(seconds + 1), str(CLIENTS)])
    while not SPENT["all"]:
        await asyncio.sleep(0.1)
    SPENT.update(line=0.0, all=0.0)
    begun, used = time.monotonic(), time.process_time()
    print("READY", flush=True)
    await asyncio.sleep(seconds)
    truth = {"seconds": time.monotonic() - begun, "processor": time.process_time() - used, **SPENT}
    client.kill()
    print("TRUTH " + json.dumps(truth), flush=True)
    # Work at the end of the program is no part of the truth.
    os._exit(0)


asyncio.run(main())
