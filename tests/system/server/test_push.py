"""Pushes to other servers: the same samples as in the capture, in order, whatever the other side does."""

import collections
import glob
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import tempfile
import time

from harness import FOLDER, ROOT, Live, SLOWNESS, Test, VICTIMS, file_in, main, program, run_program, victim
from pushed import BATCH, PushTest, SCHEMES, sums_of
from receivers import Receiver

# A program that publishes its context as OTEP 4719 says.
SAYS_SERVICE = """
import ctypes, mmap, os, struct, time
def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data
message = field(1, field(1, field(1, b"service.name") + field(2, field(1, b"checkout"))))
fd = os.memfd_create("OTEL_CTX")
os.ftruncate(fd, mmap.PAGESIZE)
place = mmap.mmap(fd, mmap.PAGESIZE, mmap.MAP_PRIVATE)
address = ctypes.addressof(ctypes.c_char.from_buffer(place))
place[32:32 + len(message)] = message
place[0:32] = struct.pack("8sIIQQ", b"OTEL_CTX", 2, len(message), time.monotonic_ns(), address + 32)
print("READY", flush=True)
while True:
    sum(range(1000))
"""

# Threads that wait with hundreds of functions on each stack, whose names alone are more than a profile may have.
WIDE = """
import random, sys, threading
sys.setrecursionlimit(2000)
FUNCTIONS = []
def next_one():
    return random.randrange(10000)
for number in range(10000):
    exec("def f%d_%s(depth):\\n    return FUNCTIONS[next_one()](depth - 1) if depth else wait()" % (number, "f" * 200))
    FUNCTIONS.append(globals()["f%d_%s" % (number, "f" * 200)])
def wait():
    BARRIER.wait()
    threading.Event().wait()
BARRIER = threading.Barrier(31)
for _ in range(30):
    threading.Thread(target=FUNCTIONS[next_one()], args=(900,), daemon=True).start()
BARRIER.wait()
print("READY", flush=True)
while True:
    sum(range(10000))
"""

NAMES = {"otlp": {"service_name": "service.name", "process_id": "process.pid", "hostname": "host.name"}}


def label(scheme, profile, name):
    return profile.labels.get(NAMES.get(scheme, {}).get(name, name))


