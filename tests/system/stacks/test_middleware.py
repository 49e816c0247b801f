"""The package of the wheel in a program: pyrometer.span and pyrometer.middleware, below the servers and frameworks of scripts/get-consumers."""

import base64
import concurrent.futures
import gzip
import http.client
import json
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse

from harness import FOLDER, PROGRAM, ROOT, SLOWNESS, VICTIM_SECONDS, Live, Process, Test, ends, file_in, kinds, main, run_program, script, victim

PROFILED = os.path.join(os.environ.get("PYROMETER_CONSUMERS", os.path.join(ROOT, ".consumers")), "profiled", "bin", "python")
ROUTES = os.path.join(ROOT, "tests", "e2e", "programs", "web_routes.py")
TOKEN = "a token of these tests only"
NAMES = {"flask": "flask, waitress", "django": "django, waitress", "django-asgi": "django, uvicorn", "fastapi": "fastapi, uvicorn",
         "starlette": "starlette, uvicorn"}

# Runs by itself in every version, without the program.
CHECKS = '''
import asyncio, contextvars, sys, threading, time
import pyrometer
from pyrometer import context, request_profile, web

def value(name):
    return {variable.name: found for variable, found in contextvars.copy_context().items()}.get(name)

def fails(kind, call):
    try:
        call()
    except kind:
        return
    raise AssertionError("it did not fail")

# Spans.
with pyrometer.span("outer") as outer:
    first = value("pyrometer_span")
    assert first.endswith(" outer"), first
    with pyrometer.span("inner"):
        assert value("pyrometer_span").endswith(" inner")
    assert value("pyrometer_span") == first
    fails(RuntimeError, outer.__enter__)
assert value("pyrometer_span") is None
fails(KeyError, lambda: pyrometer.span("x")(lambda: {}["none"])())
assert value("pyrometer_span") is None

@pyrometer.span("decorated" + 10**6 * "x")
def decorated():
    return value("pyrometer_span")
assert decorated() != decorated() and len(decorated()) < 64, decorated()
assert decorated.__name__ == "decorated"

@pyrometer.span("later")
async def later():
    before = value("pyrometer_span")
    await asyncio.sleep(0)
    assert value("pyrometer_span") == before
    return before
async def many():
    found = await asyncio.gather(*(later() for _ in range(50)))
    assert len(set(found)) == 50
asyncio.new_event_loop().run_until_complete(many())

def generator():
    yield
fails(TypeError, lambda: pyrometer.span("x")(generator))

# Who may ask.
def door(token):
    import os
    os.environ.pop(web.TOKEN_VARIABLE, None)
    if token is not None:
        os.environ[web.TOKEN_VARIABLE] = token
    return web._Door()
assert not door(None).is_open and not door("").is_open
import warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    assert not door("too short").is_open and len(said) == 1
opened = door(sys.argv[1])
quoted = sys.argv[1].replace(" ", "%20")
for query, header, wanted in (
        ("pyrometer=1&pyrometer_token=" + quoted + "&a=b", None, ("page", "a=b")),
        ("a=b&pyrometer=1", sys.argv[1], ("page", "a=b")),
        ("a=b", sys.argv[1], ("link", "a=b")),
        ("a=b&pyrometer=1", None, (None, "a=b&pyrometer=1")),
        ("pyrometer_token=" + quoted, None, (None, "pyrometer_token=" + quoted)),
        ("pyrometer=1&pyrometer_token=", None, (None, "pyrometer=1&pyrometer_token=")),
        ("pyrometer=1&pyrometer_token=wrong&pyrometer_token=" + quoted, None, (None,)),
        ("pyrometer=1&pyrometer_token=" + quoted, "wrong", (None,)),
        ("pyrometer=1", "\\xff\\udc80 wrong", (None,)),
        ("pyrometer=1&pyrometer_token=%ff%00" + 100 * "&", None, (None,)),
        ("pyrometer=1&pyrometer_token=" + quoted + "&" + 10**7 * "a", None, (None,))):
    found = opened.ask(query, header)
    assert found[:len(wanted)] == wanted, (query[:100], header, found[0], found[1][:100])

# Values are bounded, whatever clients send.
seen = []
def application(environ, start_response):
    seen.append(value("pyrometer_request"))
    start_response("200 OK", [])
    return []
inside = web.middleware(application, id_header="X-Request-ID")
for path, given in (("/", "7"), ("/" + 10**7 * "p", 10**7 * "i"), ("/\\n\\x00\\xff", "\\r\\n")):
    inside({"PATH_INFO": path, "REQUEST_METHOD": "GET", "HTTP_X_REQUEST_ID": given}, lambda status, headers: None)
assert seen[0] == "7 GET /" and all(len(one) < 300 for one in seen), seen
assert value("pyrometer_request") is None
inside({}, lambda status, headers: None)

# An application that is a class, a partial function, or raises.
import functools
async def asgi(scope, receive, send):
    seen.append(value("pyrometer_request"))
    if scope["path"] == "/fails":
        raise KeyError("none")
class Application:
    async def __call__(self, scope, receive, send):
        await asgi(scope, receive, send)
for app in (asgi, Application(), functools.partial(asgi)):
    del seen[:]
    inside = pyrometer.middleware(app)
    asyncio.new_event_loop().run_until_complete(inside({"type": "http", "method": "GET", "path": "/p"}, None, None))
    assert seen[0].endswith(" GET /p"), seen
    fails(KeyError, lambda: asyncio.new_event_loop().run_until_complete(inside({"type": "http", "path": "/fails"}, None, None)))

# Only a folder of this user alone has reports, and only so many.
import os, tempfile
tempfile.tempdir = sys.argv[2]
names = ["%032x" % number for number in range(request_profile.MAX_REPORTS + 5)]
for name in names:
    request_profile._store(name, name.encode())
    time.sleep(0.01)
kept = [name for name in names if request_profile.stored(name)]
assert kept == names[5:], kept
assert request_profile.stored("../" + names[-1]) is None
os.chmod(os.path.join(sys.argv[2], "pyrometer-reports-%d" % os.geteuid()), 0o755)
assert request_profile.stored(names[-1]) is None
request_profile._store("f" * 32, b"x")

def cost(what, count=20000):
    begin = time.perf_counter()
    what(count)
    return (time.perf_counter() - begin) / count
def with_span(count):
    for _ in range(count):
        with pyrometer.span("x"): pass
def without(count):
    for _ in range(count):
        with threading.Lock(): pass
print("a span takes %.1f times as long as making and taking a lock" % (cost(with_span) / cost(without)))
'''

