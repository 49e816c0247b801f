"""Servers that fail when something is pushed to them: sampling goes on, nothing waits for them, nothing is lost in silence."""

import email.utils
import json
import os
import re
import signal
import time

from harness import Live, SLOWNESS, file_in, main, program, run_program, script, victim
from pushed import BATCH, PushTest, SCHEMES
from receivers import READERS, Receiver


class OtherSide(PushTest):
    """Servers that fail. Sampling goes on, and nothing waits for them."""

    def record(self, receiver, seconds, *options):
        quality = file_in("push-quality.json")
        with victim("threads.py") as target:
            process, code = run_program("record", target.pid, "-d", seconds, "-r", "100", "--quality", quality, "--push", receiver.url,
                                        *BATCH, *options, seconds=60 * SLOWNESS)
        with open(quality, encoding="utf-8") as file:
            return process, json.load(file), code

    def test_no_server_delays_a_tick(self):
        for mood in ("hang", "reset", "garbage", "slow", "endless"):
            with Receiver("pyroscope", mood=mood) as receiver:
                process, quality, code = self.record(receiver, "3")
                self.assertEqual(code, 1, process.output())
                self.assertTrue([line for line in process.err if re.search("did not take all: 0 requests sent, [1-9]", line)], process.err)
                # 3 s have 300 ticks. A sampler that waits for the server has those of the first second at most.
                self.assertGreater(quality["ticks"], 150, mood)
                if mood in ("reset", "garbage", "endless"):
                    self.assertTrue([line for line in process.err if "does not take profiles, trying again" in line], process.err)

    def test_nobody_has_to_wait_for_the_end(self):
        path = file_in("hurried.pyro")
        with Receiver("pyroscope", mood="hang") as receiver, victim("threads.py") as target:
            with program("record", target.pid, "-d", "1", "-r", "100", "-o", path, "--push", receiver.url) as process:
                end = time.monotonic() + 60 * SLOWNESS
                while not receiver.connections:
                    self.assertLess(time.monotonic(), end, process.output())
                    time.sleep(0.02)
                process.signal(signal.SIGINT)
                self.assertEqual(process.wait(), 1, process.output())
            self.assertRegex(process.output(), "no answer before the end")
            self.assertRegex(process.output(), "did not take all: 0 requests sent, [1-9]")
            self.assertTrue(os.path.getsize(path))

    def test_nothing_listens_there(self):
        with Receiver("otlp") as receiver:
            url = receiver.url
        receiver.scheme = url.split(":", maxsplit=1)[0]
        process, quality, code = self.record(receiver, "2")
        self.assertEqual(code, 1, process.output())
        self.assertGreater(quality["ticks"], 100)
        self.assertTrue([line for line in process.err if "does not take profiles" in line], process.err)

    def test_what_is_not_pushed_is_the_status_of_a_page_but_not_of_a_program(self):
        path = script("ends.py", "import sys, time\nend = time.monotonic() + 1.5\nwhile time.monotonic() < end: pass\nsys.exit(5)\n")
        with victim("threads.py") as target:
            for words, status in (("run", path), 5), (("attach", str(target.pid)), 1):
                with Live(words[0], "--push", "otlp://127.0.0.1:1", *BATCH, *words[1:]) as live:
                    if words[0] == "run":
                        live.wait_ended()
                    else:
                        live.wait_until(lambda: self.metric(live, "pyrometer_push_waiting_requests{") > 0)
                    self.assertEqual(live.stop(), status, live.process.output())
                    self.assertRegex(live.process.output(), "did not take all: 0 requests sent, [1-9]")

    def test_after_a_failure_all_comes_in_order(self):
        with Receiver("pyroscope", mood="reset") as receiver, victim("threads.py") as target:
            with Live("attach", target.pid, "-r", "100", "--push", receiver.url, *BATCH) as live:
                live.wait_until(lambda: self.metric(live, "pyrometer_push_waiting_requests{") >= 2)
                self.assertGreater(self.metric(live, "pyrometer_push_waiting_bytes{", 'place="memory"'), 0)
                receiver.mood = None
                receiver.wait_for(lambda requests: len(requests) >= 4, 60 * SLOWNESS)
                live.wait_until(lambda: self.metric(live, "pyrometer_push_requests_total{", 'result="sent"') >= 4)
                self.assertGreater(self.metric(live, "pyrometer_push_retries_total{"), 0)
                for result in "lost", "refused":
                    self.assertEqual(self.metric(live, "pyrometer_push_requests_total{", 'result="%s"' % result), 0)
            self.check_follow([profile for profile in receiver.profiles() if profile.name == "wall"])

    def test_a_request_under_way_is_one_that_waits(self):
        with Receiver("pyroscope", mood="hang") as receiver, victim("threads.py") as target:
            with Live("attach", target.pid, "-r", "100", "--push", receiver.url, "--push-batch", "6s") as live:
                live.wait_until(lambda: receiver.connections > 0)
                self.assertGreaterEqual(self.metric(live, "pyrometer_push_waiting_requests{"), 1)
                self.assertGreater(self.metric(live, "pyrometer_push_waiting_bytes{", 'place="memory"'), 0)
                receiver.mood = "reset"

    @staticmethod
    def metric(live, name, part=""):
        for line in live.ask("/metrics").body.decode().splitlines():
            if line.startswith(name) and part in line:
                return float(line.rsplit(" ", 1)[1])
        return 0

    def test_a_server_that_is_busy_is_asked_later(self):
        for scheme in SCHEMES:
            with Receiver(scheme, answers=[(503, {"Retry-After": 2}), (502, {})]) as receiver:
                process, _, code = self.record(receiver, "8")
                self.assertEqual(code, 0, process.output())
                first, second, third = receiver.requests[:3]
                self.assertEqual((first[4], second[4], third[4]), (503, 502, 200))
                self.assertEqual(first[3], second[3])
                self.assertEqual(second[3], third[3])
                self.assertGreaterEqual(second[0] - first[0], 1.9)

    def test_a_server_that_limits_each_series_gets_each_alone(self):
        capture = self.record_two("push-limited.pyro")
        for scheme in SCHEMES:
            with Receiver(scheme, answers=[(429, {"Retry-After": 1}), (429, {})]) as receiver:
                process, code = run_program("push", capture, receiver.url, *BATCH)
                self.assertEqual(code, 0, process.output())
                self.check_same(receiver.profiles(), capture)
                if scheme == "parca":
                    continue
                series = [len(READERS[scheme](request[3])) for request in receiver.requests]
                self.assertEqual(series[0], 4)
                self.assertEqual(set(series[1:]), {1})
                # Until its compaction the server shows those twice that it had taken of the first request.
                self.assertEqual(len(receiver.stored) - len(receiver.profiles()), 2)

    def test_a_server_that_starts_gets_all(self):
        capture = file_in("push-starts.pyro")
        with Receiver("otlp", mood="starts") as receiver, victim("threads.py") as target:
            with program("record", target.pid, "-d", "6", "-r", "100", "-o", capture, "--push", receiver.url, *BATCH) as process:
                receiver.wait_for(lambda requests: len(requests) > 1, 60 * SLOWNESS)
                receiver.mood = None
                self.assertEqual(process.wait(), 0, process.output())
            self.assertEqual({request[4] for request in receiver.requests}, {200, 500})
            self.check_same(receiver.profiles(), capture)

    def test_a_server_may_name_the_time_at_which_it_is_asked_again(self):
        with Receiver("otlp", answers=[(503, {"Retry-After": lambda: email.utils.formatdate(time.time() + 4, usegmt=True)})]) as receiver:
            self.record(receiver, "8")
            # A date has whole seconds.
            self.assertGreaterEqual(receiver.requests[1][0] - receiver.requests[0][0], 2.5)

    def test_what_is_refused_is_not_sent_again(self):
        for scheme, status in (("pyroscope", 400), ("pyroscope", 413), ("otlp", 401), ("parca", 404), ("pyroscope", 302)):
            with Receiver(scheme, answers=[(status, {"Location": "http://127.0.0.1:1/"})]) as receiver:
                process, _, code = self.record(receiver, "3")
                self.assertEqual(code, 1, process.output())
                self.assertGreaterEqual(len(receiver.requests), 2)
                self.assertNotEqual(receiver.requests[0][3], receiver.requests[1][3])
                self.assertEqual(len([line for line in process.err if "refuses a profile: %d" % status in line]), 1, process.err)


if __name__ == "__main__":
    main()