class Pushed(PushTest):
    def test_what_is_pushed_is_what_is_recorded(self):
        for scheme in SCHEMES:
            capture = file_in("push-%s.pyro" % scheme)
            with victim("threads.py") as target, Receiver(scheme) as receiver:
                process, code = run_program("record", target.pid, "-d", "3", "-r", "200", "-o", capture, "--push", receiver.url, *BATCH,
                                            "--label", "env=test")
                self.assertEqual(code, 0, process.output())
                profiles = receiver.profiles()
                self.check_same(profiles, capture)
                for profile in profiles:
                    self.assertEqual(profile.executable, os.path.realpath("/proc/%d/exe" % target.pid))
                    self.assertEqual(label(scheme, profile, "service_name"), "threads.py")
                    self.assertEqual(str(label(scheme, profile, "process_id")), str(target.pid))
                    self.assertEqual(profile.labels["env"], "test")
                    self.assertEqual([labels for labels in profile.sample_labels if labels], [])
                walls = [profile for profile in profiles if profile.name == "wall"]
                self.assertGreaterEqual(len(walls), 3)
                self.check_follow(walls)

    def test_a_capture_is_pushed_batch_by_batch(self):
        capture = file_in("push-whole.pyro")
        with victim("threads.py") as target:
            process, code = run_program("record", target.pid, "-d", "3", "-r", "200", "-o", capture)
            self.assertEqual(code, 0, process.output())
        with Receiver("pyroscope") as one, Receiver("otlp") as two:
            process, code = run_program("push", capture, one.url, two.url, *BATCH, "--sample-labels", "thread,state")
            self.assertEqual(code, 0, process.output())
            for receiver in one, two:
                profiles = receiver.profiles()
                self.check_same(profiles, capture)
                self.assertEqual(len([profile for profile in profiles if profile.name == "wall"]), 3)
                given = {key for profile in profiles for labels in profile.sample_labels for key in labels}
                self.assertLessEqual({"thread", "state"} if receiver is one else {"thread.name", "pyrometer.thread.state"}, given)

    def test_processes_of_equal_labels_are_one(self):
        capture = self.record_two("push-equal.pyro")
        for scheme in SCHEMES:
            with Receiver(scheme) as receiver:
                process, code = run_program("push", capture, receiver.url, *BATCH, "--label", "process_id=")
                self.assertEqual(code, 0, process.output())
                self.check_same(receiver.profiles(), capture)

    def test_a_batch_that_is_sent_in_parts_keeps_its_sum(self):
        capture, path = file_in("push-wide.pyro"), file_in("push_wide.py")
        pathlib.Path(path).write_text(WIDE, "utf-8")
        with victim(path) as target:
            process, code = run_program("record", target.pid, "-d", "3", "-r", "100", "-o", capture)
            self.assertEqual(code, 0, process.output())
        for scheme in SCHEMES:
            with Receiver(scheme) as receiver:
                process, code = run_program("push", capture, receiver.url)
                self.assertEqual(code, 0, process.output())
                self.assertGreater(len(receiver.stored), 2)
                profiles = receiver.profiles()
                self.check_same(profiles, capture)
                for name in "wall", "process_cpu":
                    parts = [profile for profile in profiles if profile.name == name]
                    self.check_follow(parts)
                    self.assertEqual({profile.period_ns for profile in parts}, {parts[0].period_ns})

    def test_samples_of_spans_have_their_ids(self):
        spans = {("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"), ("0" * 31 + "1", "f" * 16)}
        for variable in "opentelemetry", "request_id":
            capture = file_in("push-%s.pyro" % variable)
            with victim("contexts.py", "threads") as target:
                process, code = run_program("record", target.pid, "-d", "2", "-r", "200", "--context", variable, "-o", capture)
                self.assertEqual(code, 0, process.output())
            for scheme in SCHEMES:
                with Receiver(scheme) as receiver:
                    process, code = run_program("push", capture, receiver.url)
                    self.assertEqual(code, 0, process.output())
                    profiles = receiver.profiles()
                    self.check_same(profiles, capture)
                    found = {(labels["trace_id"], labels["span_id"]) for profile in profiles for labels in profile.sample_labels if labels}
                    self.assertEqual(found, spans if variable == "opentelemetry" and scheme != "parca" else set())

    def test_native_frames_have_their_library(self):
        capture = file_in("push-native.pyro")
        with victim("native.py") as target:
            process, code = run_program("record", target.pid, "-d", "1", "--native=full", "--engine", "remote", "--stop", "always",
                                        "-o", capture)
            self.assertEqual(code, 0, process.output())
        with Receiver("otlp") as receiver:
            process, code = run_program("push", capture, receiver.url, "--native-frames", "all")
            self.assertEqual(code, 0, process.output())
            kinds = collections.Counter(kind for profile in receiver.profiles() for kind in profile.frame_types.values())
            self.assertEqual(set(kinds), {"cpython", "native"})
            self.check_same(receiver.profiles(), capture, options=("--native-frames", "all"))

    def test_no_stack_is_deeper_than_a_server_takes(self):
        capture = file_in("push-deep.pyro")
        with victim("recursion.py", "1500") as target:
            process, code = run_program("record", target.pid, "-d", "1", "-r", "50", "-o", capture)
            self.assertEqual(code, 0, process.output())
        for scheme in SCHEMES:
            with Receiver(scheme) as receiver:
                process, code = run_program("push", capture, receiver.url)
                self.assertEqual(code, 0, process.output())
                self.assertEqual(max(len(stack) for profile in receiver.profiles() for stack in profile.sums), 1000)

    def test_anonymized_profiles_name_nothing(self):
        capture = file_in("push-secret.pyro")
        with victim("secretive.py") as target:
            process, code = run_program("record", target.pid, "-d", "1", "-o", capture)
            self.assertEqual(code, 0, process.output())
        for scheme in SCHEMES:
            with Receiver(scheme) as receiver:
                process, code = run_program("push", capture, receiver.url, "--anonymize")
                self.assertEqual(code, 0, process.output())
                profiles = receiver.profiles()
                self.assertTrue(profiles)
                for profile in profiles:
                    self.assertEqual(label(scheme, profile, "service_name"), "[anonymized]")
                    self.assertIsNone(label(scheme, profile, "hostname"))
                    for stack in profile.sums:
                        self.assertFalse([name for name in stack if "secret" in name.lower()], stack)

    def test_a_service_is_what_its_environment_says(self):
        names = dict(os.environ, OTEL_SERVICE_NAME="checkout", OTEL_RESOURCE_ATTRIBUTES="service.version=1.2,secret=word", SECRET="word")
        with victim("threads.py", env=names) as target:
            for options, wanted in ((), ("checkout", "1.2")), (("--hide-args",), ("python", None)):
                with Receiver("pyroscope") as receiver:
                    process, code = run_program("record", target.pid, "-d", "1", "--push", receiver.url, *options)
                    self.assertEqual(code, 0, process.output())
                    for profile in receiver.profiles():
                        given = profile.labels["service_name"], profile.labels.get("service_version")
                        self.assertTrue(given[0].startswith(wanted[0]), given)
                        self.assertEqual(given[1], wanted[1])
                        self.assertNotIn("word", json.dumps(profile.labels))

    def test_what_run_starts_is_pushed(self):
        with Receiver("pyroscope") as receiver, \
                Live("run", "--push", receiver.url, *BATCH, os.path.join(VICTIMS, "threads.py"), "2", "60") as live:
            live.wait_until(lambda: "wall" in {profile.name for profile in receiver.profiles()})
            profiles = receiver.profiles()
            self.assertEqual({profile.labels["service_name"] for profile in profiles}, {"threads.py"})
            self.assertTrue([stack for stack in sums_of(profiles, "wall") if stack[-1] == "_bootstrap" or "<module>" in stack])
            live.stop()

    def test_a_process_says_what_its_service_is(self):
        path = file_in("says_service.py")
        pathlib.Path(path).write_text(SAYS_SERVICE, "utf-8")
        with victim(path, env=dict(os.environ, OTEL_SERVICE_NAME="other")) as target, Receiver("pyroscope") as receiver:
            process, code = run_program("record", target.pid, "-d", "1", "--push", receiver.url)
            self.assertEqual(code, 0, process.output())
            self.assertEqual({profile.labels["service_name"] for profile in receiver.profiles()}, {"checkout"})

    def test_a_service_is_named_by_the_process_that_reads(self):
        with victim("threads.py", env=dict(os.environ, OTEL_SERVICE_NAME="checkout")) as target, Receiver("otlp") as receiver:
            with Live("attach", target.pid, "--push", receiver.url, *BATCH):
                receiver.wait_for(lambda requests: len(requests) > 1, 60 * SLOWNESS)
            self.assertEqual({profile.labels["service.name"] for profile in receiver.profiles()}, {"checkout"})

    def test_a_refused_capture_fails(self):
        capture = file_in("push-refused.pyro")
        with victim("threads.py") as target:
            run_program("record", target.pid, "-d", "1", "-o", capture)
        with Receiver("pyroscope", answers=[(400, {})]) as receiver:
            process, code = run_program("push", capture, receiver.url)
            self.assertEqual(code, 1)
            self.assertIn("refuses a profile: 400 no", process.output())
            self.assertEqual(len(receiver.requests), 1)

    def test_a_refusal_says_its_reason_at_its_end(self):
        capture = os.path.join(ROOT, "tests", "golden", "version3.pyro")
        for scheme in SCHEMES:
            with Receiver(scheme) as receiver:
                process, code = run_program("push", capture, receiver.url)
                self.assertEqual(code, 1)
                self.assertTrue([line for line in process.err if "refuses a profile: 400 " in line and "it is too old" in line], process.err)


