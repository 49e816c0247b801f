"""A cluster of two workers and their nanny."""

import sys

from distributed import Client, LocalCluster

import work


def many(_):
    for _ in range(20):
        work.work()


if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster, Client(cluster) as client:
        print("READY", flush=True)
        futures = client.map(many, range(5000))
        client.gather(futures)
    sys.exit(0)
