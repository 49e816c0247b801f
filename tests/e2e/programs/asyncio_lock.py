"""A server of asyncio whose handlers share one lock; clients in the same loop.

Usage: asyncio_lock.py SECONDS

At its end it prints what its own clock says: the share of the handlers' time that they wait for the lock.
"""

import asyncio
import json
import sys
import time

HOLD_SECONDS = 0.02
CLIENTS = 8
SPENT = {"all": 0.0, "lock": 0.0}


async def handle(lock, reader, writer):
    while await reader.readline():
        begun = time.monotonic()
        await lock.acquire()  # the answer
        SPENT["lock"] += time.monotonic() - begun
        try:
            await asyncio.sleep(HOLD_SECONDS)
        finally:
            lock.release()
        SPENT["all"] += time.monotonic() - begun
        writer.write(b"done\n")
        await writer.drain()
    writer.close()


async def ask(port, end):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.monotonic() < end:
        writer.write(b"work\n")
        await reader.readline()
    writer.close()


async def main():
    lock = asyncio.Lock()
    server = await asyncio.start_server(lambda reader, writer: handle(lock, reader, writer), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print("READY", flush=True)
    end = time.monotonic() + float(sys.argv[1])
    await asyncio.gather(*(ask(port, end) for _ in range(CLIENTS)))
    print("TRUTH " + json.dumps({"part": "idle", "share": SPENT["lock"] / (SPENT["all"] or 1)}), flush=True)


asyncio.run(main())
