"""Threads carry the names that their programs gave them, and the ids that the kernel knows, on every interpreter. Processes
belong to the service that they were started as, whatever title they show."""

import os
import signal

import harness
from folded import parse_folded
from harness import EachTest, Live, main, victim


def threads_of(live):
    """Threads in the tables: {tid: (name, is main)}, the last row of a thread counts."""
    tree = live.get("/sessions/1/tree")
    strings, threads = tree["strings"]["values"], tree["threads"]
    return {tid: (strings[name], bool(is_main)) for tid, name, is_main in zip(threads["tid"], threads["name"], threads["main"])}


def wait_threads(live, wanted):
    """The threads once `wanted(threads)` is true, or what there is when time is over."""
    try:
        live.wait_session(lambda _: wanted(threads_of(live)), seconds=5 * harness.SLOWNESS)
    except AssertionError:
        pass
    return threads_of(live)


COMMAND = """
import dataclasses, time
END = time.monotonic() + 100
def spin():
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        pass
class Slow:
    def __index__(self):
        spin()
        return 1
@dataclasses.dataclass
class Made:
    value: int
    def __post_init__(self):
        hold(self.value)
def hold(slow):
    range(slow)
print("READY", flush=True)
while time.monotonic() < END:
    Made(Slow())
"""

# Cells of a notebook, each of which calls the next; IPython keeps their numbers in this way.
CELLS = """
import time
class Compiler:
    def __init__(self):
        self._filename_map = {}
class Shell:
    def __init__(self):
        self.compile = Compiler()
    def get_ipython(self):
        return self
get_ipython = Shell().get_ipython
files = {"first": ("/tmp/ipykernel_4711/3057411290.py", 4), "again": ("/var/tmp/ipykernel_4711/17.py", 123456),
         "terminal": ("<ipython-input-12-74f1b04d1cc5>", None), "unknown": ("/tmp/ipykernel_4711/18.py", None),
         "negative": ("/tmp/ipykernel_4711/19.py", -4), "large": ("/tmp/ipykernel_4711/20.py", 1 << 40),
         "text": ("/tmp/ipykernel_4711/21.py", "In [5]"), "module": ("/tmp/ipykernel_4711/app.py", 6),
         "deep": ("/tmp/ipykernel_4711/deep/22.py", 7), "liar": ("<ipython-input-13-x>", None)}
names = {}
after = "time.sleep(60)"
for name, (file, number) in files.items():
    if number is not None:
        get_ipython().compile._filename_map[file] = number
    exec(compile("def %s(): %s" % (name, after), file, "exec"), globals())
    after = name + "()"
print("READY", flush=True)
liar()
"""

# Modules of a frozen program, which have no folder; each function calls the next.
FROZEN = """
import sys, time
sys.frozen = len(sys.argv) > 1
if not sys.frozen:
    del sys.frozen
after = "time.sleep(60)"
for name, file in (("encode", "json/encoder.py"), ("dumps", "json/__init__.py"), ("load", "PyInstaller/loader/pyimod02_importers.py"),
                   ("order", "shop/json/encoder.py"), ("start", "main.py"), ("text", "json.txt")):
    exec(compile("def %s(): %s" % (name, after), file, "exec"), globals())
    after = name + "()"
print("READY", flush=True)
text()
"""

RENAMED = """
import signal, threading, time
def work():
    while True:
        time.sleep(0.01)
def rename(*_):
    thread.name = "second name"
thread = threading.Thread(target=work, name="first name", daemon=True)
thread.start()
signal.signal(signal.SIGUSR1, rename)
print("READY", flush=True)
while True:
    time.sleep(60)
"""


# Writes a title over its command line and environment, as setproctitle and postgres do.
TITLED = """
import ctypes
with open("/proc/self/stat") as file:
    fields = file.read().rpartition(")")[2].split()
start, end = int(fields[45]), int(fields[48])
ctypes.memset(start, 0, end - start)
ctypes.memmove(start, b"worker: GET /cart/4711", 22)
print("READY", flush=True)
while True:
    sum(range(10000))
"""


