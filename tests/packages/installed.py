"""Checks of an installed program, wherever it is, and roots of their own to install it in."""

import http.client
import json
import os
import shutil
import ssl
import subprocess
import sys
import unittest
import urllib.parse

from building import ROOT, run

sys.path[:0] = [os.path.join(ROOT, "tests", "system"), os.path.join(ROOT, "tests", "support")]
from harness import WAIT_SECONDS, Live, Process  # pylint: disable=wrong-import-position
from receivers import Receiver  # pylint: disable=wrong-import-position

CODE = "print('READY', flush=True)\ndef work():\n    while True: sorted(range(100000), key=str)\nwork()"
# The names of the functions of these libraries are more than one block that is compressed.
NATIVE = ("import hashlib, json, re, sqlite3, zlib\nprint('READY', flush=True)\ndata = b'x' * 20000\ndef work():\n"
          "    while True:\n        hashlib.sha256(data).digest(), zlib.compress(data), json.loads('[1, 2, 3]'), re.findall('x+y', 'x' * 300)\n"
          "        sorted(range(1000), key=str), sqlite3.connect(':memory:').execute('select 1').fetchall()\nwork()")
# Its processes are those of this machine; all that it mounts is gone with it.
ENTER = ('mount --make-rprivate / && for name in proc sys dev; do if [ -d "$0/$name" ]; then mount --rbind "/$name" "$0/$name"; fi; done && '
         'exec chroot "$0" "$@"')


def enter(root):
    """The words before a command that runs with `root` as its root."""
    return ["unshare", "--mount", "sh", "-c", ENTER, root]


