"""A disk without room: what could not be written is called so at once, and by its own name."""

import ctypes
import os
import re
import tempfile
import time

from harness import FOLDER, PROGRAM, WAIT_SECONDS, Process, Test, main, run_program, victim
from host import Host

LONG = "60"
BYTES = 1 << 20
MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2
SHORT = ("-d", "0.2", "-r", "100")


class FullDisk(Test):
    def setUp(self):
        os.makedirs(FOLDER, exist_ok=True)
        self.disk = tempfile.mkdtemp(prefix="disk-", dir=FOLDER)
        self.addCleanup(os.rmdir, self.disk)
        library = ctypes.CDLL(None, use_errno=True)
        if library.mount(b"tmpfs", self.disk.encode(), b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=755,size=%d" % BYTES):
            self.skipTest("needs the right to mount: " + os.strerror(ctypes.get_errno()))
        self.addCleanup(library.umount2, self.disk.encode(), MNT_DETACH)

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
            for name, options in (("a.pyro", ()), ("a.html", ()), ("a.folded", ()), ("quality", ("--collapsed=-", "--quality"))):
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
        process, code = run_program("replay", self.path("a.pyro"), "--collapsed=-")
        self.assertEqual(code, 0, process.output())
        self.assertTrue(process.out)


if __name__ == "__main__":
    main()
