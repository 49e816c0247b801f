"""A pool of processes of each kind that this version starts."""

import multiprocessing

import work


def many(_):
    for _ in range(50):
        work.work()


if __name__ == "__main__":
    pools = [multiprocessing.get_context(kind).Pool(2) for kind in ("fork", "spawn", "forkserver")]
    print("READY", flush=True)
    for pool in pools:
        pool.map_async(many, range(1000))
    pools[0].close()
    pools[0].join()