class Secrets(Test):
    def test_headers_come_from_a_file(self):
        path = file_in("push-headers")
        with open(path, "w", encoding="utf-8") as file:
            file.write("# of the team\nX-Scope-OrgID: team-a\nAuthorization: Bearer secret-token\n\n")
        os.chmod(path, 0o600)
        with victim("threads.py") as target, Receiver("pyroscope") as one, Receiver("otlp") as two:
            process, code = run_program("record", target.pid, "-d", "1", "--push", one.url, "--push-headers", path, "--push", two.url)
            self.assertEqual(code, 0, process.output())
            self.assertNotIn("secret-token", process.output())
            headers = one.requests[0][2]
            self.assertEqual((headers["X-Scope-OrgID"], headers["Authorization"]), ("team-a", "Bearer secret-token"))
            self.assertFalse({"X-Scope-OrgID", "Authorization"} & set(two.requests[0][2]))
            os.chmod(path, 0o644)
            process, code = run_program("record", target.pid, "-d", "1", "--push", one.url, "--push-headers", path)
            self.assertEqual(code, 3)
            self.assertIn("everyone can read the file of headers", process.err[-1])

    def test_malformed_headers_are_refused(self):
        path = file_in("push-malformed")
        for line in ("no colon", "a b: c", ": x", "X: a\x01b"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(line)
            os.chmod(path, 0o600)
            with victim("threads.py") as target:
                process, code = run_program("record", target.pid, "-d", "1", "--push", "otlp://127.0.0.1:1", "--push-headers", path)
                self.assertEqual(code, 2, process.output())
                self.assertIn("is not 'Name: value'", process.err[-1])


class Tls(Test):
    def test_a_certificate_must_be_trusted(self):
        if not shutil.which("openssl"):
            self.skipTest("openssl is not installed")
        key, certificate = file_in("push.key"), file_in("push.crt")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "1",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"], check=True, stderr=subprocess.DEVNULL)
        # The program drops root before it connects.
        os.chmod(FOLDER, 0o755)
        os.chmod(certificate, 0o644)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        with victim("threads.py") as target, Receiver("otlp") as receiver:
            receiver.server.socket = context.wrap_socket(receiver.server.socket, server_side=True)
            url = "otlp+https://localhost:%d" % receiver.port
            process, code = run_program("record", target.pid, "-d", "%g" % SLOWNESS, *BATCH, "--push", url)
            self.assertEqual(code, 1, process.output())
            self.assertTrue([line for line in process.err if "refuses a profile" in line and "certificate" in line], process.err)
            self.assertNotIn("trying again", process.output())
            self.assertEqual(receiver.requests, [])
            process, code = run_program("record", target.pid, "-d", "%g" % (2 * SLOWNESS), *BATCH, "--push", url, "--push-ca",
                                        certificate)
            self.assertEqual(code, 0, process.output())
            self.assertTrue(receiver.profiles(), process.output())
            # The process that speaks HTTP may read few files.
            count = len(receiver.requests)
            with Live("attach", target.pid, "--push", url, "--push-ca", certificate, *BATCH):
                receiver.wait_for(lambda requests: len(requests) > count, 60 * SLOWNESS)
            process, code = run_program("record", target.pid, "-d", "1", "--push", "otlp://localhost", "--push-ca", certificate)
            self.assertEqual(code, 2)
            self.assertIn("the URL before it has no TLS", process.err[-1])


class Numbers(Test):
    def test_what_the_dashboard_and_the_manual_name_is_counted(self):
        with open(os.path.join(ROOT, "scripts", "packaging", "grafana", "dashboard.json"), encoding="utf-8") as file:
            board = json.load(file)
        queries = [target["expr"] for panel in board["panels"] for target in panel["targets"] if "expr" in target]
        queries += [item["query"] for item in board["templating"]["list"] if isinstance(item["query"], str)]
        with open(os.path.join(ROOT, "web", "docs", "push.md"), encoding="utf-8") as file:
            manual = re.findall(r"`(pyrometer_\w+)", file.read())
        # The labels `job` and `instance` are Prometheus's own.
        labels = {name for query in queries for name in re.findall(r"by \((\w+)\)|([a-z]\w*)=", query) for name in name if name}
        with victim("threads.py") as target, Receiver("pyroscope") as receiver, Live("attach", target.pid, "--push", receiver.url, *BATCH) as live:
            receiver.wait_for(lambda requests: len(requests) > 0, 60 * SLOWNESS)
            text_of_metrics = live.ask("/metrics").body.decode()
        counted = set(re.findall(r"^(\w+)[{ ]", text_of_metrics, re.M))
        named = {name for query in queries for name in re.findall(r"\b(?:pyrometer|process)_\w+", query)}
        self.assertGreater(len(named), 10)
        self.assertLessEqual(named | set(manual), counted)
        self.assertLessEqual(labels - {"job", "instance"}, set(re.findall(r"(\w+)=\"", text_of_metrics)))


class Host(PushTest):
    def test_the_continuous_session_is_pushed(self):
        with Receiver("pyroscope") as receiver, victim("threads.py") as target:
            with Live("serve", "--no-data", "--continuous=100", "--engine", "remote", "--push", receiver.url, *BATCH):
                def has_target(_requests):
                    return any(profile.labels["process_id"] == str(target.pid) for profile in receiver.profiles())
                end = time.monotonic() + 60 * SLOWNESS
                while not has_target(None) and time.monotonic() < end:
                    time.sleep(0.3)
                self.assertTrue(has_target(None))
            for profile in receiver.profiles():
                self.assertIn("process_id", profile.labels)

    def test_the_last_samples_of_a_host_are_pushed(self):
        for sessions in 1, 2:
            data = tempfile.mkdtemp(dir=FOLDER)
            with Receiver("pyroscope") as receiver, victim("threads.py", "3"):
                with Live("serve", "--data", data, "--continuous=100", "--engine", "remote", "--allow-command", "*/threads.py 3",
                          "--push", receiver.url, "--push-batch", "6s") as live:
                    live.wait_until(lambda: receiver.requests)
                    if sessions > 1:
                        live.change(state="ended")
                        live.wait_until(lambda: live.get("/sessions")["sessions"][0]["id"] == "2")
                    live.stop()
                captures = glob.glob(os.path.join(data, "**", "*.pyro"), recursive=True)
                self.assertEqual(len(captures), sessions, captures)
                self.check_same(receiver.profiles(), *captures)

    def test_without_continuous_sampling_there_is_nothing_to_push(self):
        with program("serve", "--no-data", "--no-continuous", "--listen", "127.0.0.1:0", "--push", "otlp://127.0.0.1:1") as process:
            self.assertEqual(process.wait(), 2)
            self.assertIn("--push sends what continuous sampling sees", process.err[-1])


if __name__ == "__main__":
    main()
