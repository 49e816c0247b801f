"""`pyrometer serve` as the tests use it: its API, and waiting for what it says."""

import json
import tempfile
import time

from harness import FOLDER, WAIT_SECONDS, Live

CHANGE = {"X-Pyrometer": "1", "Content-Type": "application/json"}


class Host(Live):
    """`pyrometer serve`, with a folder of its own unless one is given."""

    def __init__(self, *arguments, data=None, **options):
        self.data = data or tempfile.mkdtemp(prefix="data-", dir=FOLDER)
        super().__init__("serve", "--data", self.data, *arguments, **options)

    def capture_of(self, session):
        """The name of the capture a running session is recorded into."""
        return self.until("/sessions/" + session, lambda found: found["capture"])["capture"]

    def put(self, data, query=""):
        return self.ask("/api/v1/captures" + query, "PUT", data, {"X-Pyrometer": "1",
                                                                  "Content-Type": "application/octet-stream"})

    def send(self, method, path, body=None):
        return self.ask("/api/v1" + path, method, None if body is None else json.dumps(body), CHANGE)

    def start(self, **body):
        """The id of a session that has just been asked for."""
        answer = self.send("POST", "/sessions", body)
        assert answer.status == 202, answer.body
        session = answer.json()
        assert answer.headers["Location"].endswith("/api/v1/sessions/" + session["id"])
        return session["id"]

    def until(self, path, wanted):
        """The document once `wanted(document)` is true."""
        end = time.monotonic() + WAIT_SECONDS
        while True:
            document = self.get(path)
            if wanted(document):
                return document
            assert time.monotonic() < end, "%s never became what was wanted: %r" % (path, document)
            time.sleep(0.1)

    def running(self, session):
        return self.until("/sessions/" + session,
                          lambda found: found["state"] == "running" and found["quality"]["samples"] > 0)

    def row(self, pid, wanted=lambda process: True):
        """The row of a process once it is there and as wanted."""
        def rows(document):
            return [row for row in document["processes"] if row["pid"] == pid and wanted(row)]
        return rows(self.until("/processes?limit=4096", rows))[0]