class Names(EachTest):
    def test_names_and_tids(self):
        self.each(self.check_names)

    def check_names(self, python):
        with victim("threads.py", "4", "60", python=python.path) as target:
            with Live("attach", "-a", "-r", "100", str(target.pid)) as live:
                threads = wait_threads(live, lambda threads: len(threads) == 5 and all(name for name, _ in threads.values()))
                tids = {int(tid) for tid in os.listdir("/proc/%d/task" % target.pid)}
                self.assertEqual(set(threads), tids)
                names = sorted(name for name, _ in threads.values())
                self.assertEqual(names, ["MainThread", "worker-0", "worker-1", "worker-2", "worker-3"])
                self.assertEqual(threads[target.pid], ("MainThread", True))
                self.assertEqual([tid for tid, (_, is_main) in threads.items() if is_main], [target.pid])

    def test_spinning_and_sleeping_threads_are_distinguished(self):
        """The even workers spin, the odd ones sleep: the stack of a thread belongs to its name."""
        self.each(self.check_stacks)

    def check_stacks(self, python):
        with victim("threads.py", "4", "60", python=python.path) as target:
            with Live("attach", "-a", "-d", "1", "-r", "200", str(target.pid)) as live:
                live.wait_ended()
                threads = threads_of(live)
                folded = parse_folded(live.ask("/api/v1/sessions/1/export?format=collapsed").body.decode("utf-8"))
                for stack in folded:
                    name = threads[stack.tid][0]
                    if "spin" in stack.names:
                        self.assertIn(name, ("worker-0", "worker-2"))
                    if "rest" in stack.names:
                        self.assertIn(name, ("worker-1", "worker-3"))

    def test_a_hostile_name_of_a_thread(self):
        self.each(self.check_hostile)

    def check_hostile(self, python):
        with victim("hostile.py", "60", python=python.path) as target:
            with Live("attach", "-a", "-r", "100", str(target.pid)) as live:
                wanted = "</script><img src=x onerror=alert(1)>"
                threads = wait_threads(live, lambda threads: any(name == wanted for name, _ in threads.values()))
                self.assertIn(wanted, [name for name, _ in threads.values()])

    def test_the_text_of_a_command_is_a_file_of_its_own(self):
        """Code that dataclasses has made is another text of the name <string>."""
        self.each(self.check_command)

    def check_command(self, python):
        with harness.Process([python.path, "-c", COMMAND]) as target:
            target.wait_ready()
            process, code = harness.run_program("record", str(target.pid), "-d", str(harness.SLOWNESS), "-r", "200", "--idle", "--waits=off", "--collapsed=-")
            self.assertEqual(code, 0, process.output())
            files = {frame.rsplit(":", 2)[1].rsplit(".", 1)[-1]: frame.split(":")[0] for line in process.out
                     for frame in line.rpartition(" ")[0].split(";")[1:] if frame.count(":") > 1}
            self.assertEqual({name: files.get(name) for name in ("<module>", "spin", "__index__", "__post_init__", "hold", "__init__")},
                             {"<module>": "<command>", "spin": "<command>", "__index__": "<command>", "__post_init__": "<command>",
                              "hold": "<command>", "__init__": "<string>"}, process.output())

    def test_a_cell_of_a_notebook_has_the_number_that_ipython_keeps(self):
        self.path = harness.file_in("cells.py")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(CELLS)
        self.each(self.check_cells)

    def check_cells(self, python):
        """Checks cells; a Python that keeps none gets no made-up ones."""
        with victim(self.path, python=python.path) as target:
            process, code = harness.run_program("record", str(target.pid), "-d", str(harness.SLOWNESS), "-r", "200", "--idle", "--waits=off", "--collapsed=-")
            self.assertEqual(code, 0, process.output())
            files = {frame.rsplit(":", 2)[1]: frame.rsplit(":", 2)[0] for line in process.out
                     for frame in line.rpartition(" ")[0].split(";")[1:] if frame.count(":") > 1}
            files.pop("<module>")
            self.assertEqual(files, {"first": "In [4]", "again": "In [123456]", "terminal": "In [12]", "unknown": "18.py", "negative": "19.py",
                                     "large": "20.py", "text": "21.py", "module": "app.py", "deep": "22.py", "liar": "<ipython-input-13-x>"},
                             process.output())

    def test_the_library_of_a_frozen_program_is_that_of_python(self):
        self.path = harness.file_in("frozen.py")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(FROZEN)
        self.each(self.check_frozen)

    def check_frozen(self, python):
        """A program that is not frozen has relative names, too; before 3.10 Python does not say what its library is."""
        own = {"encode": "encoder.py", "dumps": "__init__.py", "load": "pyimod02_importers.py", "order": "encoder.py", "start": "main.py",
               "text": "json.txt"}
        library = {"encode": "<frozen json.encoder>", "dumps": "<frozen json>", "load": "<frozen PyInstaller.loader.pyimod02_importers>"}
        for words in ([], ["frozen"]):
            with victim(self.path, *words, python=python.path) as target:
                process, code = harness.run_program("record", str(target.pid), "-d", str(harness.SLOWNESS), "-r", "200", "--idle", "--waits=off",
                                                    "--collapsed=-")
                self.assertEqual(code, 0, process.output())
                files = {frame.rsplit(":", 2)[1]: frame.rsplit(":", 2)[0] for line in process.out
                         for frame in line.rpartition(" ")[0].split(";")[1:] if frame.count(":") > 1}
                files.pop("<module>")
                self.assertEqual(files, {**own, **library} if words and python.minor >= 10 else own, process.output())

    def test_a_thread_that_is_renamed(self):
        self.path = harness.file_in("renamed.py")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(RENAMED)
        self.each(self.check_renamed)

    def check_renamed(self, python):
        with victim(self.path, python=python.path) as target:
            with Live("attach", "-a", "-r", "100", str(target.pid)) as live:
                for wanted in ("first name", "second name"):
                    threads = wait_threads(live, lambda threads: any(name == wanted for name, _ in threads.values()))
                    self.assertIn(wanted, [name for name, _ in threads.values()])
                    os.kill(target.pid, signal.SIGUSR1)


