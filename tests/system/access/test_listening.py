"""Addresses of the server: Unix sockets, TLS, IPv6, sockets of systemd, a base path, behind a proxy."""

import http.client
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import urllib.parse
import warnings

from harness import PROGRAM, ROOT, WAIT_SECONDS, Answer, Live, Process, Test, main, processes_of, program, run_program, victim
from shares import MARK, bearer, share

LONG = "60"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=WAIT_SECONDS)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(WAIT_SECONDS)
        self.sock.connect(self._path)


def ask_unix(path, target, headers):
    connection = UnixConnection(path)
    try:
        connection.request("GET", target, headers=headers)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def wait_unix(process, scheme="http"):
    """Path and token of the URL that was printed."""
    url = process.wait_line(r"^(%s\+unix://\S+)$" % scheme).group(1)
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.unquote(parts.netloc), urllib.parse.parse_qs(parts.query)["token"][0]


class Listening(Test):
    def test_a_unix_socket_is_for_its_owner(self):
        with tempfile.TemporaryDirectory() as folder, victim("chain.py", LONG) as target:
            path = os.path.join(folder, "py ro.sock")
            words = ["attach", "--listen", "unix:" + path, str(target.pid)]
            with program(*words) as process:
                found, token = wait_unix(process)
                self.assertEqual(found, path)
                self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
                self.assertEqual(ask_unix(path, "/api/v1/sessions", bearer(token)).status, 200)
                self.assertEqual(ask_unix(path, "/api/v1/sessions", {}).status, 401)
                self.assertEqual(ask_unix(path, "/api/v1/sessions", dict(bearer(token), Host="evil.example")).status, 421)
                # Nobody takes the place of one that is served.
                self.assert_refused(*run_program(*words), 1, "another program listens on")
                self.assertEqual(ask_unix(path, "/healthz", {}).status, 200)
            self.assertTrue(os.path.exists(path), "killed, so the socket is still there")
            with program(*words) as process:
                _, token = wait_unix(process)
                self.assertEqual(ask_unix(path, "/api/v1/sessions", bearer(token)).status, 200)
                process.signal(15)
                process.wait()
                self.assertFalse(os.path.exists(path))
            with open(path, "w", encoding="utf-8") as file:
                file.write("mine")
            self.assert_refused(*run_program(*words), 2, "exists and is not a socket")
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), "mine")
            self.assert_refused(*run_program("attach", "--listen", "unix:relative", str(target.pid)), 2, "absolute path")

    def test_tls(self):
        with tempfile.TemporaryDirectory() as folder, victim("chain.py", LONG) as target:
            pair = [os.path.join(folder, name) for name in ("cert.pem", "key.pem")]
            made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                                   "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                                   "subjectAltName=DNS:localhost,IP:127.0.0.1", "-out", pair[0], "-keyout", pair[1]],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            self.assertEqual(made.returncode, 0, made.stdout)
            words = ["attach", "--listen", "127.0.0.1:0", "--tls-cert", pair[0], "--tls-key"]
            with program(*words, pair[1], str(target.pid)) as process:
                url = urllib.parse.urlsplit(process.wait_line(r"^(https://127\.0\.0\.1:\d+/\?token=[0-9a-f]+)$").group(1))
                trust = ssl.create_default_context(cafile=pair[0])

                def ask(target):
                    connection = http.client.HTTPSConnection("127.0.0.1", url.port, timeout=WAIT_SECONDS, context=trust)
                    try:
                        connection.request("GET", target)
                        return Answer(connection.getresponse())
                    finally:
                        connection.close()

                answer = ask("/?" + url.query)
                self.assertRegex(answer.headers["Set-Cookie"], "; Secure$")
                self.assertEqual(ask("/api/v1/sessions").status, 401)
                old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
                with socket.create_connection(("127.0.0.1", url.port), WAIT_SECONDS) as plain:
                    with self.assertRaises(OSError):
                        old.wrap_socket(plain)
                with socket.create_connection(("127.0.0.1", url.port), WAIT_SECONDS) as plain:
                    plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    self.assertNotIn(b"200", plain.recv(4096))
            os.chmod(pair[0], 0o600)
            self.assert_refused(*run_program(*words, pair[0], str(target.pid)), 2, "cannot use the TLS certificate and key")
            self.assert_refused(*run_program(*words, "/nowhere", str(target.pid)), 1, "cannot read the TLS key '/nowhere'")
            self.assert_refused(*run_program("attach", "--tls-cert", pair[0], str(target.pid)), 2, "must be given together")

    def test_ipv6(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            self.skipTest("this machine has no ::1")
        with victim("chain.py", LONG) as target, program("attach", "--listen", "[::1]:0", str(target.pid)) as process:
            url = urllib.parse.urlsplit(process.wait_line(r"^(http://\[::1\]:\d+/\?token=\S+)$").group(1))
            connection = http.client.HTTPConnection("::1", url.port, timeout=WAIT_SECONDS)
            for name, status in (("[::1]:%d" % url.port, 303), ("[::1].evil.example", 400), ("evil.example", 421)):
                connection.request("GET", "/?" + url.query, headers={"Host": name})
                self.assertEqual(Answer(connection.getresponse()).status, status, name)
            connection.close()

    def test_sockets_of_systemd_and_news_for_it(self):
        """As sd_listen_fds(3) and sd_notify(3) have it, with us as systemd."""
        with tempfile.TemporaryDirectory() as folder, victim("chain.py", LONG) as target:
            news = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            news.settimeout(WAIT_SECONDS)
            news.bind(os.path.join(folder, "notify"))
            self.addCleanup(news.close)
            listening = socket.create_server(("127.0.0.1", 0))
            self.addCleanup(listening.close)
            port = listening.getsockname()[1]
            # The shell's pid is that of the program it becomes.
            script = "exec 3<&%d; export LISTEN_FDS=%%s LISTEN_PID=$$; exec %s attach %%s %d" % (
                listening.fileno(), PROGRAM, target.pid)
            environment = dict(os.environ, NOTIFY_SOCKET=os.path.join(folder, "notify"))
            passed = {"pass_fds": [listening.fileno()], "env": environment}
            with Process(["bash", "-c", script % (1, "")], **passed) as process:
                process.wait_line(r"^http://127\.0\.0\.1:%d/\?token=" % port)
                self.assertEqual(news.recv(100), b"READY=1")
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS)
                connection.request("GET", "/healthz")
                self.assertEqual(Answer(connection.getresponse()).status, 200)
                connection.close()
                process.signal(15)
                self.assertEqual(process.wait(), 0)
                self.assertEqual(news.recv(100), b"STOPPING=1")
            for count, words, reason in ((2, "", "passes 2 sockets"), (1, "--listen 127.0.0.1:0", "remove --listen")):
                with Process(["bash", "-c", script % (count, words)], **passed) as process:
                    self.assert_refused(process, process.wait(), 2, reason)

    def test_a_service_says_that_it_is_alive_and_fails_without_the_one_that_starts_others(self):
        """As sd_watchdog_enabled(3) has it: systemd starts again what hangs, or fails."""
        with tempfile.TemporaryDirectory() as folder:
            news = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            news.settimeout(WAIT_SECONDS)
            news.bind(os.path.join(folder, "notify"))
            self.addCleanup(news.close)
            environment = dict(os.environ, NOTIFY_SOCKET=os.path.join(folder, "notify"), WATCHDOG_USEC="200000")
            with Process([PROGRAM, "serve", "--no-data", "--no-continuous", "--listen", "127.0.0.1:0"], env=environment) as process:
                process.wait_line(r"^http://127\.0\.0\.1:")
                self.assertEqual([news.recv(100) for _ in range(3)], [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"])
                os.kill(processes_of(process.pid)["pyrometer-keep"], signal.SIGKILL)
                self.assertEqual(process.wait(), 1)
                process.wait_line("has ended: start pyrometer again", process.err)


class BasePath(Test):
    def test_below_a_path_with_and_without_a_proxy_that_takes_it_off(self):
        with victim("chain.py", LONG) as target, Live("attach", "--base-path", "/team/heat/", str(target.pid)) as live:
            self.assertRegex(live.url, r"^http://127\.0\.0\.1:\d+/team/heat/\?token=")
            answer = live.ask("/team/heat", token=False)
            self.assertEqual((answer.status, answer.headers["Location"]), (308, "/team/heat/"))
            for path in ("/team/heat/?token=", "/team/heat?token=", "/?token="):
                answer = live.ask(path + live.token, token=False)
                self.assertEqual((answer.status, answer.headers["Location"]), (303, "/team/heat/"), path)
                self.assertRegex(answer.headers["Set-Cookie"], r"; Path=/team/heat/$")
            secure = live.ask("/?token=" + live.token, headers={"X-Forwarded-Proto": "https"}, token=False)
            self.assertRegex(secure.headers["Set-Cookie"], r"; Secure$")
            page = live.ask("/team/heat/").body.decode()
            self.assertNotRegex(page, r'(?:src|href)="/')
            for prefix in ("", "/team/heat"):
                self.assertEqual(live.ask(prefix + "/api/v1/sessions/1").json()["id"], "1")
            for path in ("/team/heated/api/v1/sessions", "/team/heat/team/heat/", "/team/", "/team"):
                self.assertEqual(live.ask(path).status, 404, path)
            self.assertEqual(live.ask("/team/heat/api/v1/sessions", token=False).status, 401)
            url = share(live)["url"]
            self.assertTrue(re.match(r"^http://127\.0\.0\.1:\d+/team/heat/\?token=[0-9a-f]{64}$", url), url)


class Units(Test):
    def test_units_are_what_systemd_takes(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze")
        folder = os.path.join(ROOT, "server", "systemd")
        with tempfile.TemporaryDirectory() as place:
            names = [os.path.join(place, "pyrometer." + kind) for kind in ("service", "socket")]
            with open(os.path.join(folder, "pyrometer.service.in"), encoding="utf-8") as file:
                text = file.read().replace("@PYROMETER@", PROGRAM)
            self.assertNotRegex(text, r"@[A-Z]+@")
            with open(names[0], "w", encoding="utf-8") as file:
                file.write(text)
            shutil.copy(os.path.join(folder, "pyrometer.socket"), names[1])
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", *names], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=WAIT_SECONDS, check=False, text=True)
            # Findings about other units of the machine are not ours.
            ours = [line for line in done.stdout.splitlines() if "pyrometer" in line]
            self.assertEqual(ours, [], done.stdout)
            self.assertIn(done.returncode, (0, 1), done.stdout)


class Proxy:
    """Passes requests to another port, with their path or without the prefix, as nginx would."""

    def __init__(self, port, strips=""):
        self.to, self.strips = port, strips
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            with client:
                self._pass_on(client)

    def _pass_on(self, client):
        client.settimeout(WAIT_SECONDS)
        request = b""
        while b"\r\n\r\n" not in request:
            request += client.recv(65536)
        head, _, body = request.partition(b"\r\n\r\n")
        line, _, rest = head.partition(b"\r\n")
        method, target, version = line.split(b" ")
        if self.strips and target.startswith(self.strips.encode()):
            target = target[len(self.strips):]
        length = re.search(rb"(?i)content-length: (\d+)", rest)
        while length and len(body) < int(length.group(1)):
            body += client.recv(65536)
        with socket.create_connection(("127.0.0.1", self.to), WAIT_SECONDS) as server:
            server.sendall(b" ".join([method, target, version]) + b"\r\n" + rest + b"\r\nConnection: close\r\n\r\n" + body)
            while True:
                data = server.recv(65536)
                if not data:
                    return
                client.sendall(data)

    def close(self):
        self._server.close()


class BehindAProxy(Test):
    def test_both_kinds_of_proxy(self):
        with victim("chain.py", LONG) as target, Live("attach", "--base-path", "/heat", str(target.pid)) as live:
            for strips in ("", "/heat"):
                proxy = Proxy(live.port, strips)

                def ask(path, method="GET", body=None, headers=None, port=proxy.port):
                    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS)
                    try:
                        connection.request(method, path, body, headers or {})
                        return Answer(connection.getresponse())
                    finally:
                        connection.close()

                answer = ask("/heat/?token=" + live.token)
                self.assertEqual((answer.status, answer.headers["Location"]), (303, "/heat/"), strips)
                cookie = {"Cookie": answer.headers["Set-Cookie"].partition(";")[0]}
                self.assertEqual(ask("/heat/", headers=cookie).status, 200)
                self.assertEqual(ask("/heat/api/v1/sessions/1", headers=cookie).json()["id"], "1")
                own = dict(cookie, Origin="http://127.0.0.1:%d" % proxy.port, **MARK)
                self.assertEqual(ask("/heat/api/v1/sessions/1", "PATCH", '{"state": "running"}', own).status, 200)
                own["Origin"] = "http://127.0.0.1:%d" % live.port
                self.assertEqual(ask("/heat/api/v1/sessions/1", "PATCH", '{"state": "running"}', own).status, 403)
                proxy.close()


if __name__ == "__main__":
    main()
