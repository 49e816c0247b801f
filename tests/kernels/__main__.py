"""Boots a kernel in QEMU and runs system tests there: python3 tests/kernels [OPTIONS] KERNEL NAME [WORDS] [+ NAME [WORDS]]...

KERNEL is the beginning of a version that scripts/get-kernels has fetched, and :WORD if it is one of another kind (6.12:rt, 7:16k). It
is one for the processor that the program (PYROMETER) was built for. NAME and WORDS are those of tests/system; with .kernel behind NAME
that test uses the kernel engine, and else the engine of PYROMETER_ENGINE. A NAME with / in it is the path of a program. The machine has no disk and no network. Its files are those
of this host that the tests need, at the same places; those of another processor are scripts/get-sysroot's and scripts/get-pythons'.
Whoever runs there is root.

It is some 20 times slower than the host, as instructions are translated: PYROMETER_SLOWNESS of the tests is SLOWNESS, PYROMETER_RATE_HZ RATE_HZ.
Exit code: 0 all have passed, 1 one has failed or the machine does not come to an end, 77 QEMU, the kernel or what else a test needs is
not here.
"""

import argparse
import base64
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import image

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SLOWNESS = 10
# For each instruction, these are as many samples as 2,000 a second on the host.
RATE_HZ = 100
MEMORY_MB = 3072
WAIT_SECONDS = 1500
SKIPPED = 77
# Variables that a program of the tests finds in its environment.
KEPT = re.compile(r"PYROMETER(_|$)")
# With a thread for each processor the machine crashes now and then while the kernel changes its own code.
ACCELERATOR = "tcg,thread=single"
# By the word for it in an ELF header: how the machine is started, where its kernel writes to, and the end of the kernel's version. Its
# processor has all that QEMU knows: pages of 16 KB and signed return addresses, too.
MACHINES = {62: (["qemu-system-x86_64", "-M", "q35", "-cpu", "max"], "ttyS0", "amd64"),
            183: (["qemu-system-aarch64", "-M", "virt", "-cpu", "max,pauth-impdef=on"], "ttyAMA0", "arm64")}
KINDS = ("rt", "16k")

INIT = """#!/bin/busybox sh
for folder in /bin /usr/bin; do
    /bin/busybox --install -s $folder 2>/dev/null
done
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t bpf bpf /sys/fs/bpf
mount -t tracefs tracefs /sys/kernel/tracing
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs tmpfs /dev/shm
ip link set lo up
cd %(root)s
{
    %(settings)s
    %(commands)s
} >/tmp/output 2>&1 </dev/null
echo
echo BEGIN
base64 /tmp/output
echo END
echo o >/proc/sysrq-trigger
sleep 60
"""
STATUS = re.compile(r"^status (\d+)$", re.MULTILINE)


def skip(reason):
    print("skipped: " + reason)
    return SKIPPED


def kernel_of(name, architecture):
    found = subprocess.run([ROOT + "/scripts/get-kernels", "--list"], stdout=subprocess.PIPE, check=False, text=True).stdout
    beginning, _, kind = name.partition(":")
    for line in found.splitlines():
        version, path = line.split("\t")
        words = version.split("-")
        if version.startswith(beginning) and architecture in words and [word for word in words if word in KINDS] == [kind] * bool(kind):
            return path
    return None


def command_of(words, pythons, settings):
    """A test, with the environment that it has here, and what is set for it."""
    environment = {name: value for name, value in os.environ.items() if KEPT.match(name)}
    environment.update(setting.split("=", 1) for setting in settings)
    environment.update(PYROMETER_SLOWNESS=str(SLOWNESS), PYROMETER_RATE_HZ=str(RATE_HZ), PYROMETER_TEST_DIR="/tmp/files", PYROMETER_PYTHONS=pythons)
    name, *rest = words
    if os.sep in name:
        return shlex.join(words)
    if name.endswith(".kernel"):
        name = name[:-len(".kernel")]
        environment["PYROMETER_ENGINE"] = "kernel"
    assignments = ["%s=%s" % item for item in sorted(environment.items())]
    return shlex.join(["env", *assignments, image.PYTHON, ROOT + "/tests/system", name, *rest])


