"""Clients that break TLS in every place, and certificates and keys that are none: the server goes on, or says why not."""

import http.client
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time

from harness import SKIPPED, SLOWNESS, WAIT_SECONDS, Test, main, program, run_program
from usage import descriptors_of, threads_of

if not shutil.which("openssl"):
    print("skipped: openssl is not installed, which makes certificates")
    sys.exit(SKIPPED)

ROUNDS = 20


def openssl(*arguments):
    made = subprocess.run(["openssl", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=60, check=False)
    assert made.returncode == 0, made.stdout


def make_pair(folder, name, *arguments):
    cert, key = (os.path.join(folder, name + ending) for ending in (".pem", ".key"))
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "2", *arguments, "-out", cert, "-keyout", key)
    return cert, key


class Tls(Test):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="tls-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.cert, cls.key = make_pair(cls.folder, "one")
        cls.trust = ssl.create_default_context(cafile=cls.cert)

    def path(self, name):
        return os.path.join(self.folder, name)

    def serve(self, cert=None, key=None, **options):
        return program("serve", "--no-data", "--listen", "127.0.0.1:0", "--tls-cert", cert or self.cert,
                       "--tls-key", key or self.key, **options)

    def port_of(self, process):
        return int(process.wait_line(r"^https://127\.0\.0\.1:(\d+)/").group(1))


