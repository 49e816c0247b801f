"""The wall clock is set while the program runs: sessions, captures and shares go on as they should."""

import datetime
import json
import os
import struct
import sys
import time

from harness import SANITIZED, SKIPPED, WAIT_SECONDS, Test, file_in, main, program, victim
from host import CHANGE, Host
from receivers import Receiver, read_pyroscope

LONG = "100"
DAY, YEAR = 86400, 365 * 86400
SHIFT = os.environ.get("PYROMETER_CLOCK_SHIFT")

if SANITIZED or not SHIFT:
    print("skipped: a clock of its own is preloaded, which sanitizers do not allow" if SANITIZED else
          "skipped: PYROMETER_CLOCK_SHIFT does not name the library to preload")
    sys.exit(SKIPPED)


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Clock:
    """The wall clock of a program."""

    def __init__(self):
        self.path = file_in("clock")
        self.set(0)

    def set(self, seconds):
        with open(self.path, "r+b" if os.path.exists(self.path) else "wb") as file:
            file.write(struct.pack("<q", seconds))

    @property
    def environment(self):
        return dict(os.environ, LD_PRELOAD=SHIFT, CLOCK_SHIFT=self.path)


class Jumps(Test):
    def setUp(self):
        self.clock = Clock()

    def test_the_clock_is_one_of_our_own(self):
        with victim("chain.py", LONG) as target, Host(env=self.clock.environment) as host:
            host.row(target.pid)
            before = instant(host.get("/processes")["scanned_at"])
            self.clock.set(YEAR)
            host.until("/processes", lambda found: instant(found["scanned_at"]) - before > YEAR - DAY)

    def test_a_process_began_when_the_clock_that_was_set_says(self):
        with victim("chain.py", LONG) as target, Host(env=self.clock.environment) as host:
            before = instant(host.row(target.pid)["started_at"])
            for jump in (YEAR, -YEAR):
                self.clock.set(jump)
                host.row(target.pid, lambda row: abs(instant(row["started_at"]) - before - jump) < DAY)

    def test_what_is_pushed_has_the_times_of_the_clock_that_was_set(self):
        self.clock.set(-DAY)
        with victim("chain.py", LONG) as target, Receiver("pyroscope") as receiver, \
                program("record", str(target.pid), "-r", "200", "-o", file_in("clock.pyro"), "--push", receiver.url,
                        "--push-batch", "1s", env=self.clock.environment):
            receiver.wait_for(lambda requests: len(requests) > 1, WAIT_SECONDS)
            self.clock.set(0)
            # A window that was begun before may still come.
            count = len(receiver.requests) + 4
            receiver.wait_for(lambda requests: len(requests) > count, WAIT_SECONDS)
            bodies = [body for _, _, _, body, _ in receiver.requests]
            ages = [time.time() - profile.began_ns / 1e9 for body in (bodies[0], bodies[-1]) for profile in read_pyroscope(body)]
            self.assertGreater(ages[0], DAY - 100)
            self.assertLess(abs(ages[-1]), 100)

    def test_a_session_goes_on_and_ends_after_it_began(self):
        for jump in (10 * YEAR, -10 * YEAR, DAY, -DAY):
            self.clock.set(0)
            with self.subTest(jump=jump), victim("chain.py", LONG) as target, Host(env=self.clock.environment) as host:
                one = host.start(pids=[target.pid], rate_hz=200, duration_s=4)
                path = "/sessions/" + one
                count = host.running(one)["quality"]["samples"]
                self.clock.set(jump)
                host.until(path, lambda found: found["quality"]["samples"] > count + 200)
                session = host.until(path, lambda found: found["state"] == "ended")
                self.assertEqual(session["reason"], "duration reached")
                self.assertLess(abs(session["elapsed_s"] - 4), 3)
                lasted = instant(session["ended_at"]) - instant(session["started_at"])
                self.assertLess(abs(lasted - session["elapsed_s"]), 2)
                name = session["capture"]
                capture = host.until("/captures/" + name, lambda found: found["state"] == "complete")
                self.assertLess(abs(instant(capture["ended_at"]) - instant(capture["started_at"]) - capture["elapsed_s"]), 2)
                # The next one has a name of its own.
                two = host.start(pids=[target.pid], rate_hz=200, duration_s=1)
                self.assertNotEqual(host.capture_of(two), name)
                # The capture recorded before is still there.
                self.assertEqual(host.get("/captures")["total"], 2)

    def share(self, host, life):
        answer = host.ask("/api/v1/shares", "POST", json.dumps({"expires_in": life}), CHANGE)
        self.assertEqual(answer.status, 201, answer.body)
        return {"Authorization": "Bearer " + answer.json()["token"]}

    def status(self, host, share):
        return host.ask("/api/v1/access", headers=share, token=False).status

    def test_a_clock_that_is_set_back_lets_nobody_in_for_longer(self):
        with Host(env=self.clock.environment) as host:
            share = self.share(host, "6s")
            self.assertEqual(self.status(host, share), 200)
            self.clock.set(-DAY)
            host.wait_until(lambda: self.status(host, share) == 401)

    def test_nor_over_a_restart(self):
        path = file_in("shares")
        with Host("--shares", path, env=self.clock.environment) as host:
            share, port = self.share(host, "8s"), host.port
            self.clock.set(-DAY)
            self.assertEqual(self.status(host, share), 200)
            host.stop()
        with Host("--shares", path, env=self.clock.environment) as host:
            self.assertEqual(self.status(host, share), 200, port)
            host.wait_until(lambda: self.status(host, share) == 401)

    def test_a_clock_that_is_set_forward_ends_shares(self):
        with Host(env=self.clock.environment) as host:
            short, endless = self.share(host, "1h"), self.share(host, "never")
            self.clock.set(DAY)
            host.wait_until(lambda: self.status(host, short) == 401)
            self.assertEqual(self.status(host, endless), 200)


if __name__ == "__main__":
    main()
