"""Few files may be open (RLIMIT_NOFILE): what cannot be sampled for that is counted, and results are written all the same."""

import json
import re
import resource

import harness
from harness import Test, file_in, main, newest_python, program, victim

LONG = "60"
# More processes than files.
CHILDREN = 40
FAMILY = """
import os, time
parent = os.getpid()
for _ in range(%d):
    if os.fork() == 0:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(0)
print("READY", flush=True)
time.sleep(1000)
""" % CHILDREN


def recorded(limit, *arguments):
    """The output of `record` with so many files, its exit code, and how many threads its result has."""
    path = file_in("few-files.folded")
    with program("record", *arguments, "-d", "1.5", "-r", "50", "--idle", "--waits=off", "--collapsed=" + path,
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))) as process:
        code = process.wait(harness.WAIT_SECONDS)
    said = "\n".join(process.err)
    if code:
        return said, code, 0
    with open(path, encoding="utf-8") as file:
        return said, code, len({line.split(";")[0] for line in file})


def count_in(pattern, text):
    found = re.search(pattern, text)
    return int(found.group(1)) if found else 0


class FewFiles(Test):
    def test_one_process_is_recorded_whatever_the_kernel_engine_would_take(self):
        with victim("asleep.py", LONG) as target:
            for limit in (24, 28, 30, 32, 34, 36, 44, 52, 64):
                said, code, threads = recorded(limit, str(target.pid), "--engine", "auto")
                self.assertEqual((code, threads > 0), (0, True), "%d files: %s" % (limit, said))

    def check_family(self, engine, least, *options):
        script = file_in("family_of_many.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(FAMILY)
        with victim(script, python=newest_python()) as target:
            said, code, processes = recorded(64, str(target.pid), "--subprocesses", "--engine", engine, *options)
        self.assertEqual(code, 0, said)
        left_out = count_in(r"(\d+) processes were left out, Python or not: too many files are open", said)
        self.assertEqual(count_in(r" threads in (\d+) processes in ", said), processes, said)
        self.assertEqual(processes + left_out, CHILDREN + 1, said)
        self.assertGreaterEqual(processes, least, said)

    def test_children_that_are_left_out_are_counted(self):
        self.check_family("remote", 15)

    def test_the_files_of_the_kernel_engine_are_for_children(self):
        harness.skip_without_kernel_engine()
        path = file_in("few-files.json")
        self.check_family("auto", 15, "--quality", path)
        with open(path, encoding="utf-8") as file:
            self.assertIn("too many files are open for the kernel engine", json.load(file)["engine_reason"])


if __name__ == "__main__":
    main()
