"""`watch`: when a program gets stuck, it is dumped, its last seconds are written, and a command runs; once for each event.

Exit code: 0 all is right, 1 something is not.
"""

import glob
import os
import re
import shutil
import signal
import time

from harness import FOLDER, Test, file_in, main, newest_python, program, run_program, script, victim

BLOCKED_LOOP = """
import asyncio, time
def block():
    time.sleep(120)
async def main():
    await asyncio.sleep(0.2)
    asyncio.get_running_loop().call_soon(block)
    await asyncio.sleep(0.2)
print("READY", flush=True)
asyncio.run(main())
"""
BUSY_LOOP = """
import asyncio, time
def work():
    end = time.monotonic() + 0.01
    while time.monotonic() < end:
        pass
async def main():
    while True:
        work()
        await asyncio.sleep(0.01)
print("READY", flush=True)
asyncio.run(main())
"""


# Each function has a name of its own, so names fill any memory; in the end it is stuck.
MANY_NAMES = """
import time
print("READY", flush=True)
end, i = time.monotonic() + 8, 0
while time.monotonic() < end:
    names = ["f%d_%s" % (i + k, "x" * 2000) for k in range(20)]
    space = {"time": time}
    exec("def %s(): time.sleep(0.002)\\n" % names[0], space)
    for name, inner in zip(names[1:], names):
        exec("def %s(): %s()\\n" % (name, inner), space)
    space[names[-1]]()
    i += len(names)
def stuck():
    time.sleep(100)
stuck()
"""


