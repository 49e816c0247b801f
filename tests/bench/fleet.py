#!/usr/bin/env python3
"""Does all of a fleet's profiles arrive, and what does that cost? Against a real OpenTelemetry Collector on loopback.

Usage: fleet.py services [--program FILE] [--engine NAME] [--rate HZ] [--seconds N | --minutes N]
       fleet.py hosts [--program FILE] [--engine NAME] [--rate HZ] [--seconds N] [--hosts N] [--connections N]

services  Records three services at the same time, each into a capture, and pushes them (`record -o FILE --push`). Then the file that the
          Collector wrote must hold the same time of each stack, by service and type, as the captures.
hosts     Takes one batch as a host with eight Python processes pushes it, and what pushing costs that host. Gives it the names
          of many hosts, and sends these batches to the Collector: all of them once, which must arrive; as fast as it
          takes them; and at the pace of so many hosts.

scripts/get-consumers builds the Collector. Exit code: 0 all arrived, 1 not, 2 wrong usage, 77 the Collector is missing.
"""

import argparse
import collections
import contextlib
import gzip
import http.client
import itertools
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from processes import ROOT, peak_memory, tied

sys.path[:0] = [os.path.join(ROOT, "tests", "system"), os.path.join(ROOT, "tests", "support")]
import otel_collector  # noqa: E402, pylint: disable=wrong-import-position
from protobuf import message  # noqa: E402, pylint: disable=wrong-import-position
from receivers import PATHS, TYPES, Receiver, read_otlp  # noqa: E402, pylint: disable=wrong-import-position

VICTIMS = os.path.join(ROOT, "tests", "victims")
SERVICES = {"checkout": ("threads.py", "6"), "search": ("recursion.py", "200"), "mail": ("asyncio_server.py",)}
PROCESSES_OF_HOST = ("checkout", "checkout", "checkout", "search", "search", "mail", "mail", "mail")
BATCH_SECONDS = 15
SKIPPED = 77


class Service:
    """A program that runs and has said READY, with a name of its own for OpenTelemetry."""

    def __init__(self, name, seconds):
        self.name = name
        file, *arguments = SERVICES[name]
        command = [sys.executable, "-u", os.path.join(VICTIMS, file), *arguments, "%g" % seconds]
        self.popen = subprocess.Popen(tied(command), stdout=subprocess.PIPE, env=dict(os.environ, OTEL_SERVICE_NAME=name))
        self.pid = self.popen.pid

    def __enter__(self):
        assert self.popen.stdout.readline().startswith(b"READY"), self.name
        return self

    def __exit__(self, *_):
        self.popen.kill()
        self.popen.wait()
        self.popen.stdout.close()


def started(names, seconds, stack):
    return [stack.enter_context(Service(name, seconds)) for name in names]


def record(options, *arguments):
    command = [options.program, "record", "--engine", options.engine, "-r", "%g" % options.rate, "-d", "%g" % options.seconds]
    return subprocess.Popen(tied(command + [str(word) for word in arguments]), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def end(process, options):
    _, errors = process.communicate(timeout=options.seconds + 60)
    if process.returncode != 0:
        raise RuntimeError("record: %s" % errors.decode())


def table(head, rows):
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        print("  ".join(cell.ljust(width) if not i else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))))


