"""Asyncio tasks that wait in known places for known others, and one that computes.

Usage: tasks.py [SECONDS]

The tasks, with their frames, the outermost first, and the task that awaits them. Names in brackets: 3.14 and later only.

    the first task   main, wait, _wait
    reader           read, deep, deep, deep, sleep     [the first task]
    streamer         consume, produce, sleep           [the first task]
    parent           parent                            [the first task]
    child            waits, sleep                      parent
    gatherer         gather                            [the first task]
    two more         waits, sleep; deep, deep, sleep   gatherer
    burner           burn, spin (running)              [the first task]
    group            group, __aexit__                  [the first task]     (3.11 and later)
    member           waits, sleep                      [group]

On the stack of the thread:

Answer:
    <module>:* ...
    <module>:* ... burn:* spin:*
    <module>:* ... main:* ...
"""

import asyncio
import sys
import time

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 1e9


async def deep(depth):
    if depth:
        return await deep(depth - 1)
    await asyncio.sleep(SECONDS)


async def read():
    await deep(2)


async def waits():
    await asyncio.sleep(SECONDS)


async def produce():
    for number in range(1):
        yield number
        await asyncio.sleep(SECONDS)


async def consume():
    async for _ in produce():
        pass


async def parent():
    await asyncio.create_task(waits(), name="child")


async def gather():
    await asyncio.gather(waits(), deep(1))


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


async def burn():
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        spin(0.02)
        await asyncio.sleep(0)


async def group():
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(waits(), name="member")


async def main():
    named = {"reader": read, "streamer": consume, "parent": parent, "gatherer": gather, "burner": burn}
    if sys.version_info >= (3, 11):
        named["group"] = group
    tasks = [asyncio.create_task(function(), name=name) for name, function in named.items()]
    # Every task waits at its final place once burner has yielded twice.
    await asyncio.sleep(0.1)
    print("READY", flush=True)
    await asyncio.wait(tasks)


asyncio.run(main())