class Watch(Test):
    def folder(self, name):
        path = os.path.join(FOLDER, name)
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        return path

    def watch(self, target, folder, *options):
        return program("watch", str(target.pid), "-o", folder, *options)

    def wait_files(self, process, folder, event):
        """The two files of the first event, which must be that one."""
        process.wait_line("wrote .*%s" % event, process.err)
        dump, = glob.glob(os.path.join(folder, "*-%s-*.txt" % event))
        capture, = glob.glob(os.path.join(folder, "*-%s-*.pyro" % event))
        return dump, capture

    def stop(self, process):
        process.signal(signal.SIGINT)
        self.assertEqual(process.wait(), 0, process.output())

    def test_a_deadlock_is_dumped_once_and_a_command_runs(self):
        folder = self.folder("watch-deadlock")
        ran = os.path.join(self.folder("watch-command"), "ran")
        command = 'printf "%%s %%s\\n" "$PYROMETER_EVENT" "$PYROMETER_PID" >>%s; head -2 "$PYROMETER_DUMP" >>%s' % (ran, ran)
        with victim("locks.py", "deadlock", "120", python=newest_python()) as target, \
                self.watch(target, folder, "--deadlock", "--exec", command) as process:
            dump, capture = self.wait_files(process, folder, "deadlock")
            end = time.monotonic() + 60
            while not os.path.exists(ran) and time.monotonic() < end:
                time.sleep(0.1)
            time.sleep(3)
            self.stop(process)
        self.assertEqual(len(os.listdir(folder)), 2, os.listdir(folder))
        with open(dump, encoding="utf-8") as file:
            text = file.read()
        self.assertRegex(text, r"(?m)^deadlock: mover-\d waits for second\.lock \(threading\.Lock at 0x\w+\), held by mover-\d at move ")
        with open(ran, encoding="utf-8") as file:
            lines = file.read().split("\n")
        self.assertEqual(lines[0], "deadlock %d" % target.pid)
        self.assertIn(lines[1], text)
        process, code = run_program("replay", capture, "--idle", "--collapsed=-")
        self.assertEqual(code, 0, process.output())
        self.assertIn(";move ", re.sub(r" \([^)]*\)", " ", "\n".join(process.out)) + ";move ")
        self.assertGreater(len(process.out), 10, process.output())

    def test_a_deadlock_with_the_gil_is_dumped(self):
        folder = self.folder("watch-gil")
        with victim("gil.py", "deadlock", "120", python=newest_python()) as target, self.watch(target, folder, "--deadlock") as process:
            dump, _ = self.wait_files(process, folder, "deadlock")
            self.stop(process)
        with open(dump, encoding="utf-8") as file:
            self.assertRegex(file.read(), r"(?m)^deadlock: .*mutex waits for the GIL, held by holder")

    def test_a_program_that_runs_no_code_is_stalled_and_one_that_runs_is_not(self):
        folder = self.folder("watch-stalled")
        with victim("asleep.py", python=newest_python()) as target, \
                self.watch(target, folder, "--stalled", "2s") as process:
            self.wait_files(process, folder, "stalled")
            self.stop(process)
        folder = self.folder("watch-running")
        with victim("chain.py", "60", python=newest_python()) as target, \
                self.watch(target, folder, "--stalled", "2s") as process:
            process.wait_line("watching process", process.err)
            time.sleep(4)
            self.stop(process)
        self.assertEqual(os.listdir(folder), [])

    def test_an_event_loop_in_one_callback_is_blocked_and_a_busy_one_is_not(self):
        folder = self.folder("watch-loop")
        with victim(script("watch-blocked", BLOCKED_LOOP), python=newest_python()) as target, \
                self.watch(target, folder, "--loop-blocked", "1s") as process:
            dump, _ = self.wait_files(process, folder, "loop-blocked")
            process.wait_line("an event loop has been in block for ", process.err)
            self.stop(process)
        with open(dump, encoding="utf-8") as file:
            self.assertIn("block (", file.read())
        folder = self.folder("watch-loop-busy")
        with victim(script("watch-busy", BUSY_LOOP), python=newest_python()) as target, \
                self.watch(target, folder, "--loop-blocked", "1s") as process:
            process.wait_line("watching process", process.err)
            time.sleep(3)
            self.stop(process)
        self.assertEqual(os.listdir(folder), [])

    def test_memory_beyond_a_limit_is_said_and_the_end_of_the_program_ends_it(self):
        folder = self.folder("watch-rss")
        with victim("chain.py", "6", python=newest_python()) as target, self.watch(target, folder + "/new/", "--rss", "1m") as process:
            process.wait_line("rss: [0-9]+ MiB of memory are resident", process.err)
            self.assertEqual(process.wait(), 0, process.output())
        self.assertEqual(len(os.listdir(folder + "/new")), 2)

    def test_several_processes_are_watched_until_the_last_one_ends(self):
        folder = self.folder("watch-several")
        with victim("chain.py", "2", python=newest_python()) as first, victim("chain.py", "4", python=newest_python()) as second, \
                program("watch", str(first.pid), str(second.pid), "-o", folder) as process:
            process.wait_line("watching 2 processes: ", process.err)
            self.assertEqual(process.wait(), 0, process.output())

    def test_only_so_many_events_are_written(self):
        folder = self.folder("watch-most")
        with victim("asleep.py", python=newest_python()) as target, \
                self.watch(target, folder, "--stalled", "1s", "--rss", "1m", "--max-events", "1") as process:
            process.wait_line("no files of this event: --max-events is 1", process.err)
            self.stop(process)
        self.assertEqual(len(os.listdir(folder)), 2)

    def test_a_full_memory_of_names_begins_again_and_watching_goes_on(self):
        folder = self.folder("watch-full")
        with victim(script("watch-names", MANY_NAMES), python=newest_python()) as target, \
                self.watch(target, folder, "--stalled", "3s", "--memory", "1m") as process:
            process.wait_line("the memory for names is full", process.err)
            dump, capture = self.wait_files(process, folder, "stalled")
            self.stop(process)
        with open(dump, encoding="utf-8") as file:
            self.assertIn("stuck (", file.read())
        replayed, code = run_program("replay", capture, "--idle", "--collapsed=-")
        self.assertEqual(code, 0, replayed.output())
        self.assertIn("stuck", "\n".join(replayed.out))
        self.assertEqual(len([name for name in os.listdir(folder) if "stalled" in name]), 2)

    def test_what_cannot_work_is_said_at_once(self):
        with victim("chain.py", "60", python=newest_python()) as target:
            for options, code, message in [((), 2, "watch needs -o DIR"),
                                           (("-o", "/nowhere/at/all"), 1, "cannot write into '/nowhere/at/all/'"),
                                           (("-o", "/proc/self"), 1, "cannot write '/proc/self/"),
                                           (("-o", file_in("x/"), "--stalled", "never"), 2, "invalid --stalled")]:
                process, got = run_program("watch", str(target.pid), *options)
                self.assertEqual(got, code, process.output())
                self.assertEqual(len(process.err), 1, process.output())
                self.assertIn(message, process.err[0])


if __name__ == "__main__":
    main()
