"""Boots a kernel in QEMU and runs a system test there: python3 tests/kernels [OPTIONS] KERNEL NAME [WORDS]

KERNEL is the beginning of a version that scripts/get-kernels has fetched; NAME and WORDS are those of tests/system. The machine
has no disk and no network: its files are those of this host that the test needs, at the same places. Whoever runs there is root. The
interpreters are those of Debian, of this host and of scripts/get-pythons.

It is some 20 times slower than the host, as instructions are translated: PYROMETER_SLOWNESS of the test is SLOWNESS.
Exit code: that of the test; 77: QEMU, busybox or the kernel is not here; 1 also if the machine does not come to an end.
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
MEMORY_MB = 3072
WAIT_SECONDS = 1500
SKIPPED = 77
# What a program of the tests finds in its environment.
KEPT = re.compile(r"PYROMETER(_|$)")

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
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
%(settings)s
cd %(root)s
%(command)s >/tmp/output 2>&1 </dev/null
echo "status $?" >>/tmp/output
echo
echo BEGIN
base64 /tmp/output
echo END
echo o >/proc/sysrq-trigger
sleep 60
"""


def skip(reason):
    print("skipped: " + reason)
    return SKIPPED


def kernel_of(name):
    found = subprocess.run([ROOT + "/scripts/get-kernels", "--list"], stdout=subprocess.PIPE, check=False, text=True).stdout
    for line in found.splitlines():
        version, path = line.split("\t")
        if version.startswith(name):
            return path
    return None


def command_of(words):
    """The test, with the environment that it has here."""
    environment = {name: value for name, value in os.environ.items() if KEPT.match(name)}
    environment.update(PYROMETER_SLOWNESS=str(SLOWNESS), PYROMETER_TEST_DIR="/tmp/files", PYROMETER_PYTHONS=image.PYTHONS)
    assignments = ["%s=%s" % (name, value) for name, value in sorted(environment.items())]
    return shlex.join(["env", *assignments, image.PYTHON, ROOT + "/tests/system", *words])


def settings_of(options):
    """A setting that the kernel does not have, or does not take, ends the test."""
    lines = ["echo %s >/proc/sys/%s || exit" % (shlex.quote(value), shlex.quote(name.replace(".", "/")))
             for name, _, value in (setting.partition("=") for setting in options.sysctl)]
    return "\n".join(lines)


def boot(kernel, options, archive):
    """The status and the output of the test; None and that of the machine if the test did not end."""
    # With a thread for each processor the machine crashes now and then while the kernel changes its own code.
    machine = ["qemu-system-x86_64", "-M", "q35", "-cpu", "max", "-smp", str(options.processors), "-m", str(MEMORY_MB),
               "-accel", "tcg,thread=single", "-nographic", "-no-reboot", "-nic", "none", "-kernel", kernel, "-initrd", archive,
               "-append", " ".join(["console=ttyS0 quiet rdinit=/init panic=-1", *options.parameter])]
    with subprocess.Popen(machine, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
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
    output, _, status = base64.b64decode("".join(lines)).decode("utf-8", "replace").rpartition("status ")
    return int(status), output


def main():
    parser = argparse.ArgumentParser(prog="python3 tests/kernels")
    parser.add_argument("--processors", type=int, default=2, metavar="N")
    parser.add_argument("--parameter", action="append", default=[], metavar="WORD", help="for the kernel")
    parser.add_argument("--sysctl", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("kernel")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="NAME [WORDS]")
    options = parser.parse_args()
    for program in ("qemu-system-x86_64", "busybox"):
        if not shutil.which(program):
            return skip("%s is not here (scripts/setup --kernels installs it)" % program)
    kernel = kernel_of(options.kernel)
    if not kernel:
        return skip("no kernel %s is here (scripts/get-kernels fetches it)" % options.kernel)
    with tempfile.TemporaryDirectory(prefix="pyrometer-kernels-") as folder:
        archive = os.path.join(folder, "files")
        init = INIT % {"root": ROOT, "settings": settings_of(options), "command": command_of(options.words)}
        image.write(archive, ROOT, init, [value for key, value in os.environ.items() if KEPT.match(key)])
        status, output = boot(kernel, options, archive)
    print("kernel: " + os.path.basename(kernel))
    print(output)
    if status is None:
        print("the machine did not come to the end of the test")
    return 1 if status is None else status


if __name__ == "__main__":
    sys.exit(main())
