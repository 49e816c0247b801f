"""A real OpenTelemetry Collector that writes the profiles it takes to a file, and a reader of that file.

scripts/get-consumers builds the Collector from tests/formats/collector.
"""

import collections
import contextlib
import gzip
import json
import os
import socket
import subprocess
import time

from protobuf import message, packed

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(os.environ.get("PYROMETER_CONSUMERS", os.path.join(ROOT, ".consumers")), "collector")
MISSING = "skipped: the OpenTelemetry Collector is missing (scripts/get-consumers builds it)"
WAIT_SECONDS = 60
CONFIGURATION = """
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:%d
exporters:
  file:
    path: %s
    flush_interval: 100ms
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    profiles:
      receivers: [otlp]
      exporters: [file]
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(taken):
    """Runs a Collector that writes to the file `taken`: its process and its port. It has written all once it has ended."""
    port = free_port()
    configuration = taken + ".yaml"
    with open(configuration, "w", encoding="utf-8") as file:
        file.write(CONFIGURATION % (port, taken))
    with subprocess.Popen([PROGRAM, "--feature-gates=service.profilesSupport", "--config", configuration],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for_port(port, process)
            yield process, port
        finally:
            process.terminate()


def wait_for_port(port, process):
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the Collector does not listen")


def value_of(value, strings):
    (kind, content), = value.items()
    return strings[int(content)] if kind == "stringValueStrindex" else str(content)


Taken = collections.namedtuple("Taken", "kind attributes began_ns duration_ns sums")


def profiles(path):
    """Each profile in the file: its type, the attributes of its resource, its time, and nanoseconds by stack, innermost first."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            document = json.loads(line)
            tables = document["dictionary"]
            strings = tables["stringTable"]
            names = [strings[tables["functionTable"][location["lines"][0]["functionIndex"]]["nameStrindex"]]
                     if location.get("lines") else "" for location in tables["locationTable"]]
            stacks = [tuple(names[at] for at in stack.get("locationIndices", ())) for stack in tables["stackTable"]]
            for resource in document["resourceProfiles"]:
                attributes = {pair.get("key") or strings[pair["keyStrindex"]]: value_of(pair["value"], strings)
                              for pair in resource["resource"]["attributes"]}
                for profile in (profile for scope in resource["scopeProfiles"] for profile in scope["profiles"]):
                    sums = collections.Counter()
                    for sample in profile["samples"]:
                        sums[stacks[sample.get("stackIndex", 0)]] += sum(int(value) for value in sample["values"])
                    yield Taken(strings[profile["sampleType"]["typeStrindex"]], attributes, int(profile["timeUnixNano"]),
                                int(profile["durationNano"]), sums)


def by_type_and(attribute, path):
    """{(type, attribute): {stack: nanoseconds}} of all profiles in the file."""
    sums = collections.defaultdict(collections.Counter)
    for profile in profiles(path):
        sums[profile.kind, profile.attributes[attribute]] += profile.sums
    return sums


def of_pprof(path):
    """{(type, PID): {stack: nanoseconds}} of a pprof file that `replay` or `record` wrote."""
    with gzip.open(path) as file:
        profile = message(file.read())
    strings = [item.decode() for item in profile[6]]
    names = {function[1][0]: strings[function[2][0]] for function in map(message, profile[5])}
    places = {location[1][0]: names[message(location[4][0])[1][0]] for location in map(message, profile[4])}
    sums = collections.defaultdict(collections.Counter)
    for sample in map(message, profile[2]):
        labels = {strings[label[1][0]]: label for label in map(message, sample[3])}
        stack = tuple(places[at] for at in packed(sample[1][0]))
        for kind, value in zip(("wall", "cpu"), packed(sample[2][0])[1:]):
            if value:
                sums[kind, str(labels["process_id"][3][0])][stack] += value
    return sums
