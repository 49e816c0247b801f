"""Keeps busy under names that tests look for: a function, a class, a thread, a task; arguments are ignored.

Its names contain the word planted, and do not occur in Python's library.
"""

import asyncio
import threading
import time

END = time.monotonic() + 120


def planted_spin():
    while time.monotonic() < END:
        sum(i * i for i in range(500))
        time.sleep(0.001)


class PlantedClass:
    def planted_method(self):
        planted_spin()


async def planted_coroutine():
    while time.monotonic() < END:
        sum(i * i for i in range(500))
        await asyncio.sleep(0.001)


async def planted_main():
    await asyncio.create_task(planted_coroutine(), name="planted-task")


threading.Thread(target=PlantedClass().planted_method, name="planted-thread", daemon=True).start()
print("READY", flush=True)
asyncio.run(planted_main())
