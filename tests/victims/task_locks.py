"""Asyncio tasks that wait for locks and other objects, and for each other; each is named after its wait.

Usage: task_locks.py [MODE [SECONDS]]

`free` (the default) has no deadlock.  In `deadlock` three tasks besides the others wait for each other's locks.  In `timed` they do
too, but one gives up after a time that does not come.  In `cancelled` that is a task outside of the cycle, which awaits one of them.
In `threads` a thread waits for a task that waits for a lock held by a task, which waits for a lock held by the thread.  In `loop` the
thread of the event loop waits for a task of its own.

Answer:
    <module>:* main:* ...
"""

import asyncio
import sys
import threading
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else "free"
END = time.monotonic() + float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")
HUGE = 1000000


class Account:
    def __init__(self):
        self.lock = asyncio.Lock()


async def hold(lock):
    async with lock:
        await asyncio.sleep(HUGE)


async def hold_bare(lock):
    await lock.acquire()
    await asyncio.sleep(HUGE)


async def take_by_with(lock):
    async with lock:
        pass


async def take_by_call(lock):
    await lock.acquire()


async def take_timed(lock):
    await asyncio.wait_for(lock.acquire(), HUGE)


async def take_event(event):
    await event.wait()


async def take_get(queue):
    await queue.get()


async def take_put(queue):
    await queue.put(1)


async def take_join(queue):
    await queue.join()


async def take_condition(condition):
    async with condition:
        await condition.wait()


async def take_task(task):
    await task


async def take_gather(tasks):
    await asyncio.gather(*tasks)


async def take_wait(tasks):
    await asyncio.wait(tasks)


async def take_group():
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(HUGE), name="member")


async def move(first, second, timeout, everyone):
    async with first.lock:
        everyone.append(first)
        while len(everyone) < 3:
            await asyncio.sleep(0.01)
        if timeout:
            await asyncio.wait_for(second.lock.acquire(), timeout)
        async with second.lock:
            pass


async def give_up(account, other, everyone):
    await asyncio.wait_for(move(account, other, None, everyone), HUGE)


async def hold_and_block(lock, block, ready):
    async with lock:
        ready.set()
        await asyncio.sleep(0.2)
        with block:
            pass


async def take_later(lock):
    await asyncio.sleep(0.1)
    async with lock:
        pass


def wait_for_task(block, loop, lock):
    with block:
        asyncio.run_coroutine_threadsafe(take_later(lock), loop).result()


async def never():
    await asyncio.sleep(HUGE)


async def block_loop():
    future = asyncio.run_coroutine_threadsafe(never(), asyncio.get_running_loop())
    await asyncio.sleep(0.1)
    future.result()


def start(coroutine, name):
    task = asyncio.get_running_loop().create_task(coroutine)
    task.set_name(name)
    return task


async def main():
    lock, bare, semaphore = asyncio.Lock(), asyncio.Lock(), asyncio.Semaphore(1)
    full, joined = asyncio.Queue(1), asyncio.Queue()
    full.put_nowait(1)
    joined.put_nowait(1)
    tasks = [start(hold(lock), "holder"), start(hold(semaphore), "semaphore holder"), start(hold_bare(bare), "bare holder")]
    await asyncio.sleep(0)
    tasks += [start(take_by_with(lock), "with lock"), start(take_by_call(lock), "lock.acquire"), start(take_timed(lock), "timed acquire"),
              start(take_by_call(bare), "bare"), start(take_by_with(semaphore), "semaphore"), start(take_event(asyncio.Event()), "event"),
              start(take_get(asyncio.Queue()), "get"), start(take_put(full), "put"), start(take_join(joined), "join"),
              start(take_condition(asyncio.Condition()), "condition"), start(take_task(tasks[0]), "task"),
              start(take_gather(tasks[:2]), "gather"), start(take_wait(tasks[:2]), "wait")]
    if sys.version_info >= (3, 11):
        tasks.append(start(take_group(), "group"))
    if MODE in ("deadlock", "timed", "cancelled"):
        accounts, everyone = [Account() for _ in range(3)], []
        for i in range(3):
            pair = accounts[i], accounts[(i + 1) % 3]
            if MODE == "cancelled" and i == 0:
                tasks.append(start(give_up(*pair, everyone), "mover-0"))
            else:
                tasks.append(start(move(*pair, HUGE if MODE == "timed" and i == 0 else None, everyone), "mover-%d" % i))
    if MODE == "threads":
        inner, block, ready = asyncio.Lock(), threading.Lock(), asyncio.Event()
        tasks.append(start(hold_and_block(inner, block, ready), "blocker"))
        await ready.wait()
        threading.Thread(target=wait_for_task, args=(block, asyncio.get_running_loop(), inner), name="outsider", daemon=True).start()
    await asyncio.sleep(0.05)
    threading.Timer(0.5, print, ["READY"], {"flush": True}).start()
    if MODE == "loop":
        await block_loop()
    while time.monotonic() < END:
        await asyncio.sleep(0.25)


if __name__ == "__main__":
    asyncio.run(main())
