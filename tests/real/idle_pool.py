"""A pool of workers that have had work and have none now: idle_pool.py KIND.  It prints READY, and stays for 30 s."""

import concurrent.futures
import multiprocessing
import multiprocessing.pool
import queue
import sys
import threading
import time

WORKERS = 3
SECONDS = 30


def work(number):
    time.sleep(0.05)
    return number


def futures():
    pool = concurrent.futures.ThreadPoolExecutor(WORKERS)
    list(pool.map(work, range(2 * WORKERS)))
    return pool


def processes():
    pool = concurrent.futures.ProcessPoolExecutor(WORKERS)
    list(pool.map(work, range(2 * WORKERS)))
    return pool


def pool_of_processes():
    pool = multiprocessing.Pool(WORKERS)
    pool.map(work, range(2 * WORKERS))
    return pool


def pool_of_threads():
    pool = multiprocessing.pool.ThreadPool(WORKERS)
    pool.map(work, range(2 * WORKERS))
    return pool


def start(target, *arguments):
    for _ in range(WORKERS):
        threading.Thread(target=target, args=arguments, daemon=True).start()


# Workers as people write them.
def own_queue():
    jobs = queue.Queue()

    def worker():
        while True:
            number = jobs.get()
            work(number)
            jobs.task_done()

    start(worker)
    for number in range(2 * WORKERS):
        jobs.put(number)
    jobs.join()
    return jobs


def own_timeout():
    jobs = queue.Queue()

    def worker():
        while True:
            try:
                work(jobs.get(timeout=0.5))
            except queue.Empty:
                continue

    start(worker)
    return jobs


def own_simple_queue():
    jobs = queue.SimpleQueue()

    def worker():
        while True:
            work(jobs.get())

    start(worker)
    return jobs


class Consumer(threading.Thread):
    def __init__(self, condition, jobs):
        super().__init__(daemon=True)
        self.condition, self.jobs = condition, jobs

    def take(self):
        with self.condition:
            while not self.jobs:
                self.condition.wait()
            return self.jobs.pop()

    def run(self):
        while True:
            work(self.take())


def own_condition():
    condition, jobs = threading.Condition(), []
    for _ in range(WORKERS):
        Consumer(condition, jobs).start()
    return jobs


def waitress():
    import waitress as server  # pylint: disable=import-outside-toplevel,import-error
    threading.Thread(target=server.serve, args=(lambda environ, start_response: [],),
                     kwargs={"host": "127.0.0.1", "port": 0, "threads": WORKERS}, daemon=True).start()


def anyio():
    import anyio as library  # pylint: disable=import-outside-toplevel,import-error
    import anyio.to_thread  # pylint: disable=import-outside-toplevel,import-error

    async def serve():
        async with library.create_task_group() as group:
            for number in range(WORKERS):
                group.start_soon(library.to_thread.run_sync, work, number)
        await library.sleep(SECONDS)

    threading.Thread(target=library.run, args=(serve,), daemon=True).start()


def loky():
    import joblib  # pylint: disable=import-outside-toplevel,import-error
    parallel = joblib.Parallel(WORKERS)
    parallel(joblib.delayed(work)(number) for number in range(2 * WORKERS))
    return parallel


def twisted():
    from twisted.internet import reactor  # pylint: disable=import-outside-toplevel,import-error
    for number in range(2 * WORKERS):
        reactor.callWhenRunning(reactor.callInThread, work, number)
    threading.Thread(target=reactor.run, kwargs={"installSignalHandlers": False}, daemon=True).start()


def dask():
    import distributed  # pylint: disable=import-outside-toplevel,import-error
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None)
    client = distributed.Client(cluster)
    client.gather(client.map(work, range(2 * WORKERS)))
    return client


async def asgi(scope, receive, send):
    """An application for uvicorn."""
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})
    else:
        await receive()


def main():
    made = globals()[sys.argv[1]]()
    time.sleep(1)
    print("READY", flush=True)
    time.sleep(SECONDS)
    del made


if __name__ == "__main__":
    main()
