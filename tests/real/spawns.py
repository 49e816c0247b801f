"""Workers that are spawned for each task: processes that live for a moment come and go."""

import multiprocessing

import work


def once(_):
    for _ in range(40):
        work.work()


if __name__ == "__main__":
    print("READY", flush=True)
    with multiprocessing.get_context("spawn").Pool(2, maxtasksperchild=1) as pool:
        pool.map(once, range(1000), chunksize=1)
