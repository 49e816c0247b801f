"""A server that takes pushed profiles, and readers of what is pushed: independent of the program's own writers.

Each reader gives the same: for each profile its name ("process_cpu", "wall"), labels, time, duration, period, and nanoseconds
by stack, innermost function first.
"""

import base64
import collections
import dataclasses
import gzip
import http.server
import json
import re
import socket
import socketserver
import struct
import threading
import time

from protobuf import message, packed

LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
PATHS = {"pyroscope": "/push.v1.PusherService/Push", "otlp": "/v1development/profiles", "parca": "/api/profiles/writeraw"}
TYPES = {"pyroscope": "application/proto", "otlp": "application/x-protobuf", "parca": "application/json"}
MAX_BODY, MAX_REQUEST, MAX_SAMPLES, MAX_LABELS, MAX_DEPTH = 4 << 20, 2 << 20, 16000, 30, 1000
# Pyroscope refuses longer names and values, and profiles of another time.
MAX_LABEL_NAME, MAX_LABEL_VALUE = 1024, 2048
OLDEST_SECONDS, AHEAD_SECONDS = 3600, 600


@dataclasses.dataclass
class Profile:
    name: str
    labels: dict
    began_ns: int
    duration_ns: int
    period_ns: int
    executable: str
    sums: collections.Counter
    sample_labels: list
    frame_types: dict


# Protocol buffers: {field: [values]}.

def text(data):
    return data.decode("utf-8")


def read_pprof(name, labels, data):
    """A pprof file as Parca checks it: ids count from 1, every reference is to a row."""
    plain = gzip.decompress(data)
    assert len(plain) < MAX_REQUEST, "a profile has %d bytes" % len(plain)
    profile = message(plain)
    strings = [text(item) for item in profile[6]]
    assert strings[0] == ""
    kind = {"process_cpu": "cpu", "wall": "wall"}[name]
    for value in (message(profile[1][0]), message(profile[11][0])):
        assert (strings[value[1][0]], strings[value[2][0]]) == (kind, "nanoseconds")
    assert len(profile[1]) == 1 and len(profile[2]) <= MAX_SAMPLES
    tables = {field: [message(item) for item in profile[field]] for field in (3, 4, 5)}
    for rows in tables.values():
        assert [row[1][0] for row in rows] == list(range(1, len(rows) + 1)), "ids"
    mappings, locations, functions = (tables[field] for field in (3, 4, 5))
    names = []
    for location in locations:
        assert 1 <= location[2][0] <= len(mappings)
        line = message(location[4][0])
        names.append(strings[functions[line[1][0] - 1][2][0]])
    for function in functions:
        assert function[2][0] < len(strings)
    sums, sample_labels = collections.Counter(), []
    for sample in map(message, profile[2]):
        values, stack = packed(sample[2][0]), packed(sample[1][0])
        assert len(values) == 1 and len(stack) <= MAX_DEPTH and all(1 <= at <= len(names) for at in stack)
        sums[tuple(names[at - 1] for at in stack)] += values[0]
        sample_labels.append({strings[label[1][0]]: strings[label[2][0]] if label[2] else label[3][0]
                              for label in map(message, sample[3])})
    executable = strings[mappings[0][5][0]] if mappings and mappings[0][5] else ""
    return Profile(name, labels, profile[9][0], profile[10][0], profile[12][0], executable, sums, sample_labels, {})


def check_labels(pairs):
    names = [name for name, _ in pairs]
    assert names == sorted(names) and len(names) == len(set(names)) <= MAX_LABELS, names
    for name, value in pairs:
        assert LABEL_NAME.fullmatch(name) and len(name) <= MAX_LABEL_NAME and len(value) <= MAX_LABEL_VALUE, (name, value)
    labels = dict(pairs)
    assert labels["service_name"]
    return labels.pop("__name__"), labels


def read_pyroscope(body):
    profiles, plain = [], 0
    for series in map(message, message(body)[1]):
        pairs = [(text(pair[1][0]), text(pair[2][0])) for pair in map(message, series[1])]
        name, labels = check_labels(pairs)
        for sample in map(message, series[2]):
            plain += len(gzip.decompress(sample[1][0]))
            profiles.append(read_pprof(name, labels, sample[1][0]))
    assert plain < MAX_REQUEST, "a request has %d bytes" % plain
    return profiles


