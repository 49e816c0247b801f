#!/usr/bin/env python3
"""What a real OpenTelemetry Collector takes of a pushed capture: the same time by stack as in the capture.

Usage: collector.py WRITE_FORMATS

scripts/get-consumers builds the Collector from collector/. Exit code: 0 the same, 1 not, 77 skipped.
"""

import collections
import gzip
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "system"), os.path.join(ROOT, "tests", "support")]
from protobuf import message, packed  # pylint: disable=wrong-import-position
from receivers import text  # pylint: disable=wrong-import-position

SKIPPED = 77
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


def wait_for_port(port, process):
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the Collector does not listen")


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT_SECONDS, check=False)
    if done.returncode != 0:
        raise AssertionError("%s: %s" % (" ".join(command), done.stderr.decode()))
    return done.stdout.decode()


def of_collector(path):
    """{(type, PID): {stack: nanoseconds}} of the file that the Collector wrote."""
    sums = collections.defaultdict(collections.Counter)
    with open(path, encoding="utf-8") as file:
        for line in file:
            document = json.loads(line)
            tables = document["dictionary"]
            strings = tables["stringTable"]

            def names_of(stack):
                for at in tables["stackTable"][stack].get("locationIndices", ()):
                    place = tables["locationTable"][at]["lines"][0]
                    yield strings[tables["functionTable"][place["functionIndex"]]["nameStrindex"]]

            for resource in document["resourceProfiles"]:
                attributes = {pair.get("key") or strings[pair["keyStrindex"]]: pair["value"] for pair in resource["resource"]["attributes"]}
                pid = int(attributes["process.pid"]["intValue"])
                for profile in (profile for scope in resource["scopeProfiles"] for profile in scope["profiles"]):
                    kind = strings[profile["sampleType"]["typeStrindex"]]
                    for sample in profile["samples"]:
                        stack = tuple(names_of(sample.get("stackIndex", 0)))
                        sums[kind, pid][stack] += sum(int(value) for value in sample["values"])
    return sums


def of_capture(path):
    """The same of a pprof file of the capture."""
    with gzip.open(path) as file:
        profile = message(file.read())
    strings = [text(item) for item in profile[6]]
    names = {function[1][0]: strings[function[2][0]] for function in map(message, profile[5])}
    places = {location[1][0]: names[message(location[4][0])[1][0]] for location in map(message, profile[4])}
    sums = collections.defaultdict(collections.Counter)
    for sample in map(message, profile[2]):
        labels = {strings[label[1][0]]: label for label in map(message, sample[3])}
        stack = tuple(places[at] for at in packed(sample[1][0]))
        for kind, value in zip(("wall", "cpu"), packed(sample[2][0])[1:]):
            if value:
                sums[kind, labels["process_id"][3][0]][stack] += value
    return sums


def main():
    collector = os.path.join(os.environ.get("PYROMETER_CONSUMERS", os.path.join(ROOT, ".consumers")), "collector")
    program = os.environ.get("PYROMETER", os.path.join(ROOT, "build", "debug", "pyrometer"))
    if len(sys.argv) != 2:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    if not os.path.exists(collector):
        print("skipped: the OpenTelemetry Collector is missing (scripts/get-consumers builds it)")
        return SKIPPED
    if "without libcurl" in run(program, "--version"):
        print("skipped: the program was built without libcurl")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="pyrometer-collector-") as folder:
        run(sys.argv[1], folder)
        for name in ("now", "native"):
            port, taken = free_port(), os.path.join(folder, name + ".taken.json")
            configuration, capture = os.path.join(folder, "configuration.yaml"), os.path.join(folder, name + ".pyro")
            with open(configuration, "w", encoding="utf-8") as file:
                file.write(CONFIGURATION % (port, taken))
            with subprocess.Popen([collector, "--feature-gates=service.profilesSupport", "--config", configuration],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                try:
                    wait_for_port(port, process)
                    run(program, "push", capture, "otlp://127.0.0.1:%d" % port, "--push-window", "2s")
                finally:
                    process.terminate()
            run(program, "replay", capture, "--pprof=" + os.path.join(folder, name + ".pb.gz"))
            found, wanted = of_collector(taken), of_capture(os.path.join(folder, name + ".pb.gz"))
            assert wanted and found == wanted, "%s: the Collector has %r, the capture %r" % (name, found, wanted)
            print("%s: %d profiles, %d stacks" % (name, len(found), sum(len(stacks) for stacks in found.values())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