def services(options):
    batch = min(BATCH_SECONDS, max(1, options.seconds // 5))
    with tempfile.TemporaryDirectory(prefix="pyrometer-fleet-") as folder, contextlib.ExitStack() as stack:
        taken = os.path.join(folder, "taken.json")
        running = started(SERVICES, options.seconds + 60, stack)
        with otel_collector.running(taken) as (_, port):
            recordings = [record(options, service.pid, "-o", os.path.join(folder, service.name + ".pyro"), "--push",
                                 "otlp://127.0.0.1:%d" % port, "--push-batch", "%gs" % batch) for service in running]
            for recording in recordings:
                end(recording, options)
        found, batches = otel_collector.by_type_and("service.name", taken), collections.Counter()
        for profile in otel_collector.profiles(taken):
            batches[profile.kind, profile.attributes["service.name"]] += 1
        rows, differing = [], 0
        for service in running:
            pprof = os.path.join(folder, service.name + ".pb.gz")
            subprocess.run([options.program, "replay", os.path.join(folder, service.name + ".pyro"), "--idle", "--pprof=" + pprof], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wanted = otel_collector.of_pprof(pprof)
            for kind in "wall", "cpu":
                here, there = wanted[kind, str(service.pid)], found.pop((kind, service.name), collections.Counter())
                count = sum(here[stack] != there[stack] for stack in {*here, *there})
                differing += count + (not here)
                rows.append([service.name, kind, str(batches[kind, service.name]), "%d" % len(here), "%.6f" % (sum(here.values()) / 1e9),
                             "%.6f" % (sum(there.values()) / 1e9), "%d" % count])
        table(["service", "type", "batches", "stacks", "recorded s", "arrived s", "stacks that differ"], rows)
        if found:
            print("of no service: %s" % sorted(found))
        return 1 if differing or found else 0


def field(number, data):
    length, at = bytearray(), len(data)
    while at > 0x7F:
        length.append(at & 0x7F | 0x80)
        at >>= 7
    return bytes([number << 3 | 2]) + bytes(length) + bytes([at]) + data


def renamed(body, names):
    """The request of another host: other values of these attributes, other profile ids."""
    request = message(gzip.decompress(body))
    resources = []
    for resource_profiles in map(message, request[1]):
        attributes = [message(pair) for pair in message(resource_profiles[1][0])[1]]
        pairs = b"".join(field(1, field(1, pair[1][0]) + field(2, field(1, names[pair[1][0]](message(pair[2][0])[1][0]))
                                                              if pair[1][0] in names else pair[2][0])) for pair in attributes)
        scopes = b"".join(field(2, scope) for scope in resource_profiles[2])
        for profile in (message(data) for scope in resource_profiles[2] for data in message(scope)[2]):
            scopes = scopes.replace(profile[7][0], secrets.token_bytes(16))
        resources.append(field(1, field(1, pairs) + scopes))
    return gzip.compress(b"".join(resources) + field(2, request[2][0]), 6)


def batch_of_host(options):
    """A full batch as it is sent, how many there were, and the CPU seconds of the host: of pushing, and of all."""
    threads = {}
    with contextlib.ExitStack() as stack:
        receiver = stack.enter_context(Receiver("otlp"))
        pids = [service.pid for service in started(PROCESSES_OF_HOST, options.seconds + 60, stack)]
        recording = record(options, *pids, "--push", receiver.url)
        niceness = os.getpriority(os.PRIO_PROCESS, recording.pid)
        while recording.poll() is None:
            note_threads(recording.pid, niceness, threads)
            time.sleep(0.1)
        end(recording, options)
        bodies = [request[3] for request in receiver.requests]
    full = [body for body in bodies if read_otlp(body)[0].duration_ns > 0.99e9 * BATCH_SECONDS]
    assert full, "--seconds must leave room for a batch of %d s that is not the first" % BATCH_SECONDS
    push_s = sum(cpu for is_push, cpu in threads.values() if is_push)
    return max(full, key=len), len(bodies), push_s, sum(cpu for _, cpu in threads.values())


def note_threads(pid, niceness, threads):
    """Notes of each thread whether it pushes, and its CPU seconds so far. Those that encode and send are nicer than the others."""
    with contextlib.suppress(OSError):
        for task in os.listdir("/proc/%d/task" % pid):
            with contextlib.suppress(OSError), open("/proc/%d/task/%s/schedstat" % (pid, task), encoding="ascii") as schedstat:
                threads[task] = os.getpriority(os.PRIO_PROCESS, int(task)) > niceness, int(schedstat.read().split()[0]) / 1e9


class Load:
    """Sends bodies over some connections that are kept, each in its turn."""

    def __init__(self, port, bodies, connections):
        self.port, self.connections = port, connections
        self.next_body = itertools.cycle(bodies).__next__
        self.lock = threading.Lock()
        self.latencies, self.refused = [], 0

    def send(self, count, until, per_second=None):
        """count: of requests, at most; per_second None: as fast as they are taken."""
        began = time.monotonic()
        numbers = iter(range(count))

        def work():
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            while True:
                with self.lock:
                    number, body = next(numbers, None), self.next_body()
                if number is None or time.monotonic() > until:
                    break
                if per_second:
                    time.sleep(max(0, began + number / per_second - time.monotonic()))
                sent = time.monotonic()
                connection.request("POST", PATHS["otlp"], body, {"Content-Type": TYPES["otlp"], "Content-Encoding": "gzip"})
                answer = connection.getresponse()
                # A request that was taken in part says how many profiles were not.
                partly = [message(data) for data in message(answer.read())[1]]
                is_taken = answer.status == 200 and not any(count for part in partly for count in part[1])
                with self.lock:
                    self.latencies.append(time.monotonic() - sent)
                    self.refused += not is_taken
            connection.close()

        threads = [threading.Thread(target=work) for _ in range(self.connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.monotonic() - began


def process_cpu_s(pid):
    """CPU seconds of all threads, also of those that have ended."""
    with open("/proc/%d/stat" % pid, encoding="utf-8") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def check_all_arrive(bodies, template, connections):
    """Each host's time by service and type is that of the batch. Counts what is not."""
    wanted = collections.Counter()
    for profile in read_otlp(template):
        wanted[{"process_cpu": "cpu"}.get(profile.name, profile.name)] += sum(profile.sums.values())
    with tempfile.TemporaryDirectory(prefix="pyrometer-fleet-") as folder:
        taken = os.path.join(folder, "taken.json")
        with otel_collector.running(taken) as (_, port):
            load = Load(port, bodies, connections)
            load.send(len(bodies), time.monotonic() + 600)
        found = collections.defaultdict(collections.Counter)
        for profile in otel_collector.profiles(taken):
            found[profile.attributes["host.name"]][profile.kind] += sum(profile.sums.values())
        written = os.path.getsize(taken)
    return load.refused + abs(len(bodies) - len(found)) + sum(sums != wanted for sums in found.values()), written


def measure(title, bodies, connections, seconds, per_second=None):
    with otel_collector.running(os.devnull) as (collector, port):
        load = Load(port, bodies, connections)
        load.send(len(bodies) // 10, time.monotonic() + seconds)
        load.latencies.clear()
        before = process_cpu_s(collector.pid)
        wall_s = load.send(int(per_second * seconds) if per_second else sys.maxsize, time.monotonic() + seconds, per_second)
        cpu, count = process_cpu_s(collector.pid) - before, len(load.latencies)
        memory = peak_memory(collector.pid)
    row = [title, "%d" % count, "%.0f" % (count / wall_s), "%.1f %%" % (100 * cpu / wall_s), "%.2f ms" % (1000 * cpu / count),
           "%.1f ms" % (1000 * statistics.median(load.latencies)),
           "%.1f ms" % (1000 * statistics.quantiles(load.latencies, n=100)[98]), "%.0f MiB" % (memory / (1 << 20))]
    return row, load.refused


def hosts(options):
    template, count, push_s, all_s = batch_of_host(options)
    profiles = read_otlp(template)
    print("a batch of a host: %d processes at %g Hz, %d profiles, %d stacks, %d bytes, %d before compression" % (
        len(PROCESSES_OF_HOST), options.rate, len(profiles), sum(len(profile.sums) for profile in profiles), len(template),
        len(gzip.decompress(template))))
    print("the host pays for it: %.1f ms of CPU in each batch of %d s, %.3f %% of a processor, beside %.2f %% for sampling; %.0f bytes/s" % (
        1000 * push_s / count, BATCH_SECONDS, 100 * push_s / options.seconds, 100 * (all_s - push_s) / options.seconds,
        len(template) / BATCH_SECONDS))
    bodies = [renamed(template, {b"host.name": lambda _, host=host: b"host-%04d" % host,
                                 b"service.name": lambda name, host=host: name + b"-%02d" % (host % 100)})
              for host in range(options.hosts)]
    wrong, written = check_all_arrive(bodies, template, options.connections)
    print("%d hosts once: %d wrong; %d bytes sent, %d written as JSON" % (options.hosts, wrong, sum(map(len, bodies)), written))
    rows = []
    for title, per_second in (("as fast as it can", None), ("%d hosts" % options.hosts, options.hosts / BATCH_SECONDS)):
        row, refused = measure(title, bodies, options.connections, options.seconds, per_second)
        rows.append(row)
        wrong += refused
    table(["load", "batches", "a second", "CPU", "CPU of one", "median", "99th", "memory"], rows)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("what", choices=("services", "hosts"))
    parser.add_argument("--program", default=os.environ.get("PYROMETER", os.path.join(ROOT, "build", "release", "pyrometer")))
    parser.add_argument("--engine", default="remote")
    parser.add_argument("--rate", type=float, help="services: 100 Hz; hosts: 19 Hz")
    parser.add_argument("--seconds", type=float, help="services: 10; hosts: 45")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--connections", type=int, default=8)
    options = parser.parse_args()
    is_hosts = options.what == "hosts"
    options.seconds = options.minutes * 60 if options.minutes else options.seconds or (45 if is_hosts else 10)
    options.rate = options.rate or (19 if is_hosts else 100)
    if not os.path.exists(otel_collector.PROGRAM):
        print(otel_collector.MISSING)
        return SKIPPED
    if "without libcurl" in subprocess.run([options.program, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode():
        print("skipped: the program was built without libcurl")
        return SKIPPED
    return (hosts if is_hosts else services)(options)


if __name__ == "__main__":
    sys.exit(main())