class Titles(EachTest):
    NAMED = dict(os.environ, OTEL_SERVICE_NAME="checkout", OTEL_RESOURCE_ATTRIBUTES="service.version=1.2")
    UNNAMED = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}

    def test_a_title_is_no_service(self):
        self.path = harness.script("titled.py", TITLED)
        self.each(self.check_title)

    def target_of(self, words, env, *options):
        with harness.Process(words, env=env) as target:
            target.wait_ready()
            with Live("attach", str(target.pid), *options) as live:
                return live.session()["target"]

    def check_title(self, python):
        for env, service in ((self.NAMED, "checkout"), (self.UNNAMED, "titled.py")):
            target = self.target_of([python.path, self.path, "with", "words"], env)
            self.assertEqual((target["command"], target["service"]), (["worker: GET /cart/4711"], service))

    def test_a_title_hides_no_module_and_no_program(self):
        python = harness.newest_python()
        executable = os.path.realpath(python)
        path = harness.script("titled_module.py", TITLED)
        env = dict(self.UNNAMED, PYTHONPATH=os.path.dirname(path))
        for words, options, service in ((["-m", "titled_module", "x"], (), "titled_module"),
                                        (["-c", TITLED, "x"], (), os.path.basename(executable)),
                                        ([path, "x"], ("--hide-args",), os.path.basename(executable))):
            target = self.target_of([python, *words], env, *options)
            self.assertEqual(target["service"], service, words[0])
            self.assertEqual(target["command"], [executable] if options else ["worker: GET /cart/4711"])


if __name__ == "__main__":
    main()