def read_parca(body):
    document, profiles, plain = json.loads(body), [], 0
    assert document["normalized"] is True
    for series in document["series"]:
        pairs = [(pair["name"], pair["value"]) for pair in series["labels"]["labels"]]
        name, labels = check_labels(sorted(pairs))
        for sample in series["samples"]:
            raw = base64.b64decode(sample["rawProfile"], validate=True)
            plain += len(gzip.decompress(raw))
            profiles.append(read_pprof(name, labels, raw))
            profiles[-1].sample_labels = []
    assert plain < MAX_REQUEST, "a request has %d bytes" % plain
    return profiles


def any_value(data):
    value = message(data)
    return text(value[1][0]) if value[1] else value[3][0]


class Dictionary:
    """The tables of OpenTelemetry's protocol 1.10: row 0 of each table is empty."""

    def __init__(self, data):
        tables = message(data)
        self.strings = [text(item) for item in tables[5]]
        assert self.strings[0] == ""
        self.mappings, self.locations, self.functions, self.links, self.attributes, self.stacks = (
            [message(item) for item in tables[field]] for field in (1, 2, 3, 4, 6, 7))
        for rows in (self.mappings, self.locations, self.functions, self.links, self.attributes, self.stacks):
            assert rows and not rows[0], "row 0"
        self.names = [""] + [self.name_of(location) for location in self.locations[1:]]

    def name_of(self, location):
        assert 1 <= location[1][0] < len(self.mappings)
        line = message(location[3][0])
        return self.strings[self.functions[line[1][0]][1][0]]

    def attribute(self, at):
        row = self.attributes[at]
        return self.strings[row[1][0]], any_value(row[2][0])

    def link(self, at):
        """The span that a sample works for."""
        row = self.links[at]
        return {"trace_id": row[1][0].hex(), "span_id": row[2][0].hex()} if at else {}

    def stack(self, at):
        return tuple(self.names[location] for location in packed(self.stacks[at][1][0])) if self.stacks[at][1] else ()

    def executable(self):
        """The mapping of Python code."""
        return {self.strings[self.mappings[location[1][0]][4][0]] for at, location in enumerate(self.locations)
                if at and dict(self.attribute(index) for index in packed(location[4][0]))["profile.frame.type"] == "cpython"}

    def frame_types(self):
        return {self.names[at]: dict(self.attribute(index) for index in packed(location[4][0]))["profile.frame.type"]
                for at, location in enumerate(self.locations) if at}


def read_otlp(body):
    plain = gzip.decompress(body)
    assert len(plain) < MAX_REQUEST, "a request has %d bytes" % len(plain)
    request, profiles = message(plain), []
    dictionary = Dictionary(request[2][0])
    for resource_profiles in map(message, request[1]):
        attributes = {}
        for pair in map(message, message(resource_profiles[1][0])[1]):
            attributes[text(pair[1][0])] = any_value(pair[2][0])
        assert attributes["service.name"]
        for scope_profiles in map(message, resource_profiles[2]):
            assert text(message(scope_profiles[1][0])[1][0]) == "pyrometer"
            for profile in map(message, scope_profiles[2]):
                kind = dictionary.strings[message(profile[1][0])[1][0]]
                sums, sample_labels = collections.Counter(), []
                assert len(profile[2]) <= MAX_SAMPLES and len(profile[7][0]) == 16
                for sample in map(message, profile[2]):
                    values, stack = packed(sample[4][0]), dictionary.stack(sample[1][0] if sample[1] else 0)
                    assert len(values) == 1 and len(stack) <= MAX_DEPTH
                    sums[stack] += values[0]
                    labels = dict(dictionary.attribute(at) for data in sample[2] for at in packed(data))
                    sample_labels.append(dict(labels, **dictionary.link(sample[3][0] if sample[3] else 0)))
                executable, = dictionary.executable()
                # Pyroscope calls the one of CPU time cpu.
                profiles.append(Profile({"cpu": "process_cpu"}.get(kind, kind), attributes, profile[3][0], profile[4][0], profile[6][0],
                                        executable, sums, sample_labels, dictionary.frame_types()))
    return profiles


def too_old(profile):
    """The text of a refusal; None: it is recent. Captures that are pushed later may be old."""
    now = time.time()
    if -AHEAD_SECONDS < now - profile.began_ns / 1e9 < OLDEST_SECONDS:
        return None
    def moment(seconds):
        return time.strftime("%Y-%m-%d %H:%M:%S.000 +0000 UTC", time.gmtime(seconds))
    labels = ", ".join('%s="%s"' % pair for pair in sorted(dict(profile.labels, __name__=profile.name).items()))
    return ("push series with index 0 and id 5f3b8c9e-6a2d-4c1b-9d7e-0f1a2b3c4d5e failed: invalid_argument: profile with labels '{%s}' is "
            "outside of ingestion window (profile timestamp: %s, the ingestion window starts at %s): it is too old"
            % (labels, moment(profile.began_ns / 1e9), moment(now - OLDEST_SECONDS)))


