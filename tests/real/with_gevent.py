"""Greenlets that take turns: each stack begins where its greenlet does."""

from gevent import monkey

monkey.patch_all()

import gevent  # noqa: E402

import work  # noqa: E402


def worker():
    while True:
        work.work()
        gevent.sleep(0.001)


print("READY", flush=True)
gevent.joinall([gevent.spawn(worker) for _ in range(5)])
