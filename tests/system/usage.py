"""Usage of a process, as /proc says."""

import os

MIB = 1 << 20


def memory_of(pid):
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:"))


def threads_of(pid):
    return len(os.listdir("/proc/%d/task" % pid))


def cpu_of(pid):
    """Seconds."""
    with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def descriptors_of(pid):
    return os.listdir("/proc/%d/fd" % pid)
