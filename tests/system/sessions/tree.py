"""A program that starts others, in one of the ways that programs have.

    tree.py fork|spawn|forkserver      a pool of three that is busy for a second
    tree.py nested DEPTH               a shell, below it Python, below it a shell, ...
    tree.py exec                       a shell that waits and becomes Python
    tree.py foreign                    programs that are no Python, for a second
    tree.py short COUNT                children that live for a moment, one after the other, then rests
    tree.py prefork COUNT              a master that keeps so many workers busy until a line asks it to end
    tree.py idle COUNT                 children that do nothing, until it ends
    tree.py daemon COUNT               at each line of input, one that forks twice at once and is busy until it is killed
    tree.py becomes-daemon             is one itself after a line of input, and busy until it is killed
    tree.py started                    starts Python in the background of a shell that ends at once
    tree.py busy                       is busy for two seconds
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

LONGEST = 120


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def pool_work(_):
    spin(1)


def pool(how):
    with multiprocessing.get_context(how).Pool(3) as workers:
        workers.map(pool_work, range(3), chunksize=1)


def nested(depth):
    if depth:
        subprocess.run(["sh", "-c", "'%s' '%s' nested %d; true" % (sys.executable, __file__, depth - 1)], check=True)
    spin(0.5)


def becomes_python():
    subprocess.run(["sh", "-c", "sleep 0.3; exec '%s' '%s' nested 0" % (sys.executable, __file__)], check=True)


def foreign():
    shells = [subprocess.Popen(["sh", "-c", "sleep 1; true"]) for _ in range(3)]
    spin(1)
    for shell in shells:
        shell.wait()


def child(act):
    pid = os.fork()
    if pid == 0:
        act()
        os._exit(0)
    return pid


def short(count):
    for done in range(1, count + 1):
        os.waitpid(child(lambda: time.sleep(0.05)), 0)
        subprocess.run(["true"], check=True)
        if done in (count // 2, count):
            print("DONE %d" % done, flush=True)
            # Time for others to read.
            sys.stdin.readline()
    time.sleep(LONGEST)


def prefork(count):
    workers = {child(lambda: spin(LONGEST)) for _ in range(count)}

    def end(*_):
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    print("READY", flush=True)
    while True:
        pid, _ = os.wait()
        workers.remove(pid)
        workers.add(child(lambda: spin(LONGEST)))


def idle(count):
    # Who reads a pipe whose other end is closed gets an end of file.
    reading, writing = os.pipe()

    def rest():
        os.close(writing)
        os.read(reading, 1)

    for _ in range(count):
        child(rest)
    print("READY", flush=True)
    time.sleep(LONGEST)


def daemonize():
    """True in the daemon: the way of daemon(7)."""
    if os.fork():
        return False
    os.setsid()
    if os.fork():
        os._exit(0)
    return True


def daemons(count):
    print("READY", flush=True)
    for _ in range(count):
        sys.stdin.readline()
        if daemonize():
            print("DAEMON %d" % os.getpid(), flush=True)
            spin(LONGEST)
            os._exit(0)
        os.wait()
    time.sleep(LONGEST)


def becomes_daemon():
    print("READY", flush=True)
    sys.stdin.readline()
    if daemonize():
        print("DAEMON %d" % os.getpid(), flush=True)
        spin(LONGEST)


def started():
    subprocess.run(["sh", "-c", "setsid '%s' '%s' busy &" % (sys.executable, __file__)], check=True)


def busy():
    spin(2)


def main(how, count=None):
    acts = {"exec": becomes_python, "foreign": foreign, "started": started, "busy": busy, "becomes-daemon": becomes_daemon}
    counted = {"nested": nested, "short": short, "prefork": prefork, "idle": idle, "daemon": daemons}
    if how in acts:
        acts[how]()
    elif how in counted:
        counted[how](int(count))
    else:
        pool(how)


if __name__ == "__main__":
    main(*sys.argv[1:])
