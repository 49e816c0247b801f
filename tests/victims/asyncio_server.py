"""An asyncio server and its three clients in one event loop, over loopback.

Usage: asyncio_server.py [SECONDS]

The event loop's own frames are written as `...`. The tasks are named server and client-0 to client-2 (3.8 and newer).

Answer:
    <module>:* ...
    <module>:* ... serve:* ...
    <module>:* ... serve:* answer:*
    <module>:* ... client:* ...
    <module>:* ... main:* ...
"""

import asyncio
import sys
import time

END = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")


def answer(question):
    for _ in range(40000):
        pass
    return question.upper()


async def serve(reader, writer):
    while True:
        question = await reader.readline()
        if not question:
            break
        writer.write(answer(question))
        await writer.drain()
    writer.close()


async def client(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.monotonic() < END:
        writer.write(b"ping\n")
        await reader.readline()
        await asyncio.sleep(0.001)
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    tasks = [asyncio.get_running_loop().create_task(client(port)) for _ in range(3)]
    for number, task in enumerate(tasks):
        task.set_name("client-%d" % number)
    await asyncio.sleep(0.1)
    print("READY", flush=True)
    await asyncio.gather(*tasks)
    server.close()


asyncio.run(main())
