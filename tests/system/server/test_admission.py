"""Who holds connections open keeps nobody out."""

import http.client
import os
import resource
import socket
import ssl
import subprocess
import tempfile
import threading
import time

from harness import SLOWNESS, WAIT_SECONDS, Answer, Live, Test, main, program, victim

LONG = "300"
# How long the server gives a request to come in, connections.h.
HEADER_SECONDS = 10
ROOM = 800 + 128
STRANGERS_OF_USER = 96
BEGUN = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "
# For ever, where the places are taken or a header may go on; a moment, else, but this machine does other things besides.
SOON = 30 * SLOWNESS
# By then a browser asks again.
PATIENCE = 5 * SLOWNESS


def connect(port, source="127.0.0.1"):
    connection = socket.socket()
    connection.settimeout(WAIT_SECONDS)
    connection.bind((source, 0))
    connection.connect(("127.0.0.1", port))
    return connection


def say(connection, data):
    try:
        connection.send(data)
    except OSError:
        pass  # it was ended


def is_over(connection):
    """True if the other side has ended the connection; what it sent is thrown away."""
    connection.setblocking(False)
    try:
        while connection.recv(65536):
            pass
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True


class Crowd:
    """Many connections that say as little as they can: `rounds` trickle a byte into each that is left."""

    def __init__(self, port, sources, count):
        self.connections = []
        for i in range(count):
            connection = connect(port, sources[i % len(sources)])
            self.connections.append(connection)
            say(connection, BEGUN)

    def trickle(self):
        for connection in self.connections:
            say(connection, b"x")

    def left(self):
        return sum(not is_over(connection) for connection in self.connections)

    def close(self):
        for connection in self.connections:
            connection.close()


class Admission(Test):
    def setUp(self):
        target = victim("chain.py", LONG)
        self.addCleanup(target.__exit__, None, None, None)
        self.live = Live("attach", str(target.pid))
        self.addCleanup(self.live.__exit__, None, None, None)

    def ask_from(self, source, path="/api/v1/sessions/1", seconds=WAIT_SECONDS):
        connection = http.client.HTTPConnection("127.0.0.1", self.live.port, timeout=seconds, source_address=(source, 0))
        try:
            connection.request("GET", path, headers={"Authorization": "Bearer " + self.live.token})
            return Answer(connection.getresponse()).status
        finally:
            connection.close()

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.live.process.pid))

    def assert_answered_soon(self, source):
        """As by a browser, which asks again."""
        end, status = time.monotonic() + SOON, None
        while status != 200:
            self.assertLess(time.monotonic(), end, "last: %r" % status)
            try:
                status = self.ask_from(source, seconds=PATIENCE)
            except OSError as problem:
                status = problem

    def test_headers_that_trickle_keep_nobody_out_and_end(self):
        crowd = Crowd(self.live.port, ["127.0.0.2", "127.0.0.3"], 850)
        self.addCleanup(crowd.close)
        began = time.monotonic()
        for source in ("127.0.0.1", "127.0.0.2", "127.0.0.3"):
            self.assert_answered_soon(source)
        while crowd.left() and time.monotonic() < began + SOON:
            crowd.trickle()
            time.sleep(1)
        self.assertEqual(crowd.left(), 0, "a byte now and then makes a header last for ever")
        self.assertGreaterEqual(time.monotonic() - began, HEADER_SECONDS - 2, "they were ended for another reason")
        self.live.wait_until(lambda: self.descriptors() < 100)

    def test_five_thousand_connections_keep_no_operator_out(self):
        given = resource.getrlimit(resource.RLIMIT_NOFILE)
        if given[1] < 6000:
            self.skipTest("needs 6000 descriptors, %d may be had" % given[1])
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(given[0], 6000), given[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, given)
        crowd = Crowd(self.live.port, ["127.0.0.%d" % (2 + i) for i in range(10)], 5000)
        self.addCleanup(crowd.close)
        for source in ("127.0.0.1", "127.0.0.2"):
            self.assert_answered_soon(source)
        self.assertLess(self.descriptors(), ROOM + 100)
        ended = threading.Event()

        def storm():
            while not ended.is_set():
                connect(self.live.port, "127.0.0.4").close()

        attacker = threading.Thread(target=storm)
        attacker.start()
        try:
            for _ in range(5):
                self.assert_answered_soon("127.0.0.1")
        finally:
            ended.set()
            attacker.join()
        self.assertEqual(self.ask_from("127.0.0.1", "/api/v1/sessions/1/view"), 200)

    def test_half_a_request_ends_where_the_client_does(self):
        beginnings = (b"", b"G", BEGUN, b"PATCH /api/v1/sessions/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60\r\n\r\n{")
        for beginning in beginnings:
            connection = connect(self.live.port)
            self.addCleanup(connection.close)
            connection.sendall(beginning)
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(HEADER_SECONDS / 2)
            self.assertEqual(connection.recv(100), b"", beginning)
        # Who has said all may stop talking before the answer.
        connection = connect(self.live.port)
        self.addCleanup(connection.close)
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 200"))

    def test_those_who_have_gone_hold_nothing(self):
        before = self.descriptors()
        for _ in range(200):
            connection = connect(self.live.port)
            connection.sendall(BEGUN)
            connection.close()
        self.live.wait_until(lambda: self.descriptors() < before + 20, HEADER_SECONDS / 2)

    def test_bodies_that_trickle_end(self):
        connection = connect(self.live.port)
        self.addCleanup(connection.close)
        connection.sendall(b"PATCH /api/v1/sessions/1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
                           b"X-Pyrometer: 1\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{"
                           % self.live.token.encode())
        end = time.monotonic() + WAIT_SECONDS
        while not is_over(connection):
            self.assertLess(time.monotonic(), end)
            say(connection, b" ")
            time.sleep(1)

    def test_pages_that_are_logged_in_are_not_in_the_way_of_each_other(self):
        """Two hundred pages and fifty people at one address, each with a connection of its own, while strangers come."""
        login = self.live.ask("/?token=" + self.live.token, token=False)
        cookie = {"Cookie": login.headers["Set-Cookie"].partition(";")[0]}
        pages = []
        for _ in range(250):
            page = http.client.HTTPConnection("127.0.0.1", self.live.port, timeout=WAIT_SECONDS)
            self.addCleanup(page.close)
            page.request("GET", "/api/v1/sessions/1", headers=cookie)
            self.assertEqual(Answer(page.getresponse()).status, 200)
            pages.append((page, page.sock))
        crowd = Crowd(self.live.port, ["127.0.0.1", "127.0.0.2"], 850)
        self.addCleanup(crowd.close)
        for page, connection in pages:
            page.request("GET", "/api/v1/sessions/1", headers=cookie)
            self.assertEqual(Answer(page.getresponse()).status, 200)
            self.assertIs(page.sock, connection, "the connection was dropped meanwhile")