READERS = {"pyroscope": read_pyroscope, "otlp": read_otlp, "parca": read_parca}


class Receiver:
    """Takes what is pushed. `answers`: what the next requests get, (status, headers) each; then 200. A header may be a function that
    makes its value when it is sent. Or one of these instead:

    starts    is not ready: 500 (otlp) or 503
    hang      reads nothing and says nothing
    reset     resets each connection
    garbage   answers with bytes that are no HTTP
    slow      answers byte by byte
    endless   answers with a body that has no end
    """

    def __init__(self, scheme, answers=(), mood=None):
        self.scheme, self.answers, self.mood = scheme, list(answers), mood
        self.requests, self.stored, self.changed = [], [], threading.Condition()
        self.connections, self.fault = 0, None
        self.is_ended = False
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                receiver.take(self)

            def log_message(self, *_):
                pass

            def handle(self):
                if not receiver.spoil(self.connection):
                    try:
                        super().handle()
                    except OSError:
                        pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_ended = True
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self):
        return "%s://127.0.0.1:%d" % (self.scheme, self.port)

    def spoil(self, connection):
        """True if the connection gets something else than an answer."""
        mood = self.mood
        self.connections += 1
        try:
            if mood == "hang":
                while self.mood and not self.is_ended:
                    time.sleep(0.05)
            elif mood == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()
            elif mood == "garbage":
                connection.recv(1000)
                connection.sendall(b"\x00\xff garbage\r\n\r\n" * 100)
            elif mood == "slow":
                connection.recv(1000)
                for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b" " * 100000:
                    connection.sendall(bytes((byte,)))
                    time.sleep(0.2)
                    if self.is_ended or not self.mood:
                        break
            elif mood == "endless":
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                while not self.is_ended and self.mood:
                    connection.sendall(b"x" * 65536)
        except OSError:
            pass
        return mood not in (None, "starts")

    def take(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        with self.changed:
            status, headers = self.answers.pop(0) if self.answers else (200, {})
            answer = "no"
            if self.mood == "starts":
                status, answer = (500 if self.scheme == "otlp" else 503), "at least 1 live replicas required, could only find 0"
            elif status in (200, 429):
                status, answer = self.store(handler, body, status)
            self.requests.append((time.monotonic(), handler.path, dict(handler.headers), body, status))
            self.changed.notify_all()
        answer = answer.encode()
        handler.send_response(status)
        for name, value in dict(headers, **{"Content-Length": len(answer)}).items():
            handler.send_header(name, str(value() if callable(value) else value))
        handler.end_headers()
        handler.wfile.write(answer)

    def wait_for(self, is_so, seconds):
        with self.changed:
            assert self.changed.wait_for(lambda: is_so(self.requests), seconds), "%d requests" % len(self.requests)

    def store(self, handler, body, status):
        """Returns the status and the text of the answer."""
        try:
            assert handler.path == PATHS[self.scheme], handler.path
            assert handler.headers["Content-Type"] == TYPES[self.scheme], handler.headers
            assert len(body) <= MAX_BODY
            if self.scheme == "otlp":
                assert handler.headers["Content-Encoding"] == "gzip", handler.headers
            profiles = READERS[self.scheme](body)
        except Exception as error: # pylint: disable=broad-except
            self.fault = error
            return 400, "malformed"
        for profile in profiles:
            if (old := too_old(profile)) is not None:
                return 400, old
        if status == 429:
            profiles = [] if self.scheme == "parca" else profiles[:len(profiles) // 2]
        self.stored += profiles
        return status, "{}" if status == 200 else "push series with index %d failed: ingestion rate limit exceeded" % len(profiles)

    def profiles(self):
        """Profiles that the server shows, after its compaction."""
        with self.changed:
            stored = list(self.stored)
        if self.fault:
            raise self.fault
        if self.scheme == "parca":
            return stored
        shown = [list({(profile.name, tuple(sorted(profile.labels.items())), profile.began_ns // unit_ns): profile
                       for profile in reversed(stored)}.values()) for unit_ns in (1_000_000, 1)]
        assert len(shown[0]) == len(shown[1]), "storage v1 shows %d profiles, v2 %d" % (len(shown[0]), len(shown[1]))
        return shown[0][::-1]