def tests_of(words):
    """Each test's words."""
    tests = [[]]
    for word in words:
        tests.append([]) if word == "+" else tests[-1].append(word)
    return tests


def settings_of(options):
    """Commands of the shell. One that fails ends the tests: a setting that the kernel does not have, or does not take."""
    lines = ["echo %s >/proc/sys/%s" % (shlex.quote(value), shlex.quote(name.replace(".", "/")))
             for name, _, value in (setting.partition("=") for setting in options.sysctl)]
    return "\n".join("{ %s\n} || { echo %s; echo status 1; }" % (line, shlex.quote("failed: " + line)) for line in lines + options.run)


def boot(machine, kernel, options, archive):
    """The tests' output; None, and what the machine has printed, if they did not end."""
    words, console, _ = machine
    command = [*words, "-smp", str(options.processors), "-m", str(MEMORY_MB), "-accel", ACCELERATOR, "-nographic", "-no-reboot",
               "-nic", "none", "-kernel", kernel, "-initrd", archive,
               "-append", " ".join(["console=%s quiet rdinit=/init panic=-1" % console, *options.parameter])]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            said, _ = process.communicate(timeout=WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
    text = said.decode("utf-8", "replace").replace("\r", "")
    found = re.search(r"^BEGIN$(.*?)^END$", text, re.DOTALL | re.MULTILINE)
    if not found:
        return None, text
    # Messages of the kernel may stand between the lines.
    lines = [line for line in found.group(1).splitlines() if re.fullmatch(r"[A-Za-z0-9+/=]+", line)]
    return base64.b64decode("".join(lines)).decode("utf-8", "replace"), text


def main():
    parser = argparse.ArgumentParser(prog="python3 tests/kernels")
    parser.add_argument("--processors", type=int, default=2, metavar="N")
    parser.add_argument("--parameter", action="append", default=[], metavar="WORD", help="for the kernel")
    parser.add_argument("--sysctl", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="in the environment of the tests")
    parser.add_argument("--run", action="append", default=[], metavar="COMMAND", help="of the shell, before the tests")
    parser.add_argument("kernel")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="NAME [WORDS] [+ NAME [WORDS]]...")
    options = parser.parse_args()
    program = os.environ.get("PYROMETER", ROOT + "/build/release/pyrometer")
    machine = MACHINES[image.machine_of(program)]
    for needed in (machine[0][0], "busybox"):
        if not shutil.which(needed):
            return skip("%s is not here (scripts/setup --kernels installs it)" % needed)
    kernel = kernel_of(options.kernel, machine[2])
    if not kernel:
        return skip("no kernel %s for %s is here (scripts/get-kernels fetches it)" % (options.kernel, machine[2]))
    system = image.SYSTEMS[machine[2]]
    if not os.path.isdir(system.base) or not os.path.isdir(system.pythons):
        return skip("no %s and %s (scripts/get-sysroot and scripts/get-pythons fetch them)" % (system.base, system.pythons))
    tests = tests_of(options.words)
    with tempfile.TemporaryDirectory(prefix="pyrometer-kernels-") as folder:
        archive = os.path.join(folder, "files")
        commands = ["%s; echo \"status $?\"" % command_of(words, system.pythons, options.set) for words in tests]
        init = INIT % {"root": ROOT, "settings": settings_of(options) or "true", "commands": "\n".join(commands)}
        image.write(archive, ROOT, init, [*(words[0] for words in tests), *(value for key, value in os.environ.items() if KEPT.match(key))], system)
        output, said = boot(machine, kernel, options, archive)
    print("kernel: " + os.path.basename(kernel))
    if output is None:
        print(said + "\nthe machine did not come to the end of the tests")
        return 1
    print(output)
    statuses = [int(status) for status in STATUS.findall(output)]
    if len(statuses) != len(tests) or set(statuses) - {0, SKIPPED}:
        return 1
    return max(statuses)


if __name__ == "__main__":
    sys.exit(main())