class UnixSocket(Test):
    def test_one_user_is_one_network(self):
        with tempfile.TemporaryDirectory() as folder, victim("chain.py", LONG) as target:
            path = os.path.join(folder, "socket")
            with program("attach", "--listen", "unix:" + path, str(target.pid)) as process:
                process.wait_line(r"^http\+unix://")

                def connect_unix():
                    connection = socket.socket(socket.AF_UNIX)
                    self.addCleanup(connection.close)
                    connection.settimeout(WAIT_SECONDS)
                    connection.connect(path)
                    return connection
                crowd = [connect_unix() for _ in range(250)]
                for connection in crowd:
                    say(connection, BEGUN)
                newcomer = connect_unix()
                newcomer.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertTrue(newcomer.recv(100).startswith(b"HTTP/1.1 200"))
                wanted, end = 250 - STRANGERS_OF_USER, time.monotonic() + WAIT_SECONDS
                # The last of them may still be on their way out.
                while sum(is_over(connection) for connection in crowd) < wanted and time.monotonic() < end:
                    time.sleep(0.1)
                self.assertGreaterEqual(sum(is_over(connection) for connection in crowd), wanted)
                self.assertFalse(is_over(crowd[-1]))


class Handshakes(Test):
    def test_one_that_never_ends_is_ended(self):
        with tempfile.TemporaryDirectory() as folder, victim("chain.py", LONG) as target:
            pair = [os.path.join(folder, name) for name in ("cert.pem", "key.pem")]
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                            "-days", "2", "-subj", "/CN=localhost", "-out", pair[0], "-keyout", pair[1]],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            with program("attach", "--listen", "127.0.0.1:0", "--tls-cert", pair[0], "--tls-key", pair[1],
                         str(target.pid)) as process:
                port = int(process.wait_line(r"^https://127\.0\.0\.1:(\d+)/").group(1))
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
                handshake = context.wrap_bio(incoming, outgoing)
                with self.assertRaises(ssl.SSLWantReadError):
                    handshake.do_handshake()
                hello = outgoing.read()
                crowd = [connect(port) for _ in range(300)]
                for connection in crowd:
                    self.addCleanup(connection.close)
                end = time.monotonic() + WAIT_SECONDS
                sent = 0
                while not all(is_over(connection) for connection in crowd):
                    self.assertLess(time.monotonic(), end)
                    for connection in crowd:
                        say(connection, hello[sent:sent + 1])
                    sent = min(sent + 1, len(hello) - 2)
                    time.sleep(0.5)


if __name__ == "__main__":
    main()