SPANS = '''
import sys, threading, time
import pyrometer
def wait():
    time.sleep(0.15)
def handle(number):
    with pyrometer.span("slow" if number % 5 == 4 else "quick"):
        time.sleep(0.01)
        if number % 5 == 4: wait()
print("READY", flush=True)
end = time.monotonic() + float(sys.argv[1])
number = 0
while time.monotonic() < end:
    handle(number)
    number += 1
    time.sleep(0.005)
'''


def has_module(name):
    return os.path.exists(PROFILED) and subprocess.run([PROFILED, "-c", "import " + name], stderr=subprocess.DEVNULL, check=False).returncode == 0


def functions_of(report):
    """The names on the stacks of a report; the report itself where it is none."""
    found = re.search(r'<script type="text/plain" id="profile-data"[^>]*>([^<]*)</script>', report)
    if not found:
        return report
    profile = json.loads(gzip.decompress(base64.b64decode(found.group(1))))
    tree, names = profile["tree"], set()
    for node in profile["cells"]["node"]:
        while node:
            names.add(tree["strings"]["values"][tree["functions"]["name"][tree["nodes"]["function"][node]]])
            node = tree["nodes"]["parent"][node]
    return names


INSTALLING = threading.Lock()


def installed():
    """A folder with the package and, beside it, the program, as an installed wheel has them."""
    folder = os.path.join(FOLDER, "middleware")
    for name in ("bin", "tmp"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    # Several servers begin at the same time.
    with INSTALLING:
        for target, name in ((os.path.join(ROOT, "scripts", "packaging", "wheel", "pyrometer"), "pyrometer"), (PROGRAM, "bin/pyrometer")):
            if os.path.islink(os.path.join(folder, name)):
                os.unlink(os.path.join(folder, name))
            os.symlink(target, os.path.join(folder, name))
    return dict(os.environ, PYTHONPATH=folder, PYTHONDONTWRITEBYTECODE="1", TMPDIR=os.path.join(folder, "tmp"))


class Server:
    """A program of web_routes.py."""

    def __init__(self, name, kind="middleware", python=PROFILED, token=TOKEN):
        environment = installed()
        environment.pop("PYROMETER_MIDDLEWARE_TOKEN", None)
        if token:
            environment["PYROMETER_MIDDLEWARE_TOKEN"] = token
        self.process = Process([python, ROUTES, name, kind], env=environment)

    def __enter__(self):
        try:
            self.port = int(self.process.wait_line(r"READY (\d+)").group(1))
        except BaseException:
            self.process.kill()
            raise
        return self

    def __exit__(self, *_):
        self.process.kill()

    @property
    def pid(self):
        return self.process.pid

    def get(self, path, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60 * SLOWNESS)
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, response, body.decode("utf-8", "replace")

    def load(self, until):
        """Asks for one slow page among twenty, from two threads, until the event is set."""
        def ask(number):
            while not until.is_set():
                number += 1
                self.get("/slow" if number % 20 == 0 else "/quick")
                time.sleep(0.005)
        threads = [threading.Thread(target=ask, args=(begin,)) for begin in (0, 10)]
        for thread in threads:
            thread.start()
        return threads


class Package(Test):
    def test_span_and_middleware_in_every_version(self):
        for python in kinds():
            with self.subTest(python.version), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([python.path, "-c", CHECKS, TOKEN, folder], env=installed(), stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, timeout=60 * SLOWNESS, check=False)
                self.assertEqual(done.returncode, 0, done.stdout)
                print(python.version, done.stdout.strip())

    def test_slow_spans_are_kept(self):
        capture, text = file_in("spans.pyro"), file_in("spans.txt")
        with victim(script("spans.py", SPANS), str(VICTIM_SECONDS), env=installed()) as target:
            process, code = run_program("record", str(target.pid), "-d", "4", "--context", "pyrometer_span", "-o", capture)
        self.assertEqual(code, 0, process.output())
        process, code = run_program("replay", capture, "--slower-than", "100ms", "--contexts", "--collapsed", "-o", text)
        self.assertEqual(code, 0, process.output())
        lines = [line for line in pathlib.Path(text).read_text("utf-8").splitlines() if "handle" in line]
        samples = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
        slow = sum(int(line.rsplit(" ", 1)[1]) for line in lines if re.search(r"<context pyrometer_span: [0-9a-f]{8}-\d+ slow>", line))
        self.assertGreater(samples, 0)
        self.assertGreater(slow, 0.8 * samples, process.output())


class Middleware(Test):
    def test_slow_routes_are_the_first_rows(self):
        """Four frameworks at the same time: most of it is waiting."""
        names = ("flask", "django", "fastapi", "starlette")
        if not all(has_module(NAMES[name]) for name in names):
            raise unittest.SkipTest("%s are not there: scripts/get-consumers fetches them" % ", ".join(names))
        with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
            checks = {name: pool.submit(self.check_slow_route, name) for name in names}
        for name, done in checks.items():
            with self.subTest(name):
                done.result()

    def check_slow_route(self, name):
        over = threading.Event()
        with Server(name) as server, Live("attach", str(server.pid), "--context", "pyrometer_request", "--async-mode", "all") as live:
            threads = server.load(over)
            try:
                live.wait_until(lambda: sum("/slow" in row["value"] for row in self.rows(live)) >= 5)
                rows = self.rows(live)
            finally:
                over.set()
                for thread in threads:
                    thread.join()
        self.assertEqual(["GET /slow"] * 4, [row["value"].split(" ", 1)[1] for row in rows[:4]], rows[:4])
        self.assertGreater(rows[0]["duration"], 0.2)
        self.assertTrue(rows[0]["view"]["guessed"])
        self.assertRegex(rows[0]["view"]["name"], r"\bslow$")
        self.assertTrue(any("GET /quick" in row["value"] for row in rows), rows)

    @staticmethod
    def rows(live):
        return live.get("/sessions/1/requests?limit=200&context_value=" + urllib.parse.quote("/: .* GET /"))["rows"]


class Asked(Test):
    """A request that asks for its profile."""

    def check_page(self, server):
        quoted = urllib.parse.quote(TOKEN)
        status, response, body = server.get("/slow?pyrometer=1&a=b&pyrometer_token=" + quoted)
        self.assertEqual(status, 200, body[:300])
        functions = functions_of(body)
        self.assertTrue({"fetch", "fetch_later"} & set(functions), functions)
        # Only this request: not what the other threads do, nor the start of the recording.
        self.assertFalse({"RequestProfile.start", "record._wait_start", "Server.serve"} & set(functions), functions)
        self.assertIn("sandbox", response.getheader("Content-Security-Policy"))
        self.assertEqual(response.getheader("Cache-Control"), "no-store")
        return body

    def check_link(self, server):
        status, response, body = server.get("/slow?a=b", X_Pyrometer=TOKEN)
        self.assertEqual((status, body.strip('"')), (200, "a=b"), body)
        link = response.getheader("X-Pyrometer-Profile")
        self.assertRegex(link or "", r"^/-pyrometer/[0-9a-f]{32}$", response.getheaders())
        end = time.monotonic() + 20 * SLOWNESS
        while True:
            status, response, body = server.get(link)
            if status == 200 or time.monotonic() > end:
                break
            time.sleep(0.1)
        self.assertEqual(status, 200, body[:300])
        functions = functions_of(body)
        self.assertTrue({"fetch", "fetch_later"} & set(functions), functions)

    def check_refused(self, server):
        for path, headers in (("/quick?pyrometer=1", {}), ("/quick?pyrometer=1&pyrometer_token=wrong", {}),
                              ("/quick?pyrometer=1", {"X_Pyrometer": "wrong"}), ("/quick?a=b", {"X_Pyrometer": 4000 * "x"})):
            status, response, body = server.get(path, **headers)
            self.assertEqual((status, body.strip('"')), (200, path.partition("?")[2]), body)
            self.assertFalse([name for name, _ in response.getheaders() if name.lower().startswith("x-pyrometer")])

    def check_each(self, name):
        if not has_module(NAMES[name]):
            raise unittest.SkipTest("%s is not there: scripts/get-consumers fetches it" % NAMES[name])
        with Server(name) as server:
            self.check_refused(server)
            # The first request of a server imports, and starts threads.
            server.get("/slow")
            self.check_page(server)
            self.check_link(server)

    def test_with_fastapi(self):
        self.check_each("fastapi")

    def test_with_django(self):
        self.check_each("django-asgi")

    def test_a_body_that_is_made_while_it_is_sent_and_a_route_that_fails(self):
        for python in ends()[:1]:
            with self.subTest(python.version), Server("wsgi", python=python.path) as server:
                self.check_refused(server)
                self.assertEqual(server.get("/fails?a=b", X_Pyrometer=TOKEN)[0], 500)
                _, response, body = server.get("/lazy?a=b", X_Pyrometer=TOKEN)
                self.assertEqual(body, "a=b")
                link = response.getheader("X-Pyrometer-Profile")
                self.assertIn("lazily", functions_of(server.get(link)[2]))
                self.check_page(server)

    def test_never_without_a_token_in_the_environment(self):
        for python in ends()[-1:]:
            for token in (None, "", "too short"):
                with self.subTest(token), Server("wsgi", python=python.path, token=token) as server:
                    self.check_refused(server)
                    query = "pyrometer=1&pyrometer_token=" + urllib.parse.quote(token or "")
                    status, response, body = server.get("/quick?" + query, X_Pyrometer=token or "")
                    self.assertEqual((status, body, response.getheader("X-Pyrometer-Profile")), (200, query, None))


if __name__ == "__main__":
    main()
