"""An asyncio client: asks a slow server for pages, and parses each; it waits for most of the time.

Usage: asyncio_client.py SECONDS
"""

import asyncio
import sys
import time

END = time.monotonic() + float(sys.argv[1])


async def serve(reader, writer):
    while await reader.readline():
        await asyncio.sleep(0.2)
        writer.write(b"3,1,2;" * 20 + b"\n")
        await writer.drain()


def parse(page):
    return [sorted(int(part) for part in row.split(b",")) for row in page.strip().split(b";") * 500 if row]  # the answer


async def client(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.monotonic() < END:
        writer.write(b"next\n")
        parse(await reader.readline())
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print("READY", flush=True)
    await client(server.sockets[0].getsockname()[1])


asyncio.run(main())