def client_hello(trust):
    """The first message of a client, as bytes."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    side = trust.wrap_bio(incoming, outgoing, server_hostname="localhost")
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def record(kind, data, version=0x0303):
    return struct.pack(">BHH", kind, version, len(data) & 0xffff) + data


class Clients(Tls):
    def setUp(self):
        self.process = self.serve()
        self.addCleanup(self.process.kill)
        self.port = self.port_of(self.process)
        self.open = []
        self.addCleanup(self.close_all)
        self.healthy()

    def healthy(self):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=WAIT_SECONDS, context=self.trust)
        try:
            connection.request("GET", "/healthz")
            self.assertEqual(connection.getresponse().status, 200)
        finally:
            connection.close()

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port), WAIT_SECONDS)
        self.open.append(connection)
        return connection

    def close_all(self):
        while self.open:
            self.open.pop().close()

    def encrypted(self):
        self.open.append(self.trust.wrap_socket(self.connect(), server_hostname="localhost"))
        return self.open[-1]

    def settled(self, files, threads):
        """Until no more of them are open than before."""
        end = time.monotonic() + 30 * SLOWNESS
        while len(descriptors_of(self.process.pid)) > files or threads_of(self.process.pid) > threads:
            self.assertLess(time.monotonic(), end, (files, threads, len(descriptors_of(self.process.pid))))
            time.sleep(0.2)

    def attack(self, *moves):
        """Each of them again and again; then all is as before."""
        time.sleep(0.5)
        files, threads = len(descriptors_of(self.process.pid)), threads_of(self.process.pid)
        for _ in range(ROUNDS):
            for move in moves:
                try:
                    move()
                except (OSError, ValueError):
                    pass
            self.close_all()
        self.healthy()
        self.settled(files, threads)
        self.assertTrue(self.process.is_running(), self.process.output())
        self.process.signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(), 0, self.process.output())
        self.process.check_sanitizers()

    def send(self, data, answer=True):
        connection = self.connect()
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(2 * SLOWNESS)
        while answer and connection.recv(65536):
            pass

    def test_what_is_no_handshake(self):
        hello = client_hello(self.trust)
        huge = record(22, b"\1" + (0xffffff).to_bytes(3, "big") + bytes(16000))
        self.attack(
            lambda: self.send(os.urandom(2000)),
            lambda: self.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            lambda: self.send(b""),
            lambda: self.send(record(22, b"\1" + os.urandom(500))),
            lambda: self.send(record(23, b"data before the handshake")),
            lambda: self.send(record(21, b"\2\50")),
            lambda: self.send(record(20, b"\1")),
            lambda: self.send(b"\x16\x03\x03\xff\xff" + bytes(70000)),
            lambda: self.send(huge * 8),
            lambda: self.send(hello[:-1] + b"\0" + record(22, b"")),
            lambda: self.send(hello + hello),
            lambda: self.send(hello + os.urandom(300)))

    def test_a_handshake_that_stops_half_way(self):
        hello = client_hello(self.trust)

        def stop_after(count):
            connection = self.connect()
            connection.sendall(hello[:count])
            connection.close()

        def reset_after(count):
            connection = self.connect()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(hello[:count])
            connection.close()
        self.attack(*(lambda count=count, way=way: way(count)
                      for count in (1, 5, 9, len(hello) - 1, len(hello)) for way in (stop_after, reset_after)))

    def test_many_that_say_nothing_more_keep_nobody_out(self):
        hello = client_hello(self.trust)
        files, threads = len(descriptors_of(self.process.pid)), threads_of(self.process.pid)
        silent = []
        for i in range(100):
            silent.append(self.connect())
            silent[-1].sendall(hello[:i * len(hello) // 100])
        self.healthy()
        # They need not go for the server to let go of them.
        self.settled(files + 2, threads + 2)
        self.healthy()

    def test_ends_of_all_kinds(self):
        request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

        def without_goodbye():
            side = self.encrypted()
            side.sendall(request)
            side.close()

        def goodbye_at_once():
            self.encrypted().unwrap()

        def goodbye_in_a_request():
            side = self.encrypted()
            side.sendall(request[:20])
            side.unwrap()

        def garbage_after_the_handshake():
            side = self.encrypted()
            raw = socket.socket(fileno=os.dup(side.fileno()))
            with raw:
                raw.sendall(record(23, os.urandom(200)) + os.urandom(200))
                raw.settimeout(2 * SLOWNESS)
                while raw.recv(65536):
                    pass

        def huge_record_after_the_handshake():
            side = self.encrypted()
            with socket.socket(fileno=os.dup(side.fileno())) as raw:
                raw.sendall(b"\x17\x03\x03\xff\xff" + bytes(65535))

        def many_small_records():
            side = self.encrypted()
            for byte in request:
                side.sendall(bytes([byte]))
            assert side.recv(100).startswith(b"HTTP/1.1 200")
        self.attack(without_goodbye, goodbye_at_once, goodbye_in_a_request, garbage_after_the_handshake,
                    huge_record_after_the_handshake, many_small_records)

    def test_handshakes_that_are_requested_again(self):
        # "R" alone on a line asks for one.
        client = subprocess.Popen(["openssl", "s_client", "-connect", "127.0.0.1:%d" % self.port, "-tls1_2"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            received, _ = client.communicate(b"R\n" * 20, WAIT_SECONDS)
        finally:
            client.kill()
            client.wait()
        self.assertIn(b"RENEGOTIATING", received)
        self.healthy()
        used = self.cpu()
        time.sleep(1)
        self.assertLess(self.cpu() - used, 0.5)

    def cpu(self):
        with open("/proc/%d/stat" % self.process.pid, encoding="ascii", errors="replace") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Files(Tls):
    def refused(self, cert, key, code, pattern):
        with self.subTest(cert=cert, key=key):
            # The library keeps what it has read of a certificate that is cut short; the program ends anyway.
            environment = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
            self.assert_refused(*run_program("serve", "--no-data", "--listen", "127.0.0.1:0", "--tls-cert", cert,
                                             "--tls-key", key, env=environment), code, pattern)

    def test_that_do_not_belong_together_or_are_none(self):
        _, other = make_pair(self.folder, "other")
        with open(self.path("words"), "w", encoding="ascii") as file:
            file.write("no certificate\n")
        with open(self.path("half"), "wb") as file, open(self.cert, "rb") as whole:
            file.write(whole.read()[:200])
        openssl("ec", "-in", self.key, "-aes128", "-passout", "pass:secret", "-out", self.path("locked"))
        for name in ("words", "half", "locked"):
            os.chmod(self.path(name), 0o600)
        for cert, key in ((self.cert, other), (self.cert, self.path("words")), (self.path("words"), self.key),
                          (self.path("half"), self.key), (self.cert, self.path("half")), (self.cert, self.path("locked"))):
            self.refused(cert, key, 2, "cannot use the TLS certificate and key")

    def test_that_cannot_be_read(self):
        os.mkdir(self.path("folder"))
        os.symlink("loop", self.path("loop"))
        with open(self.path("empty"), "wb"), open(self.path("large"), "wb") as file:
            file.truncate(8 << 30)
        os.chmod(self.path("large"), 0o600)
        os.chmod(self.path("empty"), 0o600)
        for name, code, pattern in (("folder", 1, "not a file or a pipe"), ("loop", 1, "symbolic links"),
                                    ("nothing", 1, "No such file"), ("empty", 2, "is empty or larger"),
                                    ("large", 2, "is empty or larger"), ("/dev/zero", 1, "not a file or a pipe"),
                                    ("/proc/self/mem", 1, "Input/output error")):
            self.refused(self.cert, self.path(name), code, pattern)
            self.refused(self.path(name), self.key, code, pattern)

    def test_a_key_that_others_own_is_refused_to_others(self):
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        os.chmod(self.key, 0o600)
        os.chmod(self.folder, 0o755)

        def become_nobody():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        process, code = run_program("serve", "--no-data", "--listen", "127.0.0.1:0", "--tls-cert", self.cert, "--tls-key",
                                    self.key, preexec_fn=become_nobody)
        self.assert_refused(process, code, 1, "cannot read the TLS key .*Permission denied")

    def test_a_pipe_is_waited_for_and_read(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe, 0o600)
        with open(self.key, "rb") as file:
            key = file.read()
        with self.serve(key=pipe) as process:
            with open(pipe, "wb") as writer:
                writer.write(key[:10])
                writer.flush()
                time.sleep(0.2)
                writer.write(key[10:])
            self.port_of(process)

    def test_a_pipe_that_nobody_writes_into_ends_with_a_signal(self):
        pipe = self.path("silent")
        os.mkfifo(pipe, 0o600)
        for words in (["--tls-cert", self.cert, "--tls-key", pipe], ["--tls-cert", pipe, "--tls-key", self.key],
                      ["--token-file", pipe]):
            with self.subTest(words=words), program("serve", "--no-data", "--listen", "127.0.0.1:0", *words) as process:
                time.sleep(1)
                self.assertTrue(process.is_running(), process.output())
                process.signal(signal.SIGTERM)
                code = process.wait(10 * SLOWNESS)
                self.assertTrue(code in (-signal.SIGTERM, 1), process.output())
                if code == 1:
                    self.assertRegex(process.err[-1], re.escape("stopped before anything was written"))


if __name__ == "__main__":
    main()