def may_mount(root, command):
    """Skips the test where this user may not mount. command: one that works in `root`."""
    done = subprocess.run([*enter(root), *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if done.returncode == 1:
        raise unittest.SkipTest("needs the right to mount (CAP_SYS_ADMIN)")


def debian(suite, folder, *packages):
    """The root of a new system of that release of Debian, with the packages. Skips the test if it cannot be had."""
    if os.getuid() != 0 or not shutil.which("debootstrap"):
        raise unittest.SkipTest("needs debootstrap and root")
    root = os.path.join(folder, suite)
    done = subprocess.run(["debootstrap", "--variant=minbase", "--include=" + ",".join(("ca-certificates",) + packages), suite, root],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise unittest.SkipTest("debootstrap %s: %s" % (suite, done.stdout.strip()[-300:]))
    shutil.copy("/etc/resolv.conf", os.path.join(root, "etc", "resolv.conf"))
    may_mount(root, ["/bin/true"])
    return root


def certificate(folder, kind="ec"):
    """The paths of a certificate of 127.0.0.1 and of its key, which are made once in each folder."""
    if not shutil.which("openssl"):
        raise unittest.SkipTest("no openssl, which makes certificates")
    words = {"ec": ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"), "rsa": ("-newkey", "rsa:2048")}[kind]
    cert, key = (os.path.join(folder, kind + ending) for ending in (".pem", ".key"))
    if os.path.exists(cert):
        return cert, key
    run("openssl", "req", "-x509", *words, "-nodes", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
        "-days", "2", "-out", cert, "-keyout", key)
    os.chmod(key, 0o600)
    return cert, key


class Installed:
    """The program of a root. before: the words that enter it, or none; folder: one of the root, which is path inside; python: an
    interpreter of the root, or without one, of this machine."""

    def __init__(self, test, program, before, folder, path, python=None):
        self.test, self.program, self.before = test, program, list(before)
        self.folder, self.path = folder, path
        self.python = [*self.before, python] if python else [sys.executable]

    def start(self, *words):
        return Process([*self.before, self.program, *words])

    def target(self, code=CODE):
        """A program of Python that is busy in work()."""
        target = Process([*self.python, "-c", code])
        try:
            target.wait_ready()
        except BaseException:
            target.kill()
            raise
        return target

    def record(self, engine, *options, code=CODE):
        """One second, into a capture."""
        names = [os.path.join(self.path, engine + ending) for ending in (".pyro", ".json")]
        with self.target(code) as target:
            words = ("record", "--engine", engine, *options, str(target.pid), "-d", "1", "-o", names[0], "--quality", names[1])
            with self.start(*words) as recording:
                code = recording.wait()
        text = "\n".join(recording.err)
        if engine == "kernel" and code != 0 and "kernel engine" in text:
            self.test.skipTest(text)
        self.test.assertEqual(code, 0, text)
        self.test.assertNotIn("system calls are not limited", text)
        with open(os.path.join(self.folder, engine + ".json"), encoding="utf-8") as file:
            counted = json.load(file)
        self.test.assertEqual(counted["engine"], engine)
        self.test.assertGreater(counted["samples"], 100)

    def replay(self, engine):
        """Reports of what record() wrote."""
        for words in (("-o", "report.html"), ("-o", "report.folded"), ("--pprof=report.pb.gz",)):
            words = [word.replace("report", os.path.join(self.path, "report")) for word in words]
            with self.start("replay", os.path.join(self.path, engine + ".pyro"), *words) as replay:
                self.test.assertEqual(replay.wait(), 0, replay.output())
        with open(os.path.join(self.folder, "report.folded"), encoding="utf-8") as file:
            self.test.assertIn("work", file.read())
        self.test.assertGreater(os.path.getsize(os.path.join(self.folder, "report.html")), 200_000)

    def _watch(self, *words):
        with Live(*words, before=self.before, path=self.program) as live:
            live.wait_samples(100)
            page = live.ask("/", headers={"Accept-Encoding": "identity"})
            self.test.assertEqual(page.status, 200)
            self.test.assertTrue(page.body.startswith(b"<!doctype html>"))
            tree = live.get("/sessions/1/tree")
            self.test.assertIn("work", [tree["strings"]["values"][name] for name in tree["functions"]["name"]])
            live.stop()

    def attach(self):
        """The page of a running process."""
        with self.target() as target:
            self._watch("attach", str(target.pid))

    def run(self):
        """The page of a program that it starts."""
        self._watch("run", "--", self.python[-1], "-c", CODE)

    def serve_with_tls(self, kind="ec"):
        """The list of processes, by TLS."""
        cert, _ = certificate(self.folder, kind)
        files = [os.path.join(self.path, kind + ending) for ending in (".pem", ".key")]
        with self.start("serve", "--no-data", "--no-continuous", "--listen", "127.0.0.1:0", "--tls-cert", files[0], "--tls-key",
                        files[1]) as server:
            parts = urllib.parse.urlsplit(server.wait_line("^(https://.*)$").group(1))
            connection = http.client.HTTPSConnection("127.0.0.1", parts.port, timeout=WAIT_SECONDS,
                                                     context=ssl.create_default_context(cafile=cert))
            token = urllib.parse.parse_qs(parts.query)["token"][0]
            connection.request("GET", "/api/v1/processes", headers={"Authorization": "Bearer " + token})
            answer = connection.getresponse()
            self.test.assertEqual(answer.status, 200, answer.read()[:300])
            self.test.assertIn(connection.sock.version(), ("TLSv1.2", "TLSv1.3"))
            connection.close()

    def push(self):
        """A second of a process, to a server without TLS."""
        with self.target() as target, Receiver("pyroscope") as receiver:
            with self.start("record", str(target.pid), "-d", "1", "--push", receiver.url) as recording:
                self.test.assertEqual(recording.wait(), 0, recording.output())
            self.test.assertTrue(receiver.profiles(), recording.output())

    def push_with_tls(self, *words):
        """A push by TLS, with the certificate of certificate(). Returns how many requests came, and what was said."""
        cert, key = certificate(self.folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        with self.target() as target, Receiver("otlp") as receiver:
            receiver.server.socket = context.wrap_socket(receiver.server.socket, server_side=True)
            url = "otlp+https://127.0.0.1:%d" % receiver.port
            with self.start("record", str(target.pid), "-d", "1", "--push", url, *words) as recording:
                status = recording.wait()
            count = len(receiver.profiles())
            self.test.assertEqual(status, 0 if count else 1, recording.output())
            return count, recording.output()

    def do_everything(self):
        """All of it, each part as a test of its own."""
        for name in ("run", "attach", "serve_with_tls", "push"):
            with self.test.subTest(name):
                getattr(self, name)()
        for engine in ("remote", "kernel"):
            with self.test.subTest(engine):
                self.record(engine)
                self.replay(engine)
