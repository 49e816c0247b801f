"""Every answer is as the API's own description says: /api/v1/openapi.json."""

import json
import re
import sys
import tempfile
import unittest
import urllib.parse

from harness import SKIPPED, Live, check_surroundings, victim

try:
    import jsonschema
except ImportError:
    print("skipped: Python's jsonschema is not installed")
    sys.exit(SKIPPED)

# Statuses that any operation may answer; every other status is described by name.
COMMON_PROBLEMS = (400, 401, 403, 404)
MARK = {"X-Pyrometer": "1", "Content-Type": "application/json"}


class Description:
    """The document, and what it says of an answer."""

    def __init__(self, document):
        self.document = document
        self.unseen = {operation["operationId"] for path in document["paths"].values()
                       for method, operation in path.items() if method != "parameters"}

    def check(self, method, target, answer):
        path = urllib.parse.urlsplit(target).path
        for pattern, operations in self.document["paths"].items():
            if method.lower() in operations and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", pattern), path):
                return self._check_operation(operations[method.lower()], answer)
        raise AssertionError("%s %s is not described" % (method, path))

    def _check_operation(self, operation, answer):
        name = operation["operationId"]
        self.unseen.discard(name)
        described = operation["responses"].get(str(answer.status))
        if described is None and answer.status in COMMON_PROBLEMS:
            described = operation["responses"].get("default")
        assert described is not None, "%s answers %d, which is not described: %s" % (name, answer.status, answer.body[:300])
        content = self._resolve(described).get("content")
        if not content:
            assert not answer.body, "%s %d has a body" % (name, answer.status)
            return
        mime = answer.headers["Content-Type"].partition(";")[0]
        assert mime in content or "*/*" in content, "%s answers %s" % (name, mime)
        if mime.endswith("json") and mime in content:
            schema = dict(content[mime]["schema"], components=self.document["components"])
            checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
            jsonschema.Draft202012Validator(schema, format_checker=checker).validate(answer.json())
            self._check_fields(schema, answer.json(), name)

    def _resolve(self, node):
        while "$ref" in node:
            _, _, *steps = node["$ref"].split("/")
            node = self.document["components"]
            for step in steps:
                node = node[step]
        return node

    def _parts(self, schema):
        """A schema and all that it is made of."""
        schema = self._resolve(schema)
        yield schema
        for part in schema.get("allOf", []) + schema.get("oneOf", []):
            yield from self._parts(part)

    def _check_fields(self, schema, value, where):
        """No answer has a field that the document does not describe."""
        parts = list(self._parts(schema))
        if isinstance(value, list):
            for items in (part["items"] for part in parts if "items" in part):
                for item in value:
                    self._check_fields(items, item, where + "[]")
        fields = {name: field for part in parts for name, field in part.get("properties", {}).items()}
        if isinstance(value, dict) and fields:
            assert set(value) <= set(fields), "%s has fields that are not described: %s" % (where, set(value) - set(fields))
            for name, field in value.items():
                self._check_fields(fields[name], field, where + "." + name)


