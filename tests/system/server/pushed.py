"""Code that tests of pushes share."""

import collections
import gzip

from harness import Test, file_in, run_program, victim
from protobuf import message, packed
from receivers import text

SCHEMES = ("pyroscope", "otlp", "parca")
BATCH = ("--push-batch", "1s")


def stacks_of(path, index):
    """Nanoseconds by stack of a pprof file that replay wrote; index: 1 wall, 2 CPU."""
    with gzip.open(path) as file:
        profile = message(file.read())
    strings = [text(item) for item in profile[6]]
    names = {function[1][0]: strings[function[2][0]] for function in map(message, profile[5])}
    places = {location[1][0]: names[message(location[4][0])[1][0]] for location in map(message, profile[4])}
    sums = collections.Counter()
    for sample in map(message, profile[2]):
        sums[tuple(places[at] for at in packed(sample[1][0]))] += packed(sample[2][0])[index]
    return +sums


def sums_of(profiles, name):
    return sum((profile.sums for profile in profiles if profile.name == name), collections.Counter())


class PushTest(Test):
    def record_two(self, name):
        """A capture of two processes whose labels are equal but for their ids."""
        capture = file_in(name)
        with victim("threads.py") as one, victim("threads.py") as two:
            process, code = run_program("record", one.pid, two.pid, "-d", "2", "-r", "100", "-o", capture)
            self.assertEqual(code, 0, process.output())
        return capture

    def check_same(self, profiles, *captures, options=()):
        """Each stack has the time that it has in the captures, to the nanosecond."""
        path, wall, cpu = file_in("push.pb.gz"), collections.Counter(), collections.Counter()
        for capture in captures:
            process, code = run_program("replay", capture, "--idle", "--pprof", "-o", path, *options)
            self.assertEqual(code, 0, process.output())
            wall += stacks_of(path, 1)
            cpu += stacks_of(path, 2)
        for name, wanted in (("wall", wall), ("process_cpu", cpu)):
            found = sums_of(profiles, name)
            self.assertTrue(wanted)
            self.assertEqual(set(found), set(wanted), name)
            self.assertEqual([(stack, found[stack], wanted[stack]) for stack in wanted if found[stack] != wanted[stack]], [], name)

    def check_follow(self, profiles):
        """Each begins where the one before ends."""
        for before, after in zip(profiles, profiles[1:]):
            self.assertEqual(before.began_ns + before.duration_ns, after.began_ns)
