"""A disk without room: what could not be written is called so at once, and by its own name."""

import ctypes
import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import time

from harness import FOLDER, PROGRAM, SLOWNESS, WAIT_SECONDS, Process, Test, file_in, main, run_program, script, victim
from host import Host

LONG = "60"
# Each change of its stack has 1,800 events.
DEEP = """
import time
def one(depth):
    one(depth - 1) if depth else time.sleep(0.003)
def other(depth):
    other(depth - 1) if depth else time.sleep(0.003)
print("READY", flush=True)
while True:
    one(900)
    other(900)
"""
BYTES = 1 << 20
MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2
SHORT = ("-d", str(0.3 * SLOWNESS), "-r", "200")


class FullDisk(Test):
    def setUp(self):
        self.disk = self.mount(BYTES)

    def mount(self, size):
        disk = tempfile.mkdtemp(prefix="disk-", dir=FOLDER)
        self.addCleanup(os.rmdir, disk)
        library = ctypes.CDLL(None, use_errno=True)
        if library.mount(b"tmpfs", disk.encode(), b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=755,size=%d" % size):
            self.skipTest("needs the right to mount: " + os.strerror(ctypes.get_errno()))
        self.addCleanup(library.umount2, disk.encode(), MNT_DETACH)
        return disk

    def path(self, name):
        return os.path.join(self.disk, name)

    def fill(self):
        with open(self.path("filler"), "ab", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass

    def clear(self):
        os.unlink(self.path("filler"))

    def captures(self, host):
        answer = host.ask("/api/v1/captures")
        self.assertNotIn(b"/proc/", answer.body)
        return answer.json()["captures"]

    def test_a_capture_that_cannot_begin_is_not_there(self):
        self.fill()
        with victim("chain.py", LONG) as target, Host(data=self.disk) as host:
            one = host.start(pids=[target.pid])
            session = host.until("/sessions/" + one, lambda found: found["capture_error"])
            self.assertRegex(session["capture_error"], "^not recorded: .*No space left on device; sampling goes on$")
            self.assertEqual(self.captures(host), [])
            self.assertEqual(session["state"], "running")
            self.assertIn("not recorded: ", "\n".join(host.process.err))
        self.assertEqual(os.listdir(self.disk), ["filler"])

    def test_a_capture_that_cannot_go_on_is_incomplete_at_once(self):
        with victim("threads.py", "4", LONG) as target, Host(data=self.disk) as host:
            one = host.start(pids=[target.pid], rate_hz=1000)
            name = host.capture_of(one)
            host.running(one)
            self.assertEqual([row["state"] for row in self.captures(host)], ["recording"])
            self.fill()
            session = host.until("/sessions/" + one, lambda found: found["capture_error"])
            self.assertRegex(session["capture_error"], "^no longer recorded: .*No space left on device; sampling goes on$")
            self.assertEqual(session["state"], "running")
            row, = self.captures(host)
            self.assertEqual((row["name"], row["state"]), (name, "incomplete"))
            self.assertRegex(row["reason"], "^cannot write the capture: No space left on device$")
            # With room again, it is complete up to where it was cut.
            self.clear()
            host.send("PATCH", "/sessions/" + one, {"state": "ended"})
            row, = host.until("/captures", lambda found: found["captures"][0]["state"] == "complete")["captures"]
            self.assertRegex(row["reason"], "No space left on device")
            opened = host.send("POST", "/captures", {"name": name}).json()["id"]
            self.assertGreater(host.until("/sessions/" + opened, lambda found: found["state"] == "ended")["quality"]["samples"], 0)

    def test_a_file_that_is_no_capture_is_called_by_its_name(self):
        for name, data in (("20260101-000000-1-abcd", b""), ("20260102-000000-1-abcd", b"\x89PYRO\r\n"), ("other", b"no capture")):
            with open(self.path(name + ".pyro"), "wb") as file:
                file.write(data)
        with Host(data=self.disk) as host:
            for row in self.captures(host):
                self.assertRegex(row["reason"], r"^cannot read '%s\.pyro': \S" % row["name"])
                self.assertEqual(row["state"], "incomplete")
                session = host.send("POST", "/captures", {"name": row["name"]}).json()["id"]
                failed = host.until("/sessions/" + session, lambda found: found["state"] == "failed")
                self.assertRegex(failed["reason"], "^cannot read '%s': " % row["name"])
            answer = host.put(b"")
            self.assertEqual(answer.status, 422, answer.body)
            self.assertRegex(answer.json()["detail"], "^cannot read the upload: it is empty")

    def test_a_command_names_the_file_and_leaves_no_part_of_it(self):
        self.fill()
        with victim("chain.py", LONG) as target:
            for name, options in (("a.pyro", ()), ("a.html", ()), ("a.folded", ()), ("quality", ("--idle", "--waits=off", "--collapsed=-", "--quality"))):
                options = options or ("-o",)
                process, code = run_program("record", str(target.pid), *SHORT, *options, self.path(name))
                self.assertEqual(code, 1, process.output())
                self.assertRegex(process.err[-1], "^pyrometer: .*%s.*: No space left on device" % re.escape(name))
                self.assertEqual(os.listdir(self.disk), ["filler"], name)

    def test_a_recording_says_which_capture_ends_early(self):
        with victim("threads.py", "4", LONG) as target, \
                Process([PROGRAM, "record", str(target.pid), "-o", self.path("a.pyro")]) as process:
            end = time.monotonic() + WAIT_SECONDS
            while not (os.path.exists(self.path("a.pyro")) and os.path.getsize(self.path("a.pyro")) > 1000):
                self.assertLess(time.monotonic(), end, process.output())
                time.sleep(0.05)
            self.fill()
            line = process.wait_line("continues without", process.err)
            self.assertIn("a.pyro: cannot write the capture: No space left on device; sampling continues", line.string)
            process.signal(2)
            self.assertEqual(process.wait(), 1, process.output())
        self.clear()
        process, code = run_program("replay", self.path("a.pyro"), "--idle", "--waits=off", "--collapsed=-")
        self.assertEqual(code, 0, process.output())
        self.assertTrue(process.out)

    def large_trace(self):
        """A capture, and the size of its trace, which is more than memory holds."""
        capture, trace = file_in("deep.pyro"), file_in("deep.json")
        with victim(script("deep.py", DEEP)) as target:
            for seconds in (2, 4, 8, 16):
                self.assertEqual(run_program("record", str(target.pid), "-d", str(seconds), "-r", "1000", "-o", capture)[1], 0)
                self.assertEqual(run_program("replay", capture, "--chrome-trace=" + trace)[1], 0)
                size = os.path.getsize(trace)
                os.unlink(trace)
                if size > 17 << 20:
                    break
        with open(capture, "rb") as file:
            return file.read(), size

    def test_an_export_leaves_room_for_captures(self):
        packed, size = self.large_trace()
        # It would fit, and nothing else would.
        with Host(data=self.mount(size + (128 << 10))) as host:
            name = host.put(packed).json()["name"]
            opened = host.send("POST", "/captures", {"name": name}).json()["id"]
            host.until("/sessions/" + opened, lambda found: found["state"] == "ended")
            answer = host.ask("/api/v1/sessions/%s/export?format=chrome-trace" % opened)
            self.assertEqual(answer.status, 507, answer.body[:300])
            self.assertRegex(answer.json()["detail"], "does not fit on the disk: No space left")

    def test_an_audit_log_that_is_full_says_that_lines_are_lost(self):
        def lost():
            return int(re.search(r"^pyrometer_audit_lost_lines_total (\d+)$", host.ask("/metrics").body.decode(), re.M)[1])
        def ask(*numbers):
            for number in numbers:
                self.assertEqual(host.send("DELETE", "/shares/%d" % number).status, 404)
        audit = self.path("audit")
        with Host("--audit", audit) as host:
            ask(1000)
            self.assertEqual(lost(), 0)
            self.fill()
            # The last page of the file has room for some, and for a part of one.
            ask(*range(1001, 1060))
            self.assertGreater(lost(), 0)
            self.clear()
            ask(1060, 1061)
            said = [line for line in host.process.err if "audit" in line]
            self.assertEqual(said, ["pyrometer: the audit log cannot be written, so lines are lost: No space left on device"])
            with open(audit, encoding="utf-8") as file:
                lines = file.read().splitlines()
            self.assertEqual(len(lines), 62 - lost() + 1, "those that are not lost, and the part of one")
            self.assertEqual([json.loads(line)["path"] for line in lines[-2:]], ["/api/v1/shares/1060", "/api/v1/shares/1061"])


class FileSize(Test):
    """A limit on the size of files is an error as a full disk is, not the end of the program."""

    def limited(self):
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    def test_a_command_says_so_and_leaves_nothing(self):
        folder = tempfile.mkdtemp(prefix="limited-", dir=FOLDER)
        self.addCleanup(os.rmdir, folder)
        with victim("chain.py", LONG) as target:
            process, code = run_program("record", str(target.pid), *SHORT, "-o", os.path.join(folder, "a.html"), preexec_fn=self.limited)
        self.assertEqual(code, 1, process.output())
        self.assertRegex(process.err[-1], "^pyrometer: cannot write '.*a.html': File too large$")
        self.assertEqual(os.listdir(folder), [])

    def test_a_server_goes_on(self):
        with Host(preexec_fn=self.limited) as host:
            self.assertEqual(host.put(bytes(1 << 20)).status, 507)
            self.assertEqual(host.ask("/api/v1/captures").status, 200)

    def test_a_program_that_is_run_has_the_signal_as_ever(self):
        done = subprocess.run([PROGRAM, "run", "--listen", "127.0.0.1:0", "--", "grep", "SigIgn", "/proc/self/status"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT_SECONDS, check=False)
        ignored = re.search(rb"SigIgn:\s*([0-9a-f]+)", done.stdout)
        self.assertTrue(ignored, done.stderr)
        self.assertFalse(int(ignored.group(1), 16) >> (signal.SIGXFSZ - 1) & 1)


if __name__ == "__main__":
    main()
