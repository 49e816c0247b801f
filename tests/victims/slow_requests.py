"""Requests, each with a value of the ContextVar request_id; one in twenty takes 160 ms, mostly in fetch, which waits.

Usage: slow_requests.py threads|tasks|greenlets|processes FILE [REQUESTS]

    threads    four threads
    tasks      asyncio, two tasks at a time; fetch_later awaits
    greenlets  a greenlet for each request, which switches to the hub and back
    processes  a pool of three processes

The others take about 8 ms.  When all requests (400) are done, and a second after that, the program ends.  FILE gets a line for each: its value, and how
many seconds it took.  Exits with 77 if greenlet cannot be imported.
"""

import asyncio
import concurrent.futures
import contextvars
import multiprocessing
import os
import sys
import threading
import time

QUICK_S, SLOW_S, ONE_IN = 0.008, 0.15, 20

request_id = contextvars.ContextVar("request_id")


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(50):
            pass


def is_slow(number):
    return number % ONE_IN == ONE_IN // 2


def fetch():
    time.sleep(SLOW_S)


def render():
    time.sleep(QUICK_S / 2)


def note(value, begin):
    with open(sys.argv[2], "a") as out:
        out.write("%s %.6f\n" % (value, time.monotonic() - begin))


def handle(number):
    value = "%d-%d" % (os.getpid(), number)
    begin = time.monotonic()
    token = request_id.set(value)
    work(QUICK_S / 4)
    if is_slow(number):
        fetch()
    render()
    request_id.reset(token)
    note(value, begin)


def handle_all(numbers):
    """In a thread; the next request begins after a pause without one."""
    request_id.set("warm")
    time.sleep(0.6)
    while True:
        with lock:
            number = next(numbers, None)
        if number is None:
            return
        contextvars.copy_context().run(handle, number)
        time.sleep(0.002)


lock = threading.Lock()


def serve_threads(count):
    numbers = iter(range(count))
    threads = [threading.Thread(target=handle_all, args=(numbers,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


async def fetch_later():
    await asyncio.sleep(SLOW_S)


async def render_later():
    await asyncio.sleep(QUICK_S / 2)


async def handle_task(number):
    value = "%d-%d" % (os.getpid(), number)
    begin = time.monotonic()
    request_id.set(value)
    work(QUICK_S / 8)
    if is_slow(number):
        await fetch_later()
    await render_later()
    work(QUICK_S / 8)
    note(value, begin)


async def handle_tasks(numbers):
    for number in numbers:
        await asyncio.ensure_future(handle_task(number))
        await asyncio.sleep(0.002)


async def serve_tasks(count):
    async def warm():
        request_id.set("warm")
        await asyncio.sleep(0.3)
        work(0.3)
    await asyncio.ensure_future(warm())
    numbers = iter(range(count))
    await asyncio.gather(*[handle_tasks(numbers) for _ in range(2)])


def serve_greenlets(count):
    try:
        import greenlet
    except ImportError:
        print("skipped: greenlet is not here")
        sys.exit(77)
    hub = greenlet.getcurrent()

    def run(number):
        value = "%d-%d" % (os.getpid(), number)
        begin = time.monotonic()
        request_id.set(value)
        work(QUICK_S / 4)
        hub.switch()
        if is_slow(number):
            fetch()
        hub.switch()
        render()
        note(value, begin)

    request_id.set("warm")
    work(0.6)
    for number in range(count):
        one = greenlet.greenlet(run)
        one.gr_context = contextvars.copy_context()
        one.switch(number)
        while not one.dead:
            one.switch()
        time.sleep(0.002)


def warm_process():
    request_id.set("warm")
    end = time.monotonic() + 0.6
    while time.monotonic() < end:
        work(0.01)
        time.sleep(0.01)


def handle_in_context(number):
    contextvars.copy_context().run(handle, number)
    time.sleep(0.002)


def serve_processes(count):
    with concurrent.futures.ProcessPoolExecutor(3, multiprocessing.get_context("fork"), warm_process) as pool:
        for done in [pool.submit(handle_in_context, number) for number in range(count)]:
            done.result()


def main():
    mode, count = sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 400
    if mode == "tasks":
        asyncio.new_event_loop().run_until_complete(serve_tasks(count))
    else:
        {"threads": serve_threads, "greenlets": serve_greenlets, "processes": serve_processes}[mode](count)
    time.sleep(1)


if __name__ == "__main__":
    main()
