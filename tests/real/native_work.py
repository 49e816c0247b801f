"""Work of programs whose time is native: `native_work.py NAME` says READY and works until it is killed."""

import json
import os
import signal
import sys

MOST_SECONDS = 600


def mypy():
    from mypy import api
    return lambda: api.run(["--no-incremental", "--cache-dir", os.devnull, "--ignore-missing-imports", "-p", "click"])


def black():
    import argparse
    import black as formatter
    with open(argparse.__file__, encoding="utf-8") as file:
        text = file.read()
    return lambda: formatter.format_str(text, mode=formatter.Mode(line_length=60))


def sklearn():
    import numpy
    import pandas
    from sklearn.ensemble import RandomForestClassifier
    random = numpy.random.default_rng(1)
    rows, classes = random.random((4000, 40)), random.integers(0, 3, 4000)
    table = pandas.DataFrame(rows).assign(kind=classes)

    def work():
        RandomForestClassifier(n_estimators=10).fit(rows, classes)
        numpy.linalg.svd(rows[:800])
        table.sort_values(3).groupby("kind").agg(["mean", "std", "median"])
    return work


def polars():
    import orjson
    import polars as frames
    import pydantic
    from lxml import etree

    class Item(pydantic.BaseModel):
        number: int
        names: list[str]
    items = [{"number": str(i), "names": ["a%d" % i, "b"]} for i in range(4000)]
    tree = "<r>%s</r>" % "".join("<i n='%d'><t>x%d</t></i>" % (i, i) for i in range(4000))
    table = frames.DataFrame({"key": [i * 7919 % 1000 for i in range(200000)], "value": [float(i) for i in range(200000)]})

    def work():
        table.lazy().filter(frames.col("value") > 10).group_by("key").agg(
            mean=frames.col("value").mean(), deviation=frames.col("value").std()).sort("key").collect()
        data = orjson.dumps([item.model_dump() for item in pydantic.TypeAdapter(list[Item]).validate_python(items)])
        orjson.loads(data)
        etree.fromstring(tree).xpath("//i[@n mod 7 = 3]/t/text()")
    return work


def cython():
    import native_cython
    return lambda: native_cython.simulate(300, 400)


def sqlite():
    import re
    import sqlite3
    base = sqlite3.connect(":memory:")
    base.execute("create table t (a integer, b text)")
    base.executemany("insert into t values (?, ?)", [(i * 7919 % 5003, "row number %d" % i) for i in range(30000)])
    text = json.dumps([{"name": "n%d" % i, "mail": "u%d@example.org" % i} for i in range(4000)])

    def work():
        base.execute("select a, count(*) from t where b like '%7%' group by a order by b desc").fetchall()
        re.findall(r"(\w+)@(?:\w+\.)+org", text)
        re.sub(r"n(\d+)", lambda match: match.group(1)[::-1], text)
    return work


def gevent():
    import hashlib
    import gevent as greenlets
    block = b"x" * 20000

    def worker():
        for _ in range(40):
            hashlib.sha256(block).hexdigest()
            sorted(range(2000), key=str)
            greenlets.sleep(0)
    return lambda: greenlets.joinall([greenlets.spawn(worker) for _ in range(5)])


def torch():
    import torch as tensors
    layers = tensors.nn.Sequential(tensors.nn.Conv2d(3, 16, 3), tensors.nn.ReLU(), tensors.nn.Flatten(), tensors.nn.Linear(14400, 50))
    images = tensors.rand(16, 3, 32, 32)
    return lambda: layers(images).sum().backward()


if __name__ == "__main__":
    # It ends if nobody ends it, and has no thread for that, which would be in the profile.
    signal.alarm(MOST_SECONDS)
    one_round = globals()[sys.argv[1]]()
    # Libraries that are loaded late are loaded now.
    one_round()
    print("READY", flush=True)
    while True:
        one_round()