class Contract(unittest.TestCase):
    def ask(self, method, target, body=None, headers=None, status=None):
        sent = dict(headers or {}) if method == "GET" else dict(MARK, **(headers or {}))
        answer = self.live.ask(target, method, body if body is None or isinstance(body, bytes) else json.dumps(body), sent,
                               token="Authorization" not in sent)
        if status is not None:
            self.assertEqual(answer.status, status, (method, target, answer.body[:300]))
        self.description.check(method, target, answer)
        return answer

    def test_every_answer_is_as_described(self):
        with tempfile.TemporaryDirectory() as folder, victim("chain.py", "60") as target:
            with Live("serve", "--data", folder, "--audit", "/dev/null") as self.live:
                self.description = Description(self.live.get("/openapi.json"))
                self.use_everything(target.pid)
                self.share_and_keep()
                self.assertEqual(self.description.unseen, set(), "never asked for")

    def use_everything(self, pid):
        started = self.ask("POST", "/api/v1/sessions", {"pids": [pid], "duration_s": 1, "context": "request_id"}, status=202).json()
        self.assertEqual(started["state"], "starting")
        self.live.wait_ended()
        one = "/api/v1/sessions/1"
        for path in ("/", "/manual", "/healthz", "/metrics", "/api/v1/openapi.json", "/api/v1/processes", "/api/v1/activity", "/api/v1/sessions", one,
                     one + "/tree", one + "/view", one + "/view?hide=chain.py",
                     one + "/view?state=on_cpu&from=0&to=1", one + "/threads", one + "/tasks", one + "/own-lines", one + "/waits", one + "/contexts", one + "/requests?limit=2", one + "/requests?slower_than=1ms", one + "/view?slowest=5", one + "/summary", one + "/summary?format=markdown", one + "/timeline", one + "/runs?thread=0", one + "/gil", one + "/locks?limit=3", one + "/memory?slots=8", one + "/dump",
                     one + "/heatmap", one + "/quality", one + "/export?format=collapsed", one + "/export?format=pprof",
                     one + "/report.html", "/debug/pprof/profile?seconds=1&pid=%d" % pid,
                     "/api/v1/processes/%d/dump" % pid, "/api/v1/processes/%d/dump?tasks=1" % pid, "/api/v1/processes/%d/dump?format=text" % pid, "/api/v1/access"):
            answer = self.ask("GET", path, status=200)
            if "pprof/" not in path and path != "/healthz":
                self.assertEqual(answer.headers.get("ETag") is not None, True, path)
        tree = self.live.get("/sessions/1/tree")
        function = tree["functions"]["file"].index(next(i for i, text in enumerate(tree["strings"]["values"])
                                                        if text.endswith("/chain.py")))
        self.ask("GET", one + "/source?function=%d" % function, status=200)
        self.ask("POST", one + "/matches?from=0", {"functions": [0, function]}, status=200)
        self.ask("POST", one + "/matches", {"functions": [3, 0]}, status=400)
        self.ask("GET", one + "/lines?function=%d&from=0" % function, status=200)
        tag = self.ask("GET", one + "/tree").headers["ETag"]
        self.ask("GET", one + "/tree", headers={"If-None-Match": tag}, status=304)
        for path, status in ((one + "/tree?since=x", 400), (one + "/runs", 400), ("/api/v1/sessions/99", 404), (one + "/export?format=pdf", 400),
                             ("/api/v1/processes/0/dump", 404), ("/api/v1/sessions/99/dump", 404), ("/api/v1/processes/%d/dump?tasks=x" % pid, 400), ("/debug/pprof/profile?pid=0", 400), ("/api/v1/processes?limit=0", 400)):
            self.ask("GET", path, status=status)
        for body, status in (({"pids": []}, 400), ({"pids": [pid], "rate_hz": 1e9}, 400), ({"colour": 1}, 400), ({"pids": [pid], "context": "a b"}, 400)):
            self.ask("POST", "/api/v1/sessions", body, status=status)
        self.ask("PATCH", one, {"name": "nightly"}, status=200)
        note = self.ask("POST", one + "/notes", {"from_s": 0, "to_s": 0.5, "text": "slow"}, status=201).json()
        for body in ({"from_s": 0, "to_s": 0, "text": "x"}, {"from_s": 0, "to_s": 1, "text": " "}, {"from_s": 0, "to_s": 1, "text": "x" * 241}, {"text": "x", "to": 1}):
            self.ask("POST", one + "/notes", body, status=400)
        self.assertEqual(self.ask("GET", one, status=200).json()["notes"], [note])
        self.ask("DELETE", one + "/notes", status=400)
        self.ask("DELETE", one + "/notes?note=99", status=404)
        self.ask("DELETE", one + "/notes?note=%d" % note["id"], status=204)
        self.ask("PATCH", one, {"state": "paused"}, status=409)
        self.ask("GET", one, headers={"Authorization": "Bearer x"}, status=401)

    def share_and_keep(self):
        made = self.ask("POST", "/api/v1/shares", {"name": "ann", "expires_in": "1h"}, status=201).json()
        self.ask("POST", "/api/v1/shares", {"expires_in": "soon"}, status=400)
        one = self.ask("POST", "/api/v1/shares", {"session": "1"}, status=201).json()
        self.ask("GET", "/api/v1/access", headers={"Authorization": "Bearer " + one["token"]}, status=200)
        self.ask("GET", "/api/v1/processes", headers={"Authorization": "Bearer " + one["token"]}, status=403)
        self.ask("DELETE", "/api/v1/access", status=204)
        self.ask("GET", "/api/v1/shares", status=200)
        self.ask("GET", "/api/v1/shares", headers={"Authorization": "Bearer " + made["token"]}, status=403)
        self.ask("GET", "/api/v1/access", headers={"Authorization": "Bearer " + made["token"]}, status=200)
        self.ask("DELETE", "/api/v1/shares/%d" % made["id"], status=204)
        self.ask("DELETE", "/api/v1/shares/%d" % made["id"], status=404)
        self.live.wait_until(lambda: all(capture["state"] == "complete" for capture in
                                         self.live.get("/captures")["captures"]))
        captures = self.ask("GET", "/api/v1/captures", status=200).json()["captures"]
        one = "/api/v1/captures/" + captures[0]["name"]
        self.ask("GET", one, status=200)
        self.ask("GET", "/api/v1/captures/nothing", status=404)
        self.ask("PATCH", one, {"title": "before", "labels": ["web"]}, status=200)
        file = self.ask("GET", one + "/file", status=200).body
        self.ask("DELETE", "/api/v1/sessions/1", status=204)
        self.ask("POST", "/api/v1/captures", {"name": captures[0]["name"]}, status=202)
        octets = {"Content-Type": "application/octet-stream"}
        put = self.ask("PUT", "/api/v1/captures?title=again", file, octets, status=201).json()
        self.ask("PUT", "/api/v1/captures", b"none of ours", octets, status=422)
        self.ask("DELETE", "/api/v1/captures/" + put["name"], status=204)


if __name__ == "__main__":
    check_surroundings()
    unittest.main(verbosity=2)
